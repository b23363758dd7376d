import type { QhostHost, QhostJob, QhostQueue, QhostResource } from '../../src/gridengine/qhost/qhost-report';
import type { JobDetail, PeTaskDetail, TaskDetail, Usage } from '../../src/gridengine/qstat/job-detail';
import type { ListedJob, RequestText } from '../../src/gridengine/qstat/job-list';
import type { Answer, Snapshot } from '../../src/live/snapshot';
import { emptyRecord, type Bracket, type JobRecord } from '../../src/record/record';
import { bracketOf } from '../support/records';

export const GIB = 2 ** 30;
export const MIB = 2 ** 20;

/** When the snapshots below were taken. */
export const AT = Date.UTC(2026, 10, 20, 12, 0, 0);
const STARTED = AT - 3_600_000;
const SUBMITTED = STARTED - 60_000;

/** A hostile name: an escape sequence, markup, a formula, a line end, a shell quote. */
export const HOSTILE_NAME = '=cmd|\'/C calc\'!A0 <b>"x"</b> \u001b[31m\r\nBcc: all';
export const HOSTILE_OWNER = '__proto__';

export function answer<T>(value: T, changes: Partial<Answer<T>> = {}): Answer<T> {
  return { at: AT, value, problem: null, triedAt: AT, ...changes };
}

/** No command has been run yet. */
export function noAnswer<T>(empty: T, problem: string | null = null): Answer<T> {
  return { at: null, value: empty, problem, triedAt: problem === null ? null : AT };
}

/** A host of 16 cores and 62.8 GiB that is up. */
export function host(name: string, changes: Partial<QhostHost> = {}): QhostHost {
  return {
    name,
    architecture: 'lx-amd64',
    processors: 16,
    sockets: 2,
    cores: 16,
    threads: 16,
    load: 3.5,
    memoryTotal: 62.8 * GIB,
    memoryUsed: 20 * GIB,
    swapTotal: 8 * GIB,
    swapUsed: 0,
    processorsText: '16',
    memoryTotalText: '62.8G',
    resources: [],
    queues: [],
    jobs: [],
    ...changes,
  };
}

/** What qhost prints for a host that does not report. */
export function downHost(name: string, changes: Partial<QhostHost> = {}): QhostHost {
  const unknown = {
    architecture: null,
    processors: null,
    sockets: null,
    cores: null,
    threads: null,
    load: null,
    memoryTotal: null,
    memoryUsed: null,
    swapTotal: null,
    swapUsed: null,
  };
  return host(name, { ...unknown, processorsText: '-', memoryTotalText: '-', ...changes });
}

/** `hc:h_vmem=12.000G` of `qhost -F`. */
export function resource(name: string, value: string, dominance = 'hc'): QhostResource {
  return { name, dominance, value };
}

export function queue(name: string, slotsUsed: number, slots: number, state = ''): QhostQueue {
  return { name, type: 'BIP', slotsUsed, slots, slotsReserved: 0, state };
}

/** One row of `qhost -j`. */
export function row(job: number, changes: Partial<QhostJob> = {}): QhostJob {
  return {
    job,
    task: null,
    name: `job${job}`,
    owner: 'alice',
    state: 'r',
    queue: 'all.q',
    queueInstance: '',
    priority: 0.5,
    startedAt: STARTED,
    role: 'MASTER',
    ...changes,
  };
}

/** Rows of a parallel job on one host: a `MASTER` row if the master task is there, then `slaves` rows `SLAVE`. */
export function peRows(job: number, master: boolean, slaves: number, changes: Partial<QhostJob> = {}): QhostJob[] {
  const slave = (): QhostJob => row(job, { ...changes, role: 'SLAVE' });
  return [...(master ? [row(job, changes)] : []), ...Array.from({ length: slaves }, slave)];
}

export function hard(value: string, complex = 'h_vmem'): RequestText {
  return { complex, value, kind: 'hard' };
}

export function soft(value: string, complex = 'h_vmem'): RequestText {
  return { complex, value, kind: 'soft' };
}

/** `def_hard_request`: the default of the complex, which the job did not request. */
export function byDefault(value: string, complex = 'h_vmem'): RequestText {
  return { complex, value, kind: 'default' };
}

/** One row of qstat's list of running jobs. */
export function listed(job: number, queueInstance: string | null, changes: Partial<ListedJob> = {}): ListedJob {
  return {
    job,
    tasks: null,
    name: `job${job}`,
    owner: 'alice',
    project: null,
    department: 'defaultdepartment',
    state: 'r',
    list: 'running',
    priority: 0.5,
    startedAt: STARTED,
    submittedAt: SUBMITTED,
    queueInstance,
    role: '',
    slots: 1,
    requests: [],
    requestedPe: null,
    requestedSlots: null,
    grantedPe: null,
    cpuSeconds: 100,
    memoryGbSeconds: 10,
    ioGb: 0.1,
    ...changes,
  };
}

/** A waiting job. */
export function waiting(job: number, changes: Partial<ListedJob> = {}): ListedJob {
  const none = { startedAt: null, cpuSeconds: null, memoryGbSeconds: null, ioGb: null };
  return listed(job, null, { state: 'qw', list: 'pending', ...none, ...changes });
}

/** Grid Engine's figures of one task, memory in GiB. */
export function usage(maxvmemGib: number, vmemGib = maxvmemGib, cpu = 100): Usage {
  return new Map([
    ['cpu', cpu],
    ['mem', 10.123456],
    ['io', 0.1],
    ['vmem', vmemGib * GIB],
    ['maxvmem', maxvmemGib * GIB],
  ]);
}

export function taskDetail(taskUsage: Usage, changes: Partial<TaskDetail> = {}): TaskDetail {
  return { task: 1, status: 128, startedAt: STARTED, usage: taskUsage, peTasks: [], ...changes };
}

/** A `qrsh -inherit` task: `1.node01`. */
export function peTask(id: string, taskUsage: Usage, changes: Partial<PeTaskDetail> = {}): PeTaskDetail {
  return {
    id,
    host: id.includes('.') ? id.slice(id.indexOf('.') + 1) : null,
    past: false,
    usage: taskUsage,
    ...changes,
  };
}

export function pastUsage(taskUsage: Usage): PeTaskDetail {
  return { id: 'past_usage', host: null, past: true, usage: taskUsage };
}

export function detail(job: number, tasks: readonly TaskDetail[], changes: Partial<JobDetail> = {}): JobDetail {
  return {
    job,
    name: `job${job}`,
    owner: 'alice',
    uid: '1001',
    group: 'users',
    project: null,
    department: 'defaultdepartment',
    account: 'sge',
    submittedAt: SUBMITTED,
    notBefore: null,
    reservation: null,
    submitCommand: null,
    wantsMail: false,
    predecessors: [],
    taskPredecessors: [],
    requests: [],
    pe: null,
    array: false,
    tasks,
    messages: [],
    ...changes,
  };
}

export function snapshot(changes: Partial<Snapshot> = {}): Snapshot {
  return {
    cluster: 'default',
    dialect: 'sge8.1.9',
    hosts: answer([]),
    running: answer([]),
    details: answer([]),
    pending: null,
    ...changes,
  };
}

/** A bracket from `lower` to `upper` bytes; null: no upper bound. */
export function bracket(lower: number, upper: number | null): Bracket {
  const open = upper === null ? (['no-lineage'] as const) : [];
  return bracketOf(lower, upper, { exact: false, open, command: 'burn' });
}

/** A record of a running job with a heartbeat at `AT`: `rss` in bytes, one value per minute since its start. */
export function running(
  job: number,
  hostName: string,
  rss: readonly number[],
  changes: Partial<JobRecord> = {},
): JobRecord {
  const key = {
    cluster: 'default',
    job_id: job,
    task_id: null,
    pe_task_id: null,
    host: hostName,
    run_id: `0badcafe.${job}.1`,
  };
  const started = new Date(STARTED).toISOString();
  const peak = Math.max(0, ...rss);
  return {
    ...emptyRecord(key, 'running', 'root', AT),
    owner: 'alice',
    job_name: `job${job}`,
    started_at: started,
    peak_rss: bracket(peak, peak + MIB),
    series: { start: started, step_seconds: 60, rss_bytes: rss, others: {} },
    ...changes,
  };
}

const array = { name: 'arr', owner: 'alice' };
const mpi = { name: 'mpi', owner: 'bob' };
const request4G = { ...hard('4G'), amount: 4 * GIB };
const request2G = { ...hard('2G'), amount: 2 * GIB };
const request3G = { ...hard('3G'), amount: 3 * GIB };
const bob = { owner: 'bob', uid: '1002' };

const exampleRows = {
  node01: [
    row(101, { name: 'serial' }),
    row(102, { ...array, task: 1 }),
    row(102, { ...array, task: 2 }),
    ...peRows(103, true, 2, mpi),
  ],
  node02: [row(102, { ...array, task: 3 }), ...peRows(103, false, 2, mpi)],
};

const exampleList = [
  listed(101, 'all.q@node01', { name: 'serial', requests: [hard('4G')] }),
  listed(102, 'all.q@node01', { ...array, tasks: '1', requests: [hard('2G')] }),
  listed(102, 'all.q@node01', { ...array, tasks: '2', requests: [hard('2G')] }),
  listed(102, 'all.q@node02', { ...array, tasks: '3', requests: [hard('2G')] }),
  listed(103, 'all.q@node01', {
    ...mpi,
    slots: 4,
    requestedPe: 'mpi',
    requestedSlots: '4',
    grantedPe: 'mpi',
    requests: [hard('3G')],
  }),
];

const exampleDetails = [
  detail(101, [taskDetail(usage(1.5))], { name: 'serial', requests: [request4G] }),
  detail(
    102,
    [taskDetail(usage(1), { task: 1 }), taskDetail(usage(0.5), { task: 2 }), taskDetail(usage(0.25), { task: 3 })],
    { ...array, array: true, requests: [request2G] },
  ),
  detail(
    103,
    [
      taskDetail(usage(2), {
        peTasks: [peTask('1.node01', usage(1)), peTask('1.node02', usage(0.75)), peTask('2.node02', usage(0.5))],
      }),
    ],
    { ...mpi, ...bob, pe: 'mpi', requests: [request3G] },
  ),
];

/**
 * Two hosts of 16 cores and 62.8G: 101 serial with 4G; 102 array tasks 1-3 with 2G; 103 a parallel job of 4 slots with
 * 3G over both, its PE with job_is_first_task FALSE, one `qrsh -inherit` task on node01 and two on node02.
 */
export function workedExample(): Snapshot {
  return snapshot({
    hosts: answer([host('node01', { jobs: exampleRows.node01 }), host('node02', { jobs: exampleRows.node02 })]),
    running: answer(exampleList),
    details: answer(exampleDetails),
  });
}

const solver = { name: 'solver', owner: 'bob' };
const onNode02 = { queueInstance: 'all.q@node02' };

/**
 * The jobs of the worked example, and beside them:
 * 104 4 slots of 1G over node01 and node02, asked for as 4-8, job_is_first_task TRUE, its ended tasks in `past_usage`;
 * 105 suspended, without any request, on node04, which has no h_vmem (qhost has its long name, the task its short one);
 * 106 on node02 by the complex's default of 1G, and a soft request; 107 with hostile names; 108 on node03, which is down;
 * 109 known to qhost alone, 110 to qstat alone. 201 and 202 wait.
 */
export function sampleSnapshot(): Snapshot {
  const hostile = { name: HOSTILE_NAME, owner: HOSTILE_OWNER };
  return snapshot({
    hosts: answer([
      host('node01', {
        resources: [resource('h_vmem', '40.000G'), resource('mem_free', '42.8G', 'hl')],
        queues: [queue('all.q', 7, 16)],
        jobs: [...exampleRows.node01, ...peRows(104, true, 1, solver)],
      }),
      host('node02', {
        resources: [resource('h_vmem', '0.500G')],
        queues: [queue('all.q', 8, 16), queue('short.q', 0, 4, 'd')],
        jobs: [
          ...exampleRows.node02,
          ...peRows(104, false, 2, solver),
          row(106, { owner: 'dave' }),
          row(107, { ...hostile, ...onNode02 }),
          row(109, { owner: 'erin', state: 't' }),
        ],
      }),
      downHost('node03', { queues: [queue('all.q', 1, 16, 'au')], jobs: [row(108)] }),
      host('node04.example.org', { queues: [queue('all.q', 2, 2)], jobs: [row(105, { owner: 'carol', state: 's' })] }),
    ]),
    running: answer([
      ...exampleList,
      listed(104, 'all.q@node01', {
        ...solver,
        slots: 4,
        requestedPe: 'mpi2 4-8',
        grantedPe: 'mpi2',
        requests: [hard('1G')],
      }),
      listed(105, 'all.q@node04.example.org', { owner: 'carol', state: 's' }),
      listed(106, 'all.q@node02', { owner: 'dave', requests: [byDefault('1G'), soft('6G', 'mem_free')] }),
      listed(107, 'all.q@node02', { ...hostile, project: '<i>p', requests: [hard('512M'), hard('2G', 'mem_free')] }),
      listed(108, 'all.q@node03', { requests: [hard('8G')] }),
      listed(110, 'all.q@node04', { owner: 'carol', requests: [hard('2G')] }),
    ]),
    details: answer([
      ...exampleDetails,
      detail(
        104,
        [
          taskDetail(usage(0.5, 0.25), {
            peTasks: [pastUsage(usage(1.25, 0)), peTask('7.node02', usage(0.75, 0.5))],
          }),
        ],
        { ...solver, ...bob, pe: 'mpi2' },
      ),
      detail(105, [taskDetail(usage(3))], { owner: 'carol', uid: '1003' }),
      detail(106, [taskDetail(usage(0.75))], { owner: 'dave', uid: '1004' }),
      detail(107, [taskDetail(usage(0.5))], { ...hostile, uid: '1005', project: '<i>p' }),
      detail(108, [taskDetail(new Map())]),
    ]),
    pending: answer([
      waiting(201, { tasks: '1-100:1', requests: [hard('16G')] }),
      waiting(202, {
        owner: 'dave',
        state: 'hqw',
        slots: 8,
        requestedPe: 'mpi 8',
        requests: [soft('4G'), hard('1G', 'mem_free')],
      }),
    ]),
  });
}

/** Records of samplers for some of the jobs of `sampleSnapshot`. */
export function sampleRecords(): readonly JobRecord[] {
  const growing = Array.from({ length: 60 }, (_, minute) => GIB + minute * 32 * MIB);
  const task = { owner: 'bob', job_name: 'mpi' };
  return [
    running(101, 'node01.example.org', growing),
    running(103, 'node01', [GIB, 2 * GIB], task),
    running(103, 'node01', [0.5 * GIB, GIB], { ...task, pe_task_id: '1.node01' }),
    running(103, 'node02', [0.5 * GIB, 0.75 * GIB], { ...task, pe_task_id: '1.node02' }),
    running(103, 'node02', [0.5 * GIB, 0.5 * GIB], { ...task, pe_task_id: '2.node02' }),
  ];
}
