import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jobSums, sumOfJob, type JobSum } from '../../src/accounting/job-sum';
import type { Bracket, JobRecord } from '../../src/record/record';
import { bracketOf, recordOf } from '../support/records';

const T0 = Date.UTC(2026, 10, 1);
const GIB = 2 ** 30;
const iso = (ms: number): string => new Date(T0 + ms).toISOString();

function peak(lower: number, upper: number | null, more: Partial<Bracket> = {}): Bracket {
  return bracketOf(lower, upper, {
    ...(upper === null && { open: ['exec'] }),
    at: iso(500),
    command: 'solver',
    ...more,
  });
}

interface RecordOptions {
  readonly task?: string | null;
  readonly from?: number;
  readonly to?: number | null;
  readonly fields?: Partial<JobRecord>;
}

/** A record of job 7; with `task`, of that slave task. */
function recordOn(
  host: string,
  rss: Bracket | null,
  { task = null, from = 0, to = 60_000, fields = {} }: RecordOptions = {},
) {
  return recordOf({
    job_id: 7,
    pe_task_id: task,
    host,
    run_id: `${host}/${task ?? ''}/${from}`,
    status: to === null ? 'running' : 'finished',
    revision: T0 + (to ?? 30_000),
    started_at: iso(from),
    ended_at: to === null ? null : iso(to),
    wallclock_seconds: ((to ?? 30_000) - from) / 1000,
    peak_rss: rss,
    h_vmem: { request_bytes: GIB, limit_bytes: GIB, per: 'slot' as const },
    host_slots: 1,
    ...fields,
  });
}

const granted = (...slots: readonly number[]): Partial<JobRecord> => ({
  granted_hosts: slots.map((count, index) => ({ host: `n${index + 1}`, slots: count })),
  host_slots: slots[0] ?? 1,
  slots: slots.reduce((a, b) => a + b, 0),
  pe: 'orte',
});

const ends = (sum: JobSum): unknown => [sum.peak_rss?.lower_bytes, sum.peak_rss?.upper_bytes, sum.peak_rss?.open];

describe('sumOfJob: peaks', () => {
  it('adds peaks of parts that may have coincided', () => {
    const sum = sumOfJob(
      [
        recordOn('n1', peak(100, 110), { fields: granted(2, 1) }),
        recordOn('n1', peak(300, 320), { task: '1.n1' }),
        recordOn('n2', peak(200, 230), { task: '1.n2' }),
      ],
      1,
    );
    assert.deepEqual(ends(sum), [300, 660, []]);
    assert.equal(sum.peak_rss?.proved, true);
    assert.deepEqual(
      sum.hosts.map(({ peak_rss: host }) => [host?.lower_bytes, host?.upper_bytes]),
      [
        [300, 430],
        [200, 230],
      ],
    );
  });

  it('does not add peaks of consecutive tasks on one host', () => {
    const sum = sumOfJob(
      [
        recordOn('n1', peak(50, 50), { fields: granted(1, 1) }),
        recordOn('n2', peak(300, 300), { task: '1.n2', from: 1000, to: 10_000 }),
        recordOn('n2', peak(200, 200), { task: '2.n2', from: 11_500, to: 20_000 }),
      ],
      1,
    );
    // On one host a gap of a tenth of a second is enough, beyond Grid Engine's whole seconds.
    assert.deepEqual(ends(sum), [300, 350, []]);
  });

  it('adds peaks of consecutive tasks on two hosts if their clocks allow an overlap', () => {
    const after = (gap: number): unknown =>
      sumOfJob(
        [
          recordOn('n1', peak(300, 300), { to: 10_001, fields: granted(1, 1) }),
          recordOn('n2', peak(200, 200), { task: '1.n2', from: 10_001 + gap }),
        ],
        1,
      ).peak_rss?.upper_bytes;
    assert.deepEqual([after(1500), after(4500)], [500, 300]);
  });

  it('has an open upper bound if a part has, for the reasons of all parts', () => {
    const sum = sumOfJob(
      [
        recordOn('n1', peak(300, null, { open: ['swap'] }), { fields: granted(1, 1) }),
        recordOn('n2', peak(200, null, { open: ['exec', 'start-gap'] }), { task: '1.n2' }),
      ],
      1,
    );
    assert.deepEqual(ends(sum), [300, null, ['start-gap', 'exec', 'swap']]);
    assert.equal(sum.peak_rss?.proved, false);
    const unknown = sumOfJob(
      [recordOn('n1', peak(1, 1), { fields: granted(1, 1) }), recordOn('n2', null, { task: '1.n2' })],
      1,
    );
    assert.deepEqual(ends(unknown), [1, null, ['no-samples']]);
  });

  it('has an open upper bound if a host or a slave task has no record', () => {
    const master = recordOn('n1', peak(300, 300), { fields: granted(2, 2) });
    assert.deepEqual(ends(sumOfJob([master], 1)), [300, null, ['unseen-host']]);
    const third = recordOn('n2', peak(100, 100), { task: '3.n2' });
    const sum = sumOfJob([master, third], 1);
    assert.deepEqual([ends(sum), sum.unseen_tasks], [[300, null, ['unseen-task']], 2]);
    assert.deepEqual(
      sum.hosts.map((host) => [host.host, host.seen, host.peak_rss?.open]),
      [
        ['n1', true, []],
        ['n2', true, ['unseen-task']],
      ],
    );
  });

  it('takes the largest process of all parts', () => {
    const sum = sumOfJob(
      [
        recordOn('n1', null, { fields: { ...granted(1, 1), peak_process_vmem: peak(10, 20) } }),
        recordOn('n2', null, { task: '1.n2', fields: { peak_process_vmem: peak(15, 17) } }),
      ],
      1,
    );
    assert.deepEqual([sum.peak_process_vmem?.lower_bytes, sum.peak_process_vmem?.upper_bytes], [15, 20]);
  });
});

describe('sumOfJob: slots, limits, load', () => {
  it('takes slots as granted, and limits and efficiency from these', () => {
    const sum = sumOfJob(
      [
        recordOn('n1.cluster', peak(GIB, GIB), { fields: { ...granted(1, 4, 2), cpu_seconds: 30 } }),
        recordOn('n2', peak(2 * GIB, 2 * GIB), { task: '1.n2', fields: { cpu_seconds: 120 } }),
        recordOn('N2.cluster', peak(2 * GIB, 2 * GIB), { task: '2.n2', fields: { cpu_seconds: 120 } }),
      ],
      2,
    );
    assert.deepEqual(
      sum.hosts.map((host) => [host.host, host.slots, host.seen, host.master, host.tasks, host.limit_bytes]),
      [
        ['n1', 1, true, true, 0, GIB],
        ['n2', 4, true, false, 2, 4 * GIB],
        ['n3', 2, false, false, 0, 2 * GIB],
      ],
    );
    assert.deepEqual([sum.slots, sum.limit_bytes, sum.attempt], [7, 7 * GIB, 2]);
    // 270 s of CPU in 60 s on the five slots that were seen.
    assert.equal(sum.cpu_efficiency, 270 / 300);
    assert.deepEqual(
      sum.hosts.map((host) => host.cpu_efficiency),
      [0.5, 1, null],
    );
    // The master's host used 1 of 1 GiB, the other one 2 of 4 GiB.
    assert.equal(sum.memory_efficiency, 1);
    assert.deepEqual(sum.memory_imbalance, { most: 'n1', least: 'n2', ratio: 2 });
    assert.deepEqual(sum.cpu_imbalance, { most: 'n2', least: 'n1', ratio: 2 });
  });

  it('known only by accounting lines is compared with all of its slots', () => {
    const line = { trust: 'accounting', slots: 4, host_slots: null, granted_hosts: null, cpu_seconds: 60 } as const;
    const lines = [recordOn('n1', null, { fields: line }), recordOn('n2', null, { task: '1.n2', fields: line })];
    assert.equal(sumOfJob(lines).cpu_efficiency, 120 / (60 * 4));
  });

  it('was suspended while no part went on, however short the parts were', () => {
    const part = (task: string | null, suspended: number | null, to = 60_000): JobRecord =>
      recordOn('n1', null, { task, to, fields: { ...granted(1), suspended_seconds: suspended } });
    const sumWith = (task: JobRecord): readonly unknown[] => {
      const sum = sumOfJob([{ ...part(null, 30), cpu_seconds: 15 }, task]);
      return [sum.suspended_seconds, sum.cpu_efficiency, sum.hosts[0]?.cpu_efficiency];
    };
    assert.deepEqual(sumWith(part('1.n1', 0, 10_000)), [30, 0.5, 0.5]);
    assert.deepEqual(sumWith(part('1.n1', null)), [30, 0.5, 0.5]);
    assert.deepEqual(sumWith(part('1.n1', 0)), [0, 0.25, 0.25]);
    assert.equal(sumOfJob([part(null, null), part('1.n1', 0, 10_000)]).suspended_seconds, 0);
  });

  it('counts a consumable per job once, for the master', () => {
    const h_vmem = { request_bytes: 3 * GIB, limit_bytes: 3 * GIB, per: 'job' as const };
    const sum = sumOfJob(
      [
        recordOn('n1', peak(GIB, GIB), { fields: { ...granted(2, 4), h_vmem } }),
        recordOn('n2', peak(GIB, GIB), { task: '1.n2', fields: { h_vmem } }),
      ],
      1,
    );
    assert.equal(sum.limit_bytes, 3 * GIB);
    assert.deepEqual(
      sum.hosts.map((host) => host.limit_bytes),
      [3 * GIB, null],
    );
  });

  it('counts a consumable per host on each host', () => {
    const h_vmem = { request_bytes: 3 * GIB, limit_bytes: 3 * GIB, per: 'host' as const };
    const sum = sumOfJob(
      [
        recordOn('n1', peak(GIB, GIB), { fields: { ...granted(2, 4), h_vmem } }),
        recordOn('n2', peak(2 * GIB, 2 * GIB), { task: '1.n2', fields: { h_vmem } }),
      ],
      1,
    );
    assert.equal(sum.limit_bytes, 6 * GIB);
    assert.deepEqual(
      sum.hosts.map((host) => host.limit_bytes),
      [3 * GIB, 3 * GIB],
    );
    assert.equal(sum.memory_efficiency, 2 / 3);
  });

  it('has no limit without a request', () => {
    const h_vmem = { request_bytes: null, limit_bytes: null, per: 'slot' as const };
    const sum = sumOfJob([recordOn('n1', peak(1, 1), { fields: { ...granted(1, 1), h_vmem } })], 1);
    assert.deepEqual([sum.limit_bytes, sum.memory_efficiency, sum.hosts[0]?.limit_bytes], [null, null, null]);
  });

  it('takes the slots of a task on a host without a known grant, and no limit there from accounting lines alone', () => {
    const sum = sumOfJob(
      [
        recordOn('n2', peak(1, 1), { task: '1.n2', from: 0, to: 10_000 }),
        recordOn('n2', peak(1, 1), { task: '2.n2', from: 10_000, to: 20_000 }),
        recordOn('n2', peak(1, 1), { task: '3.n2', from: 12_000, to: 20_000 }),
        recordOn('n3', peak(1, 1), { task: '1.n3', from: 0, to: 20_000 }),
      ],
      1,
    );
    assert.deepEqual(
      sum.hosts.map((host) => [host.host, host.slots]),
      [
        ['n2', 1],
        ['n3', 1],
      ],
    );
    const line = recordOn('n1', null, {
      fields: {
        trust: 'accounting',
        h_vmem: { request_bytes: 2, limit_bytes: 160, per: 'slot' },
        slots: 80,
        host_slots: null,
      },
    });
    const task = recordOn('n2', null, { task: '1.n2', fields: { trust: 'accounting', host_slots: null } });
    const { hosts, limit_bytes: limit } = sumOfJob([line, task], 1);
    assert.deepEqual([limit, ...hosts.map((host) => host.limit_bytes)], [160, null, null]);
    assert.deepEqual([sum.status, sum.started_at, sum.ended_at], ['finished', iso(0), iso(20_000)]);
    assert.equal(sum.wallclock_seconds, 20);
  });

  it('does not count the time until a lost run was found as elapsed', () => {
    const found = { status: 'lost' as const, ended_at: null, wallclock_seconds: null, revision: T0 + 86_400_000 };
    const master = recordOn('n1', null, { fields: { ...granted(1, 1), ...found } });
    const task = recordOn('n2', peak(100, 110), { task: '1.n2', to: 40_000 });
    assert.equal(sumOfJob([master, task]).wallclock_seconds, 40);
    assert.equal(sumOfJob([master, { ...task, status: 'lost', ended_at: null }]).wallclock_seconds, 40);
  });

  it('has the status of its master, if known', () => {
    const running = recordOn('n2', peak(1, 1), { task: '1.n2', to: null });
    const master = recordOn('n1', peak(1, 1), { fields: granted(1, 1) });
    assert.equal(sumOfJob([master, running], 1).status, 'finished');
    assert.equal(sumOfJob([{ ...running, pe_task_id: null, ...granted(1, 1) }, master], 1).status, 'running');
    assert.equal(sumOfJob([running], 1).status, 'running');
  });

  it('estimates the memory of all parts together from their series', () => {
    const series = (start: number, ...rss: readonly number[]): Partial<JobRecord> => ({
      series: { start: iso(start), step_seconds: 10, rss_bytes: rss, others: {} },
    });
    const sum = sumOfJob(
      [
        recordOn('n1', peak(100, 400), { fields: { ...granted(1, 1), ...series(0, 10, 100, 50, 50, 50, 50) } }),
        recordOn('n2', peak(200, 400), { task: '1.n2', from: 20_000, fields: series(20_000, 20, 200, 60, 60) }),
      ],
      1,
    );
    assert.equal(sum.together_rss_bytes, 250);
    assert.deepEqual(sum.series, {
      start: iso(0),
      step_seconds: 10,
      rss_bytes: [10, 100, 70, 250, 110, 110],
      others: {},
    });
    const bounded = sumOfJob(
      [recordOn('n1', peak(120, 130), { fields: { ...granted(1, 1), ...series(0, 10, 100) } })],
      1,
    );
    assert.equal(bounded.together_rss_bytes, 120);
  });
});

describe('jobSums', () => {
  const master = recordOn('n1', peak(100, 100), { fields: granted(1, 1) });
  const task = recordOn('n2', peak(200, 200), { task: '1.n2' });

  it('makes one sum for each run of each array task', () => {
    const runs = [
      { record: master, attempt: 1, incarnation: 1 },
      { record: task, attempt: 1, incarnation: 1 },
      { record: master, attempt: 2, incarnation: 1 },
      { record: task, attempt: 2, incarnation: 1 },
      { record: { ...master, task_id: 3 }, attempt: 1, incarnation: 1 },
      { record: master, attempt: 1, incarnation: 2 },
    ];
    assert.deepEqual(
      jobSums(runs).map((sum) => [sum.task_id, sum.attempt, sum.peak_rss?.lower_bytes, sum.peak_rss?.upper_bytes]),
      [
        [null, 1, 200, 300],
        [null, 2, 200, 300],
        [3, 1, 100, null],
        [null, 1, 100, null],
      ],
    );
  });

  it('makes no sum of a job with one record on its only host', () => {
    const serial = { ...master, granted_hosts: null };
    const threads = { ...master, ...granted(8) };
    for (const record of [serial, threads]) assert.deepEqual(jobSums([{ record, attempt: 1, incarnation: 1 }]), []);
  });

  it('is fast with thousands of slave tasks', () => {
    const many = Array.from({ length: 20_000 }, (_, index) =>
      recordOn(`n${(index % 200) + 1}`, peak(1, 2), {
        task: `${Math.floor(index / 200) + 1}.n`,
        from: index,
        to: index + 50_000,
      }),
    );
    assert.equal(sumOfJob(many, 1).peak_rss?.upper_bytes, 40_000);
  });
});

/** The true memory of one slave task: values over equal steps of true time, from `from` on. */
interface History {
  readonly host: number;
  readonly from: number;
  readonly values: readonly number[];
  /** How far the bounds lie below and above the true peak; null: open. */
  readonly below: number;
  readonly above: number | null;
  /** Whether times are Grid Engine's whole seconds; how much later than the end (ms) the record was made. */
  readonly wholeSeconds: boolean;
  readonly late: number;
}

const STEP = 250;
const history: fc.Arbitrary<History> = fc.record({
  host: fc.nat({ max: 3 }),
  from: fc.nat({ max: 80 }).map((steps) => steps * STEP),
  values: fc.array(fc.nat({ max: 1000 }), { minLength: 1, maxLength: 40 }),
  below: fc.nat({ max: 50 }),
  above: fc.option(fc.nat({ max: 50 }), { freq: 20 }),
  wholeSeconds: fc.boolean(),
  late: fc.nat({ max: 3000 }),
});

describe('sumOfJob against the truth', () => {
  // Two clocks are at most 2 s apart.
  const clocks = fc.array(fc.integer({ min: 0, max: 2000 }), { minLength: 4, maxLength: 4 });

  it('has the true peak of the sum within its bounds, on each host and of all hosts', () => {
    let closed = 0;
    fc.assert(
      fc.property(fc.array(history, { minLength: 1, maxLength: 10 }), clocks, (histories, offsets) => {
        const records = histories.map(({ host, from, values, below, above, wholeSeconds, late }, index) => {
          const most = Math.max(...values);
          const end = from + values.length * STEP + (offsets[host] ?? 0);
          const bracket = peak(Math.max(0, most - below), above === null ? null : most + above);
          const whole = (ms: number): number => (wholeSeconds ? Math.floor(ms / 1000) * 1000 : ms);
          const task = `${histories.slice(0, index + 1).filter((other) => other.host === host).length}.n${host}`;
          return recordOn(`n${host}`, bracket, {
            task,
            from: whole(from + (offsets[host] ?? 0)),
            to: whole(end),
            fields: { revision: T0 + end + late },
          });
        });
        const truth = (of: readonly History[]): number => {
          const sums = Array.from({ length: 130 }, (_, step) =>
            of.reduce((sum, { from, values }) => sum + (values[step - from / STEP] ?? 0), 0),
          );
          return Math.max(...sums);
        };
        const assertContains = (bracket: Bracket | null, of: readonly History[]): void => {
          assert.ok(bracket !== null);
          const peakOfSum = truth(of);
          assert.ok(bracket.lower_bytes <= peakOfSum, `${bracket.lower_bytes} > ${peakOfSum}`);
          assert.equal(bracket.upper_bytes === null, bracket.open.length > 0);
          assert.equal(
            bracket.upper_bytes === null,
            of.some(({ above }) => above === null),
          );
          if (bracket.upper_bytes === null) return;
          closed++;
          assert.ok(bracket.upper_bytes >= peakOfSum, `${bracket.upper_bytes} < ${peakOfSum}`);
        };
        const sum = sumOfJob(records, 1);
        assertContains(sum.peak_rss, histories);
        for (const host of sum.hosts)
          assertContains(
            host.peak_rss,
            histories.filter((one) => `n${one.host}` === host.host),
          );
      }),
      { numRuns: 2000 },
    );
    assert.ok(closed > 1000);
  });
});
