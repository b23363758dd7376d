import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sameHost, startDifferenceMs } from '../../src/record/join';
import type { JobRecord } from '../../src/record/record';
import { DAY, HOUR, iso, job, lineOf, T0 } from '../accounting/suite/fixture';

it('compares hosts without their domain where one has none', () => {
  assert.ok(sameHost('node1', 'node1.a.b'));
  assert.ok(sameHost('node1.a.b', 'node1'));
  assert.ok(sameHost('node1.a.b', 'node1.a.b'));
  assert.ok(!sameHost('node1.a.b', 'node1.c'));
  assert.ok(!sameHost('node1', 'node10'));
});

it('tells how far apart the starts of one run are, of a line and of ours', () => {
  const ours = job(1, T0, { started_at: iso(T0 - HOUR + 1900) });
  const line = lineOf(job(1, T0));
  assert.equal(startDifferenceMs(ours, line), 1900);
  assert.equal(startDifferenceMs(line, ours), 1900);
  assert.equal(startDifferenceMs(ours, ours), null);
  assert.equal(startDifferenceMs(line, line), null);
  assert.equal(startDifferenceMs(ours, { ...line, owner: 'eve' }), null);
  assert.equal(startDifferenceMs({ ...ours, owner: null }, line), 1900);
  assert.equal(startDifferenceMs({ ...ours, started_at: null }, line), null);
});

it('takes a line without a start for that of a lost run of the same job, by its submission or about when it was written', () => {
  const lost = job(1, T0, { status: 'lost', ended_at: null });
  const start = T0 - HOUR;
  const apart = (line: Partial<JobRecord>, ours: Partial<JobRecord> = {}): number | null =>
    startDifferenceMs({ ...lost, ...ours }, lineOf(lost, { started_at: null, ended_at: iso(T0), failed: 19, ...line }));
  assert.equal(apart({}), start);
  assert.equal(apart({ submitted_at: iso(T0 - 2 * HOUR + 2000) }), start);
  assert.equal(apart({ submitted_at: iso(T0 - 2 * HOUR + 2001) }), null);
  // On a quiet cluster the line before it was written long before the job began; a job may run for months.
  assert.equal(apart({ ended_at: iso(start - DAY) }), start);
  assert.equal(apart({ ended_at: iso(start + 100 * DAY) }), start);
  for (const unknown of [{ submitted_at: null }, { submitted_at: null, ended_at: iso(start - 45 * DAY) }])
    assert.equal(apart(unknown), start);
  assert.equal(apart({ ended_at: iso(start + 45 * DAY + 1) }, { submitted_at: null }), null);
  assert.equal(apart({ ended_at: iso(start - 45 * DAY - 1) }, { submitted_at: null }), null);
  assert.equal(apart({ submitted_at: null, ended_at: null }), start);
});

it('takes a line without a start for that of a run whose start Grid Engine leaves out', () => {
  const apart = (failed: number, ours: Partial<JobRecord>, line: Partial<JobRecord> = {}): number | null => {
    const run = job(1, T0, { status: 'finished', revision: T0 + 5, ...ours });
    return startDifferenceMs(run, lineOf(run, { started_at: null, ended_at: iso(T0), failed, ...line }));
  };
  // Deleted in its prolog, or refused by a site's: hooks ran, the job never did.
  for (const failed of [100, 30, 10, 27]) assert.equal(apart(failed, { started_at: null, ended_at: null }), T0 + 5);
  // qmod -rj writes no submission either; a failed epilog.
  for (const failed of [25, 15]) assert.equal(apart(failed, {}, { submitted_at: null }), T0 - HOUR);
  // A shell that is missing: its first process was the shepherd's copy.
  assert.equal(apart(27, { started_at: iso(T0 - 1000) }), T0 - 1000);
  assert.equal(apart(27, {}), null);
  for (const ours of [{ status: 'running' as const }, { trust: 'self-reported' as const }, { owner: 'eve' }])
    assert.equal(apart(25, ours, { owner: 'bob' }), null);
  assert.equal(apart(0, { started_at: null }), null);
});

it('takes a start within the time of the line for that of its run, however late, and none outside of it', () => {
  const line = lineOf(job(1, T0));
  const startsAt = (ms: number): number | null =>
    startDifferenceMs(line, job(1, T0, { started_at: iso(ms), ended_at: iso(T0) }));
  assert.equal(startsAt(T0 - HOUR + 30_000), 30_000);
  assert.equal(startsAt(T0 - HOUR - 2001), null);
  assert.equal(startsAt(T0 - HOUR + 600_001), null);
  const short = lineOf(job(1, T0, { started_at: iso(T0 - 5000) }));
  assert.equal(startDifferenceMs(short, job(1, T0, { started_at: iso(T0 - 1) })), 4999);
  // Its end is of whole seconds: the job may have started and ended in the second after it.
  assert.equal(startDifferenceMs(short, job(1, T0, { started_at: iso(T0 + 999) })), 5999);
  assert.equal(startDifferenceMs(short, job(1, T0, { started_at: iso(T0 + 1000) })), null);
  const exact = { ...short, ended_at: iso(T0 + 500) };
  assert.equal(startDifferenceMs(exact, job(1, T0, { started_at: iso(T0 + 499) })), 5499);
  assert.equal(startDifferenceMs(exact, job(1, T0, { started_at: iso(T0 + 500) })), null);
});
