import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import type { Source } from '../../../src/live/polling';
import { liveCell } from '../../../src/live/poll-tools';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import type { AccountingService } from '../../../src/server/accounting/accounting-thread';
import { HttpProblem } from '../../../src/server/http/http-problem';
import { LiveUpdates } from '../../../src/server/live/live-updates';
import { answer, GIB, noAnswer, running, snapshot, waiting, workedExample } from '../../live/snapshots';
import { until } from '../../support/until';

const settings = { ...DEFAULT_SETTINGS, poll_interval: 0.02 };

function accountingWith(ask: AccountingService['ask']): AccountingService {
  return { ask, problem: () => null, probe: () => Promise.resolve(), stop: () => Promise.resolve() };
}

const empty = accountingWith(() => Promise.resolve(Buffer.from('{"records":[]}')));

interface Fed {
  readonly updates: LiveUpdates;
  readonly lines: string[];
}

function updatesOf(
  t: TestContext,
  source: (pending: () => boolean) => Source,
  accounting = empty,
  pollInterval = settings.poll_interval,
): Fed {
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const updates = new LiveUpdates({
    settings: { ...settings, poll_interval: pollInterval },
    cell: liveCell(settings, {}),
    accounting,
    log,
    source,
  });
  t.after(() => updates.stop());
  return { updates, lines };
}

describe('LiveUpdates', () => {
  it('goes on after a query that crashed, and logs each problem once', async (t) => {
    let calls = 0;
    const { updates, lines } = updatesOf(t, () => () => {
      calls += 1;
      if (calls === 2) return Promise.reject(new Error('lost its head'));
      if (calls > 2 && calls < 6) return Promise.resolve(snapshot({ running: noAnswer([], 'qmaster is down') }));
      return Promise.resolve(workedExample());
    });
    await until(() => updates.live.current() !== null);
    await until(() => calls > 8);
    assert.equal(updates.live.current()?.view?.jobs.length, 5);
    assert.deepEqual(lines, [
      'asking Grid Engine failed, which is a bug: lost its head',
      'Grid Engine: qmaster is down',
      'Grid Engine answers again',
    ]);
  });

  it('reports no problem with qmaster when the clock is set', async (t) => {
    let calls = 0;
    const untilStopped = async (signal: AbortSignal): Promise<never> => {
      await once(signal, 'abort');
      throw new Error('stopped');
    };
    const { updates } = updatesOf(
      t,
      () => (signal) => (++calls === 1 ? Promise.resolve(workedExample()) : untilStopped(signal)),
    );
    await until(() => updates.live.current() !== null);
    const tomorrow = Date.now() + 86_400_000;
    t.mock.method(Date, 'now', () => tomorrow);
    assert.deepEqual(updates.live.current()?.view?.problems, []);
  });

  it('adds the figures of running samplers from the first view on', async (t) => {
    const old = Date.now() - 3 * 3_600_000;
    const stored = {
      records: [
        { ...running(101, 'node01', [GIB]), revision: Date.now() },
        { ...running(102, 'node01', [GIB]), revision: old },
      ],
    };
    const accounting = accountingWith((question) => {
      assert.equal(question.what, 'running');
      return Promise.resolve(Buffer.from(JSON.stringify(stored)));
    });
    const { updates } = updatesOf(t, () => () => Promise.resolve(workedExample()), accounting);
    await until(() => updates.live.current() !== null);
    const ofJob = (job: number): number | undefined =>
      updates.live.current()?.view?.jobs.find((item) => item.job === job)?.ours?.rss ?? undefined;
    // A heartbeat no longer counts after ten missed ones.
    assert.deepEqual([ofJob(101), ofJob(102)], [GIB, undefined]);
  });

  it('works without an accounting DB', async (t) => {
    const accounting = accountingWith(() => Promise.reject(new HttpProblem(503, 'none')));
    const { updates, lines } = updatesOf(t, () => () => Promise.resolve(workedExample()), accounting);
    await until(() => updates.live.current() !== null);
    assert.deepEqual(lines, []);
  });

  it('asks for waiting jobs only when somebody wants them', async (t) => {
    const wanted: boolean[] = [];
    const { updates } = updatesOf(t, (pending) => () => {
      wanted.push(pending());
      return Promise.resolve(workedExample());
    });
    await until(() => wanted.length > 2);
    assert.ok(wanted.every((value) => !value));
    // The wish lasts a few intervals; on a busy machine none of them may see it.
    const from = wanted.length;
    await until(() => {
      if (!wanted.includes(true)) void updates.wantPending();
      return wanted.slice(from).includes(true);
    });
    await until(() => wanted.at(-1) === false);
  });

  it('gives a caller who wants waiting jobs a fresh answer, not an old one', async (t) => {
    const old = answer([waiting(1)], { triedAt: 1 });
    const source = (pending: () => boolean) => (): ReturnType<Source> => {
      const triedAt = Date.now();
      const fresh = answer([waiting(2)], { triedAt });
      return Promise.resolve({ ...workedExample(), pending: pending() ? fresh : old });
    };
    // The wish lasts six intervals, which at 20 ms each could be over before the next query.
    const { updates } = updatesOf(t, source, empty, 60);
    await until(() => updates.live.current() !== null);
    await updates.wantPending();
    assert.deepEqual(
      updates.live.current()?.snapshot.pending?.value.map(({ job }) => job),
      [2],
    );
  });

  it('lets nobody wait for waiting jobs while qmaster is down', async (t) => {
    const { updates } = updatesOf(
      t,
      () => () => Promise.resolve(snapshot({ running: noAnswer([], 'qmaster is down') })),
    );
    await updates.wantPending();
    assert.equal(updates.live.current()?.snapshot.running.problem, 'qmaster is down');
  });
});
