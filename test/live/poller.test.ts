import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newPollState, poll, type PollRules, type PollState } from '../../src/live/poller';
import { aRow, fakeQmaster, healthy, type FakeQmaster, type Reply } from './fake-qmaster';

const RULES: PollRules = { intervalMs: 10_000, usageIntervalMs: 40_000 };

async function polled(fake: FakeQmaster, before: PollState, pending = false): Promise<PollState> {
  fake.asked.length = 0;
  return poll(before, RULES, fake.tools, pending);
}

const RUNNING = 'qstat -u * -s rs -r -ext -urg -xml';
const HOSTS = 'qhost -F -q -j -xml';
const PENDING = 'qstat -u * -s p -r -ext -urg -xml';

describe('a poll', () => {
  it('asks for running jobs, hosts, and the usage of running jobs', async () => {
    const fake = fakeQmaster(healthy(() => [1, 2]));
    const { snapshot } = await polled(fake, newPollState('cluster'));
    assert.deepEqual(fake.asked, [RUNNING, HOSTS, 'qstat -j 1,2 -xml']);
    assert.equal(snapshot.cluster, 'cluster');
    assert.equal(snapshot.dialect, 'sge8.1.9');
    assert.deepEqual(
      [snapshot.running, snapshot.hosts, snapshot.details].map(({ at, triedAt, problem, value }) => [
        at,
        triedAt,
        problem,
        value.length,
      ]),
      [
        [fake.now, fake.now, null, 2],
        [fake.now, fake.now, null, 1],
        [fake.now, fake.now, null, 2],
      ],
    );
    assert.equal(snapshot.pending, null);
  });

  it('asks each query at its own interval, not more often', async () => {
    const fake = fakeQmaster(healthy(() => [1]));
    let state = await polled(fake, newPollState('c'));
    const counts: Record<string, number> = {};
    for (let second = 1; second <= 120; second++) {
      fake.now += 1000;
      state = await polled(fake, state, second > 60);
      for (const query of fake.asked) counts[query] = (counts[query] ?? 0) + 1;
    }
    assert.deepEqual(counts, { [RUNNING]: 12, [HOSTS]: 12, 'qstat -j 1 -xml': 3, [PENDING]: 6 });
    assert.equal(state.snapshot.pending?.value.length, 1);
  });

  it('keeps the list of waiting jobs for one interval when it is no longer wanted', async () => {
    const fake = fakeQmaster(healthy(() => [1]));
    let state = await polled(fake, newPollState('c'), true);
    const waiting: unknown[] = [];
    for (const seconds of [9, 1]) {
      fake.now += 1000 * seconds;
      state = await polled(fake, state);
      waiting.push(state.snapshot.pending?.value.length ?? null);
    }
    assert.deepEqual(waiting, [1, null]);
  });

  it('makes only the wanted queries, and the others as soon as they are wanted', async () => {
    const fake = fakeQmaster(healthy(() => [1]));
    const lists = await poll(newPollState('c'), { ...RULES, queries: ['running', 'pending'] }, fake.tools, true);
    assert.deepEqual(fake.asked, [PENDING, RUNNING]);
    assert.equal(lists.snapshot.pending?.value.length, 1);
    await polled(fake, lists, true);
    assert.deepEqual(fake.asked, [HOSTS, 'qstat -j 1 -xml']);
  });

  it('has a job that starts while it asks once, among those that run', async () => {
    const well = healthy(() => []);
    const fake = fakeQmaster((client, args) => {
      if (args[3] === 'p') return { items: [aRow(5), aRow(6), aRow(7, '2-9:1')] };
      return args[3] === 'rs' ? { items: [aRow(5), aRow(7, '1')] } : well(client, args);
    });
    const { running, pending } = (await polled(fake, newPollState('c'), true)).snapshot;
    assert.deepEqual(
      [running.value, pending?.value].map((rows) => rows?.map(({ job }) => job)),
      [
        [5, 7],
        [6, 7],
      ],
    );
  });

  it('asks at once when the clock was set back', async () => {
    const fake = fakeQmaster(healthy(() => []));
    const state = await polled(fake, newPollState('c'));
    fake.now -= 3_600_000;
    await polled(fake, state);
    assert.equal(fake.asked[0], RUNNING);
  });

  it('asks a slow qmaster less often', async () => {
    const fake = fakeQmaster((client, args) => ({ ...(healthy(() => [])(client, args) as Reply), tookMs: 6000 }));
    const state = await polled(fake, newPollState('c'));
    fake.now += 29_000;
    assert.equal(await polled(fake, state).then(() => fake.asked.length), 0);
    fake.now += 1000;
    assert.equal(await polled(fake, state).then(() => fake.asked.length), 2);
  });

  it('asks for usage in batches, each job once, and not at all where nothing runs', async () => {
    const ids = Array.from({ length: 1200 }, (_, index) => index + 1);
    const fake = fakeQmaster(healthy(() => [...ids, ...ids]));
    const { snapshot } = await polled(fake, newPollState('c'));
    const batches = fake.asked.filter((query) => query.startsWith('qstat -j'));
    assert.deepEqual(
      batches.map((query) => query.split(',').length),
      [500, 500, 200],
    );
    assert.equal(snapshot.details.value.length, 1200);

    const idle = fakeQmaster(healthy(() => []));
    const nothing = await polled(idle, newPollState('c'));
    assert.deepEqual(idle.asked, [RUNNING, HOSTS]);
    assert.equal(nothing.snapshot.details.at, idle.now);
    assert.equal(nothing.snapshot.details.problem, null);
  });

  it('asks again without the ended jobs, as one unknown id hides the others', async () => {
    const ended = new Set(['2', '4']);
    const well = healthy(() => [1, 2, 3, 4]);
    const fake = fakeQmaster((client, args) => {
      const unknownJobs = args[0] === '-j' ? (args[1] ?? '').split(',').filter((id) => ended.has(id)) : [];
      return unknownJobs.length > 0 ? { unknownJobs } : well(client, args);
    });
    const { snapshot } = await polled(fake, newPollState('c'));
    assert.deepEqual(fake.asked.slice(2), ['qstat -j 1,2,3,4 -xml', 'qstat -j 1,3 -xml']);
    assert.deepEqual(
      snapshot.details.value.map(({ job }) => job),
      [1, 3],
    );
    assert.equal(snapshot.details.problem, null);
  });

  it('keeps the last answers when qmaster is down, says why, and tries one query less and less often', async () => {
    let down = false;
    const well = healthy(() => [1]);
    const fake = fakeQmaster((client, args) =>
      down ? { problem: 'qmaster does not answer', unreachable: true } : well(client, args),
    );
    let state = await polled(fake, newPollState('c'), true);
    const good = fake.now;
    down = true;
    const tries: number[] = [];
    for (let second = 1; second <= 1300; second++) {
      fake.now += 1000;
      state = await polled(fake, state, true);
      if (fake.asked.length > 0) tries.push(second);
      const probe = tries.length > 1 ? RUNNING : PENDING;
      assert.ok(fake.asked.length === 0 || (fake.asked.length === 1 && fake.asked[0] === probe), String(fake.asked));
    }
    assert.deepEqual(tries, [10, 20, 40, 80, 160, 320, 620, 920, 1220]);
    for (const answer of [
      state.snapshot.running,
      state.snapshot.hosts,
      state.snapshot.details,
      state.snapshot.pending,
    ]) {
      assert.equal(answer?.at, good);
      assert.equal(answer.value.length, 1);
      assert.equal(answer.problem, 'qmaster does not answer');
    }

    down = false;
    fake.now += 300_000;
    state = await polled(fake, state, true);
    assert.deepEqual(fake.asked, [RUNNING, HOSTS, 'qstat -j 1 -xml', PENDING]);
    for (const answer of [state.snapshot.running, state.snapshot.hosts, state.snapshot.details, state.snapshot.pending])
      assert.deepEqual([answer?.at, answer?.problem], [fake.now, null]);
    fake.now += 10_000;
    await polled(fake, state, true);
    assert.deepEqual(fake.asked, [PENDING, RUNNING, HOSTS]);
  });

  it('has empty answers with the problem where qmaster has never answered', async () => {
    const fake = fakeQmaster(() => ({ problem: 'denied', unreachable: true }));
    const { snapshot } = await polled(fake, newPollState('c'));
    assert.deepEqual(fake.asked, [RUNNING]);
    assert.deepEqual(snapshot.running, { at: null, value: [], problem: 'denied', triedAt: fake.now });
    assert.deepEqual([snapshot.hosts.at, snapshot.hosts.value, snapshot.hosts.problem], [null, [], 'denied']);
    assert.equal(snapshot.details.at, null);
  });

  it('goes on with the other queries where one command fails by itself', async () => {
    const well = healthy(() => [1]);
    const fake = fakeQmaster((client, args) =>
      client === 'qhost' ? { items: [1, 2], problem: 'ends in the middle' } : well(client, args),
    );
    const { snapshot } = await polled(fake, newPollState('c'));
    assert.deepEqual(fake.asked, [RUNNING, HOSTS, 'qstat -j 1 -xml']);
    assert.deepEqual(snapshot.hosts.value, []);
    assert.equal(snapshot.hosts.problem, 'ends in the middle');
    assert.equal(snapshot.running.problem, null);
    assert.equal(snapshot.details.value.length, 1);
  });

  it('leaves the remaining answers as they were when it is stopped', async () => {
    const stop = new AbortController();
    const well = healthy(() => [1]);
    const fake = fakeQmaster((client, args) => {
      if (client === 'qhost') stop.abort();
      return well(client, args);
    });
    const before = newPollState('c');
    const { snapshot, history } = await poll(before, RULES, fake.tools, true, stop.signal);
    assert.deepEqual(fake.asked, [PENDING, RUNNING, HOSTS]);
    assert.equal(snapshot.running.at, fake.now);
    assert.deepEqual([snapshot.hosts, snapshot.details], [before.snapshot.hosts, before.snapshot.details]);
    assert.equal(history.hosts.failures, 0);
  });
});

describe('several rows', () => {
  it('of an array job lead to one query for the job', async () => {
    const well = healthy(() => []);
    const fake = fakeQmaster((client, args) =>
      args[3] === 'rs' ? { items: [aRow(5, '1'), aRow(5, '2'), aRow(6)] } : well(client, args),
    );
    await polled(fake, newPollState('c'));
    assert.equal(fake.asked[2], 'qstat -j 5,6 -xml');
  });
});
