import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sameHost, startDifferenceMs } from '../../src/record/join';
import type { JobRecord } from '../../src/record/record';
import { DAY, HOUR, iso, job, lineOf, T0 } from '../accounting/suite/fixture';

it('sameHost ignores domains unless both names have one', () => {
  assert.ok(sameHost('node1', 'node1.a.b'));
  assert.ok(sameHost('node1.a.b', 'node1'));
  assert.ok(sameHost('node1.a.b', 'node1.a.b'));
  assert.ok(!sameHost('node1.a.b', 'node1.c'));
  assert.ok(!sameHost('node1', 'node10'));
});

it('startDifferenceMs compares an accounting line and a record of ours, in either order', () => {
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

it('a line without a start joins a lost run with its submission, or without one within 45 days of its end', () => {
  const lost = job(1, T0, { status: 'lost', ended_at: null });
  const start = T0 - HOUR;
  const apart = (line: Partial<JobRecord>, ours: Partial<JobRecord> = {}): number | null =>
    startDifferenceMs({ ...lost, ...ours }, lineOf(lost, { started_at: null, ended_at: iso(T0), failed: 19, ...line }));
  assert.equal(apart({}), start);
  assert.equal(apart({ submitted_at: iso(T0 - 2 * HOUR + 2000) }), start);
  assert.equal(apart({ submitted_at: iso(T0 - 2 * HOUR + 2001) }), null);
  // The end is that of the line before, which on a quiet cluster is old; a job may run for months.
  assert.equal(apart({ ended_at: iso(start - DAY) }), start);
  assert.equal(apart({ ended_at: iso(start + 100 * DAY) }), start);
  for (const unknown of [{ submitted_at: null }, { submitted_at: null, ended_at: iso(start - 45 * DAY) }])
    assert.equal(apart(unknown), start);
  assert.equal(apart({ ended_at: iso(start + 45 * DAY + 1) }, { submitted_at: null }), null);
  assert.equal(apart({ ended_at: iso(start - 45 * DAY - 1) }, { submitted_at: null }), null);
  assert.equal(apart({ submitted_at: null, ended_at: null }), start);
});

it('a line without a start joins a run whose start Grid Engine leaves out', () => {
  const apart = (failed: number, ours: Partial<JobRecord>, line: Partial<JobRecord> = {}): number | null => {
    const run = job(1, T0, { status: 'finished', revision: T0 + 5, ...ours });
    return startDifferenceMs(run, lineOf(run, { started_at: null, ended_at: iso(T0), failed, ...line }));
  };
  // Deleted in its prolog, or refused by a prolog of the site: the hooks ran, the job did not.
  for (const failed of [100, 30, 10, 27]) assert.equal(apart(failed, { started_at: null, ended_at: null }), T0 + 5);
  // Rescheduled by qmod -rj, which leaves out the submission, too; a failed epilog.
  for (const failed of [25, 15]) assert.equal(apart(failed, {}, { submitted_at: null }), T0 - HOUR);
  // The shell is missing: the only process was a copy of the shepherd.
  assert.equal(apart(27, { started_at: iso(T0 - 1000) }), T0 - 1000);
  // On a loaded host its end is seen late; the shepherd has no exit status of it.
  const late = { started_at: iso(T0 - 3000) };
  assert.equal(apart(27, { ...late, exit_status: null }), T0 - 3000);
  assert.equal(apart(27, { ...late, exit_status: null, status: 'lost' }), null);
  assert.equal(apart(27, { ...late, exit_status: 0 }), null);
  for (const ours of [{ status: 'running' as const }, { trust: 'self-reported' as const }, { owner: 'eve' }])
    assert.equal(apart(25, ours, { owner: 'bob' }), null);
  assert.equal(apart(0, { started_at: null }), null);
  // The spool directory was lost.
  assert.equal(apart(0, { status: 'lost' }, { submitted_at: null }), T0 - HOUR);
});

it('a line joins a run that starts within the time of the line, at most ten minutes late', () => {
  const line = lineOf(job(1, T0));
  const startsAt = (ms: number): number | null =>
    startDifferenceMs(line, job(1, T0, { started_at: iso(ms), ended_at: iso(T0) }));
  assert.equal(startsAt(T0 - HOUR + 30_000), 30_000);
  assert.equal(startsAt(T0 - HOUR - 2001), null);
  assert.equal(startsAt(T0 - HOUR + 600_001), null);
  const short = lineOf(job(1, T0, { started_at: iso(T0 - 5000) }));
  assert.equal(startDifferenceMs(short, job(1, T0, { started_at: iso(T0 - 1) })), 4999);
  // An end in whole seconds is cut off: the job may have started and ended within the next second.
  assert.equal(startDifferenceMs(short, job(1, T0, { started_at: iso(T0 + 999) })), 5999);
  assert.equal(startDifferenceMs(short, job(1, T0, { started_at: iso(T0 + 1000) })), null);
  const exact = { ...short, ended_at: iso(T0 + 500) };
  assert.equal(startDifferenceMs(exact, job(1, T0, { started_at: iso(T0 + 499) })), 5499);
  assert.equal(startDifferenceMs(exact, job(1, T0, { started_at: iso(T0 + 500) })), null);
});
