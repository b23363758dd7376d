import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobDetail } from '../../../src/gridengine/qstat/job-detail';
import type { ListedJob } from '../../../src/gridengine/qstat/job-list';
import type { Hold } from '../../../src/live/holds';
import type { Snapshot } from '../../../src/live/snapshot';
import { unfinishedJob, type UnfinishedJob } from '../../../src/live/unfinished-job';
import { emptyRecord, type JobRecord } from '../../../src/record/record';
import { renderUnfinished, unfinishedAccount, unfinishedLine } from '../../../src/report/job/unfinished';
import { displayWidth } from '../../../src/report/screen/text-width';
import {
  answer,
  AT,
  detail,
  hard,
  host,
  HOSTILE_NAME,
  HOSTILE_OWNER,
  listed,
  queue,
  resource,
  row,
  snapshot,
  taskDetail,
  usage,
  waiting,
} from '../../live/snapshots';
import { assertGolden } from '../golden';
import { testScreen } from '../screens';
import { USUAL_RULES } from '../../../src/record/request-rules';

process.env.TZ = 'Europe/Berlin';

interface Given {
  readonly row: Partial<ListedJob>;
  readonly detail?: Partial<JobDetail>;
  readonly reasons?: readonly string[];
  readonly holds?: readonly Hold[];
  /** State in which the job runs on node01; undefined: it waits. */
  readonly runs?: string;
  readonly task?: number;
  readonly problem?: string;
  readonly changes?: Partial<Snapshot>;
}

const GIB = 1024 ** 3;
const NODES = { node01: '12.000G', node02: '3.500G' };
const offer = (complex: string, value: string, node: string): string =>
  `(-l ${complex}=1) cannot run at host "${node}" because it offers only hc:${complex}=${value}`;

/** Job 300; 100 runs, 201 waits before it, 301 behind it. */
function jobOf(given: Given): UnfinishedJob {
  const { row: ofJob, detail: more = {}, reasons = [], holds = [], runs, task = null, problem, changes = {} } = given;
  const name = { name: 'relax', owner: 'alice', ...ofJob };
  const running = runs === undefined ? [] : [listed(300, 'all.q@node01', { ...name, state: runs, slots: 1 })];
  const rows = runs === undefined ? [waiting(300, { requests: [hard('8G')], ...name })] : [];
  const job = unfinishedJob(
    { job: 300, task },
    snapshot({
      hosts: answer(
        Object.entries(NODES).map(([node, free]) =>
          host(node, { resources: [resource('h_vmem', free)], jobs: node === 'node01' ? [row(100)] : [] }),
        ),
      ),
      running: answer([listed(100, 'all.q@node01', { requests: [hard('20G')] }), ...running]),
      pending: answer([waiting(201), ...rows, waiting(301)]),
      ...changes,
    }),
    {
      details: {
        jobs: [detail(300, runs === undefined ? [] : [taskDetail(usage(1.5))], more)],
        reasons: reasons.map((text) => ({ text, jobs: text.startsWith('queue') ? [] : [300] })),
        problem: problem ?? null,
        tookMs: 1,
        unreachable: false,
      },
      holds,
    },
    { rules: USUAL_RULES, nowMs: AT },
  );
  assert.ok(job !== null);
  return job;
}

const error =
  '11/21/2026 17:31:54 [52001:27226]: error: can\'t open output file "/gone/out": No such file or directory';

/** 12 GiB and 3.5 GiB free, 20 GiB taken; a queue on each. */
const onQueues: Partial<Snapshot> = {
  hosts: answer(
    Object.entries(NODES).map(([node, free]) =>
      host(node, {
        resources: [resource('h_vmem', free)],
        queues: [queue('all.q', 0, 16)],
        jobs: node === 'node01' ? [row(100)] : [],
      }),
    ),
  ),
};

const samples: Readonly<Record<string, UnfinishedJob>> = {
  'too-large': jobOf({
    row: { requests: [hard('200G'), { complex: 'h_rt', value: '3600', kind: 'hard' }] },
    reasons: [offer('h_vmem', '12.000G', 'node01'), offer('h_vmem', '3.500G', 'node02')],
  }),
  'not-free': jobOf({
    row: { requests: [hard('16G')] },
    reasons: [
      offer('h_vmem', '3.500G', 'node02'),
      offer('h_vmem', '12.000G', 'node01'),
      '(-l lic=2) cannot run globally because it offers only gc:lic=1',
      'queue instance "all.q@node03" dropped because it is disabled',
      ...[1, 2, 3, 4, 5].map((number) => `queue instance "gpu.q@node0${number}" dropped because it is full`),
      "not all array tasks may be started due to 'max_aj_instances'",
    ],
  }),
  'no-reason': jobOf({ row: {} }),
  'reasons-off': jobOf({ row: {}, reasons: ['(Collecting of scheduler job information is turned off)'] }),
  parallel: jobOf({
    row: { slots: 16, requestedPe: 'mpi' },
    reasons: [
      'cannot run in PE "mpi" because it only offers 6 slots',
      'queue instance "all.q@node03" dropped because it is temporarily not available',
    ],
  }),
  'too-many-slots': jobOf({
    row: { slots: 65, requestedPe: 'smp' },
    reasons: ['cannot run in PE "smp" because it only offers 0 slots'],
    changes: {
      hosts: answer([
        host('node01', { queues: [queue('all.q', 3, 64)] }),
        host('node02', { queues: [queue('all.q', 0, 32)] }),
      ]),
    },
  }),
  'too-much-memory': jobOf({
    row: { slots: 12, requestedPe: 'mpi', requestedSlots: '10-12' },
    detail: { requests: [{ ...hard('8G'), amount: 8 * GIB, consumable: 1 }] },
    reasons: [offer('h_vmem', '3.500G', 'node02'), 'cannot run in PE "mpi" because it only offers 1 slots'],
    changes: onQueues,
  }),
  'queue-limits': jobOf({
    row: { requests: [hard('8G')] },
    reasons: [
      '(-l h_vmem=8G) cannot run in queue "all.q" because of cluster queue',
      '(-l h_vmem=8G) cannot run in queue "long.q@node01" because it offers only qf:h_vmem=4.000G',
      '(-l h_vmem=8G) cannot run in queue "gpu.q@node01" because it offers only qc:h_vmem=6.000G',
    ],
  }),
  error: jobOf({ row: { state: 'Eqw' }, detail: { messages: [error] } }),
  'user-hold': jobOf({ row: { state: 'hqw' }, holds: ['user'] }),
  'held-by-others': jobOf({ row: { state: 'hqw' }, holds: ['operator', 'system'] }),
  'array-partly-held': jobOf({
    row: { state: 'hqw' },
    holds: ['user'],
    changes: {
      running: answer([listed(300, 'all.q@node01', { tasks: '4' })]),
      pending: answer([waiting(300, { state: 'hqw', tasks: '5,6' })]),
    },
  }),
  dependent: jobOf({ row: { state: 'hqw' }, detail: { predecessors: [100, 201, 99] } }),
  'start-time': jobOf({ row: {}, detail: { notBefore: AT + 7_200_000 } }),
  reservation: jobOf({
    row: {},
    detail: { reservation: 7 },
    reasons: ['queue instance "long.q@node02" dropped because it is disabled'],
  }),
  transfer: jobOf({ row: {}, runs: 't' }),
  deleted: jobOf({ row: {}, runs: 'dr' }),
  'runs-unsampled': jobOf({ row: { requests: [hard('4G')] }, runs: 'r' }),
  suspended: jobOf({ row: { requests: [hard('4G')] }, runs: 'sST' }),
  'array-in-error': jobOf({ row: { state: 'Eqw', tasks: '3,7-9:1' }, detail: { messages: [error] } }),
  'no-details': jobOf({ row: {}, problem: 'qstat: unable to contact qmaster' }),
  'hostile-waiting': jobOf({
    row: { name: HOSTILE_NAME, owner: HOSTILE_OWNER, state: 'Eqw' },
    detail: { messages: [`\u001b[31m${HOSTILE_NAME}`], submitCommand: `qsub ${HOSTILE_NAME}` },
    reasons: [HOSTILE_NAME],
  }),
};

const accountOf = (job: UnfinishedJob): Readonly<Record<string, unknown>> => ({ ...unfinishedAccount(job) });

describe('renderUnfinished', () => {
  for (const [name, job] of Object.entries(samples)) {
    it(`shows ${name} on 80 columns`, () => {
      const lines = renderUnfinished(job, testScreen({ width: 80, now: new Date(AT) }), { full: true });
      assertGolden(`unfinished/${name}`, lines);
    });

    it(`keeps ${name} within narrow and ASCII screens`, () => {
      for (const width of [60, 80]) {
        const screen = testScreen({ width, unicode: false, now: new Date(AT) });
        const lines = [...renderUnfinished(job, screen, { full: true }), unfinishedLine(job, screen)];
        assert.deepEqual(
          lines.filter((line) => displayWidth(line) > width),
          [],
        );
        assert.match(lines.join(''), /^[ -~]*$/);
      }
    });
  }

  it('lists the hosts where a request is not free, if hosts lack different things', () => {
    const textOf = (given: Given): string => renderUnfinished(jobOf(given), testScreen({ width: 200 })).join('\n');
    const text = textOf({
      row: {
        requests: [
          hard('2G'),
          hard('900G', 'mem_free'),
          hard('1', 'num_proc'),
          hard('1T', 'mem_total'),
          { complex: 'arch', value: 'lx*', kind: 'soft', scope: 'master' },
        ],
      },
      reasons: [
        offer('h_vmem', '-524.000M', 'node01'),
        offer('mem_free', '22.500G', 'node02'),
        offer('num_proc', '2.000000', 'node01').replace('hc:', 'hl:'),
        offer('mem_total', '32.000G', 'node01').replace('hc:', 'hl:'),
        offer('mem_total', '64.000G', 'node02').replace('hc:', 'hl:'),
        '(-l hostname=node01) cannot run in queue "all.q@node02" because it offers only qf:hostname=node02',
        ...['a', 'b', 'a'].map((name) => `(-l x=1) cannot run in queue "${name}" because it offers only hc:slots=2`),
      ],
    });
    assert.match(text, /h_vmem=2G is not free on node01 now: nothing of 32 GiB is left there\./);
    assert.match(text, /mem_free=900G is not free on node02 now: 22\.5 GiB is left there\./);
    assert.match(text, /num_proc=1 does not fit node01 now: node01 reports 2\./);
    assert.match(text, /mem_total=1T does not fit node01, node02 now: node02 reports most, 64\.0 GiB\./);
    assert.match(text, /hostname does not fit all\.q@node02\./);
    assert.match(text, /slots is not free on a, b now: most is left on a, 2\./);
    assert.match(text, /Requested h_vmem=2G mem_free=900G num_proc=1 mem_total=1T arch=lx\*\(soft\)$/m);
  });

  it('says in one line where and how long a job runs, and with how much memory', () => {
    const screen = testScreen({ width: 100, now: new Date(AT) });
    const lines = Object.values(samples).map((job) => unfinishedLine(job, screen));
    assert.ok(
      lines.includes('Job 300  relax: running; for 1:00:00 on node01, maxvmem 1.50 GiB of 4 GiB'),
      lines.join('\n'),
    );
  });

  it('says of a job that had run that its epilog failed, and not to run it again', () => {
    const job = samples.error ?? assert.fail();
    const textOf = (lastRun: JobRecord): string =>
      renderUnfinished(job, testScreen({ width: 200 }), { lastRun }).join('\n');
    const key = { cluster: 'c', job_id: 300, task_id: null, pe_task_id: null, host: 'node01', run_id: 'r' };
    const run = emptyRecord(key, 'finished', 'root', AT);
    const ran = textOf({ ...run, exit_status: 3, signal: 0 });
    assert.match(ran, /The job had run, then its epilog failed: can't open/);
    assert.match(unfinishedLine(job, testScreen({ width: 200 }), { ...run, exit_status: 0 }), /then its epilog failed/);
    assert.match(ran, /qdel 300 removes it; qmod -cj 300 would run it again\./);
    for (const other of [{ exit_status: 100 }, { exit_status: 137, signal: 9 }, { status: 'lost' as const }])
      assert.match(textOf({ ...run, ...other }), /Its start failed: .*\n.*When the cause is fixed: qmod -cj 300/);
  });

  it('gives the place in the queue to an array task without a hold', () => {
    const rows = [waiting(300, { tasks: '2-9:1' }), waiting(300, { tasks: '10', state: 'hqw' })];
    const runs = listed(300, 'all.q@node01', { tasks: '1' });
    const placeOf = (task: number): unknown =>
      jobOf({ row: {}, task, changes: { running: answer([runs]), pending: answer(rows) } }).position;
    assert.deepEqual([1, 2, 10].map(placeOf), [null, { place: 1, of: 1 }, null]);
  });

  it("shows a wait of 0 where the clock is behind qmaster's", () => {
    const [head] = renderUnfinished(jobOf({ row: { submittedAt: AT + 600_000 } }), testScreen({ now: new Date(AT) }));
    assert.match(head ?? '', /waiting, 0 ms$/);
  });

  it('says that a job fits no host only where the total memory of all hosts is known', () => {
    const fits = (free: Readonly<Record<string, string | null>>, request: string, changes: Partial<Snapshot> = {}) => {
      const hosts = Object.entries(free).map(([name, left]) =>
        host(name, {
          resources: left === null ? [] : [resource('h_vmem', left)],
          queues: [queue('all.q', 0, 16)],
          jobs: name === 'node01' ? [row(100)] : [],
        }),
      );
      const running = answer([listed(100, 'all.q@node01', { requests: [hard('1000M')] })]);
      const pending = answer([waiting(300, { requests: [hard(request)] })]);
      const details = { jobs: [detail(300, [])], reasons: [], problem: null, tookMs: 1, unreachable: false };
      const job = unfinishedJob(
        { job: 300, task: null },
        snapshot({ hosts: answer(hosts), running, pending, ...changes }),
        { details, holds: [] },
        { rules: USUAL_RULES, nowMs: AT },
      );
      return accountOf(job ?? assert.fail()).fits_no_host;
    };
    // qhost prints three decimals: 255.023G of 256G are free beside a job of 1000M.
    assert.equal(fits({ node01: '255.023G' }, '256G'), false);
    assert.equal(fits({ node01: '255.023G' }, '257G'), true);
    assert.equal(fits({ node01: '10.000G', big: null }, '500G'), false);
    // A job that qhost lists and qstat does not yet: its memory is unknown.
    assert.equal(fits({ node01: '10.000G' }, '256G', { running: answer([]) }), false);
    const hostTotals = [{ name: 'node01', capacity: 256 * GIB, requested: 0, peak: 0, used: 0 }];
    const others = { unlimited: 0, strandedMemory: 0, strandedSlots: 0 };
    assert.equal(
      fits({ node01: '56.000G' }, '100G', { hostTotals: hostTotals.map((sums) => ({ ...sums, ...others })) }),
      false,
    );
  });

  it('counts the memory of all slots only where each slot requests it, and the least slots of a range', () => {
    const fits = (requestedSlots: string, consumable: number): unknown => {
      const requests = [{ ...hard('8G'), amount: 8 * GIB, consumable }];
      // By urgency_slots of the parallel environment, qstat may print the most slots.
      const row = { slots: 128, requestedPe: 'mpi', requestedSlots };
      return accountOf(jobOf({ row, detail: { requests }, changes: onQueues })).fits_no_host;
    };
    assert.deepEqual(
      [fits('4-128', 1), fits('2,5-128', 1), fits('5-128', 1), fits('33', 2)],
      [false, false, true, true],
    );
    assert.deepEqual([fits('5', 2), fits('32', 3)], [false, false]);
  });

  it('advises qalter -w v only where its answer holds', () => {
    const advises = (complex: string, ...others: string[]): boolean => {
      const requests = [complex, ...others].map((name) => hard('16G', name));
      const job = jobOf({ row: { requests }, reasons: [offer(complex, '3.500G', 'node02')], changes: onQueues });
      return renderUnfinished(job, testScreen({ width: 200 })).some((line) => line.includes('qalter -w v 300'));
    };
    assert.deepEqual([advises('scratch'), advises('h_vmem'), advises('scratch', 'mem_free')], [true, false, false]);
  });

  it('gives no place in a queue of which the reader sees only a part', () => {
    const partial = jobOf({ row: { state: 'hqw' }, detail: { predecessors: [100, 99] }, changes: { hostTotals: [] } });
    assert.equal(accountOf(partial).position, null);
    assert.match(renderUnfinished(partial, testScreen()).join(' '), /99 \(ended, or not yours to see\)/);
  });

  it('says of which array jobs each task waits for the same task', () => {
    const detail = { predecessors: [99], taskPredecessors: [201] };
    const both = jobOf({ row: { state: 'hqw' }, detail });
    assert.match(
      renderUnfinished(both, testScreen()).join(' ').replace(/\s+/g, ' '),
      /It starts after job 99 \(no longer listed\)\. Each task starts after the same task of job 201 \(waiting\)\./,
    );
    assert.deepEqual(accountOf(both).starts_after, [99, 201]);
  });

  it('says for programs whether the job can ever start, and its place in the queue', () => {
    const of = (name: string): ReturnType<typeof accountOf> => accountOf(samples[name] ?? assert.fail());
    assert.deepEqual(
      ['too-large', 'not-free', 'error', 'runs-unsampled'].map((name) => [of(name).state, of(name).fits_no_host]),
      [
        ['waiting', true],
        ['waiting', false],
        ['error', false],
        ['running', false],
      ],
    );
    assert.deepEqual([of('not-free').position, of('not-free').waiting_jobs], [2, 3]);
    assert.equal(of('user-hold').position, null);
    assert.deepEqual(of('dependent').starts_after, [100, 201, 99]);
  });
});
