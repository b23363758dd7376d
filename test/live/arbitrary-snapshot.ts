import fc from 'fast-check';
import { DIALECTS } from '../../src/gridengine/dialect';
import type { QhostHost, QhostJob } from '../../src/gridengine/qhost/qhost-report';
import type { JobDetail } from '../../src/gridengine/qstat/job-detail';
import type { ListedJob } from '../../src/gridengine/qstat/job-list';
import type { Snapshot } from '../../src/live/snapshot';
import { emptyRecord, type JobRecord } from '../../src/record/record';
import {
  answer,
  AT,
  bracket,
  byDefault,
  detail,
  downHost,
  GIB,
  hard,
  host,
  HOSTILE_NAME,
  HOSTILE_OWNER,
  listed,
  noAnswer,
  pastUsage,
  peTask,
  queue,
  resource,
  row,
  snapshot,
  soft,
  taskDetail,
  usage,
  waiting,
} from './snapshots';

const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(NaN, Infinity, -1, 0, 1e300));
const count = fc.oneof(fc.integer({ min: -1, max: 9 }), fc.integer());
const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null });
const hostName = fc.oneof(
  fc.constantFrom(
    'node01',
    'NODE01',
    'node01.a',
    'node01.b',
    'node02',
    'node02.x.y',
    '10.0.0.1',
    '',
    '.',
    '@',
    HOSTILE_OWNER,
  ),
  fc.string(),
);
const name = fc.oneof(fc.string(), fc.constantFrom(HOSTILE_NAME, HOSTILE_OWNER, 'constructor', ''));
const jobNumber = fc.integer({ min: 1, max: 8 });
const taskNumber = orNull(fc.integer({ min: 1, max: 3 }));
const role = fc.constantFrom('MASTER', 'SLAVE', '');
const state = fc.constantFrom('r', 's', 'dr', 'Eqw', '', 'S', 't');
const text = fc.oneof(fc.constantFrom('1G', '0', 'INFINITY', '-4G', '', '4GB', '1e400'), fc.string());
const request = fc
  .tuple(text, fc.constantFrom('h_vmem', 'mem_free', ''), fc.constantFrom(hard, soft, byDefault))
  .map(([value, complex, make]) => make(value, complex));
const figures = fc
  .array(fc.tuple(fc.constantFrom('cpu', 'vmem', 'maxvmem', 'rss', 'maxrss'), number))
  .map((pairs) => new Map(pairs));

const anyRow: fc.Arbitrary<QhostJob> = fc
  .record({ task: taskNumber, name, owner: name, state, queueInstance: name, startedAt: orNull(number), role })
  .chain((changes) => jobNumber.map((job) => row(job, changes)));

const anyHost: fc.Arbitrary<QhostHost> = fc
  .tuple(
    hostName,
    fc.boolean(),
    fc.array(anyRow, { maxLength: 8 }),
    fc.array(fc.tuple(name, count, count, state)),
    fc.array(fc.tuple(fc.constantFrom('h_vmem', 'slots'), text, fc.constantFrom('hc', 'hl'))),
  )
  .map(([called, up, jobs, queues, resources]) =>
    (up ? host : downHost)(called, {
      jobs,
      queues: queues.map((queueFacts) => queue(...queueFacts)),
      resources: resources.map((facts) => resource(...facts)),
    }),
  );

const anyListed: fc.Arbitrary<ListedJob> = fc
  .record({
    tasks: orNull(fc.constantFrom('1', '2', '1-3:1', 'x', '', '2,3')),
    name,
    owner: name,
    state,
    startedAt: orNull(number),
    role,
    slots: orNull(count),
    requests: fc.array(request, { maxLength: 4 }),
    grantedPe: orNull(name),
  })
  .chain((changes) =>
    fc
      .tuple(
        jobNumber,
        orNull(
          fc.oneof(
            hostName.map((where) => `all.q@${where}`),
            fc.string(),
          ),
        ),
      )
      .map(([job, where]) => listed(job, where, changes)),
  );

const anyDetail: fc.Arbitrary<JobDetail> = fc
  .tuple(
    jobNumber,
    fc.array(
      fc.tuple(
        fc.integer({ min: 0, max: 3 }),
        figures,
        fc.array(fc.tuple(name, orNull(hostName), fc.boolean(), figures)),
      ),
      { maxLength: 3 },
    ),
    fc.array(fc.tuple(request, orNull(number)), { maxLength: 3 }),
    name,
  )
  .map(([job, tasks, requests, uid]) =>
    detail(
      job,
      tasks.map(([task, ofMaster, peTasks]) =>
        taskDetail(ofMaster, {
          task,
          peTasks: peTasks.map(([id, where, past, ofTask]) => peTask(id, ofTask, { host: where, past })),
        }),
      ),
      { uid, requests: requests.map(([asked, amount]) => ({ ...asked, amount })) },
    ),
  );

/** Any snapshot that the types allow, whether it makes sense or not. */
export const anySnapshot: fc.Arbitrary<Snapshot> = fc
  .record({
    dialect: fc.constantFrom(...DIALECTS),
    hosts: fc.array(anyHost, { maxLength: 5 }).map((hosts) => answer(hosts)),
    running: fc.array(anyListed, { maxLength: 8 }).map((rows) => answer(rows)),
    details: fc.oneof(
      fc.array(anyDetail, { maxLength: 8 }).map((details) => answer(details)),
      fc.constant(noAnswer<readonly JobDetail[]>([], 'qmaster is gone')),
    ),
    pending: orNull(fc.array(anyListed, { maxLength: 4 }).map((rows) => answer(rows))),
  })
  .map((changes) => snapshot(changes));

export const anyRecords: fc.Arbitrary<readonly JobRecord[]> = fc.array(
  fc
    .tuple(
      jobNumber,
      taskNumber,
      hostName,
      orNull(name),
      fc.record({
        start: fc.oneof(fc.constant(new Date(AT).toISOString()), fc.string()),
        step_seconds: fc.oneof(fc.constantFrom(1, 60), number),
        others: fc.constant({}),
        rss_bytes: fc.array(number, { maxLength: 30 }),
      }),
      orNull(number),
    )
    .map(([job_id, task_id, where, pe_task_id, series, upper]) => ({
      ...emptyRecord({ cluster: 'c', job_id, task_id, pe_task_id, host: where, run_id: 'x' }, 'running', 'root', AT),
      peak_rss: bracket(1, upper),
      series,
    })),
  { maxLength: 6 },
);

/** The truth about a running job. */
export interface TrueJob {
  readonly job: number;
  readonly owner: string;
  readonly pe: boolean;
  readonly firstTask: boolean;
  readonly perSlot: number | null;
  /** Slots and peaks (bytes) of its slave tasks by host, the master's host first. */
  readonly places: readonly { readonly host: string; readonly slots: number; readonly peaks: readonly number[] }[];
  readonly masterPeak: number;
  readonly past: number | null;
}

const names = ['node01', 'node02', 'node03', 'node04'];
const gib = fc.integer({ min: 0, max: 64 }).map((quarters) => quarters / 4);

const trueJob: fc.Arbitrary<Omit<TrueJob, 'job'>> = fc
  .tuple(
    fc.boolean(),
    fc.boolean(),
    orNull(fc.integer({ min: 1, max: 8 })),
    fc.shuffledSubarray(names, { minLength: 1 }),
    fc.array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.array(gib, { maxLength: 3 })), { minLength: 4, maxLength: 4 }),
    gib,
    orNull(gib),
    fc.constantFrom('alice', 'bob', HOSTILE_OWNER),
  )
  .map(([pe, firstTask, perSlot, hosts, shares, masterPeak, past, owner]) => ({
    owner,
    pe,
    firstTask,
    perSlot: perSlot === null ? null : perSlot * GIB,
    places: (pe ? hosts : hosts.slice(0, 1)).map((where, index) => {
      const [slots, peaks] = shares[index] ?? [1, []];
      return { host: where, slots: pe ? slots : 1, peaks: pe ? peaks.map((peak) => peak * GIB) : [] };
    }),
    masterPeak: masterPeak * GIB,
    past: pe && past !== null ? past * GIB : null,
  }));

export const trueJobs: fc.Arbitrary<readonly TrueJob[]> = fc
  .array(trueJob, { maxLength: 6 })
  .map((jobs) => jobs.map((job, index) => ({ ...job, job: 100 + index })));

/**
 * What qmaster answers about these jobs. All hosts have 64 GiB of h_vmem; their names are long in qhost, short
 * in task ids.
 */
export function truthfulSnapshot(jobs: readonly TrueJob[]): Snapshot {
  const hosts = names.map((called) => {
    const here = jobs.flatMap((job) =>
      job.places.filter((place) => place.host === called).map((place) => ({ job, place })),
    );
    const asked = here.reduce((sum, { job, place }) => sum + (job.perSlot ?? 0) * place.slots, 0);
    const used = here.reduce((sum, { place }) => sum + place.slots, 0);
    return host(`${called}.example.org`, {
      resources: [resource('h_vmem', `${64 - asked / GIB}G`)],
      queues: [queue('all.q', used, 64)],
      jobs: here.flatMap(({ job, place }) => rowsOf(job, place)),
    });
  });
  const running = jobs.map((job) =>
    listed(job.job, `all.q@${job.places[0]?.host ?? ''}.example.org`, {
      owner: job.owner,
      slots: job.places.reduce((sum, { slots }) => sum + slots, 0),
      grantedPe: job.pe ? 'mpi' : null,
      requests: job.perSlot === null ? [] : [hard(`${job.perSlot / GIB}G`)],
    }),
  );
  const details = jobs.map((job) => {
    const tasks = job.places.flatMap(({ host: where, peaks }) =>
      peaks.map((peak, index) => peTask(`${index + 1}.${where}`, usage(peak / GIB))),
    );
    const past = job.past === null ? [] : [pastUsage(usage(job.past / GIB, 0))];
    return detail(job.job, [taskDetail(usage(job.masterPeak / GIB), { peTasks: [...past, ...tasks] })], {
      owner: job.owner,
    });
  });
  return snapshot({ hosts: answer(hosts), running: answer(running), details: answer(details) });
}

function rowsOf({ job, owner, pe, firstTask, places }: TrueJob, place: TrueJob['places'][number]): readonly QhostJob[] {
  const master = place === places[0];
  const count = place.slots + (pe && master && !firstTask ? 1 : 0);
  return Array.from({ length: count }, (_, index) =>
    row(job, { owner, role: master && index === 0 ? 'MASTER' : 'SLAVE' }),
  );
}

/** Waiting jobs with requests of every form. */
export const someWaiting = fc
  .array(fc.array(request, { maxLength: 3 }), { maxLength: 5 })
  .map((requests) => requests.map((asked, index) => waiting(900 + index, { requests: asked })));
