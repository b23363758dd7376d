import { DAY_MS, GIB } from '../../base/units';
import { groupBy } from '../../base/group-by';
import { largestFirst } from '../../base/largest-first';
import type { SummaryGroup } from '../../accounting/summary';
import { jobsAtRisk, FULL_SHARE } from '../../live/at-risk';
import type { ClusterView, HostView, JobView } from '../../live/cluster-view';
import { peakOfPart, useOfPart } from '../../live/job-parts';
import type { Answer, Snapshot } from '../../live/snapshot';
import { largestOfKnown, sumOfKnown } from '../../base/known';
import type { NodeHeartbeat } from '../../record/node-status';
import type { Totals } from '../../record/totals';
import { unusedByGridEngine, unusedGibHours } from '../../report/records/unused';
import { family, figuresIn, single, type ExportedMetric, type Figure } from './metric';

/** What the server has done with PostgreSQL's inbox since it started. */
export interface InboxCounts {
  readonly settled: number;
  readonly unreadable: number;
}

/** Jobs that ended in the last 24 hours, and those that run; each with all of its time. */
export interface DaySums {
  readonly owner: readonly SummaryGroup[];
  readonly project: readonly SummaryGroup[];
  /** By name class: digits in which names differ are one `#`. */
  readonly job_name: readonly SummaryGroup[];
}

/** What /metrics is made from, restricted to what the caller may see; null: not known. */
interface ServerFigures {
  readonly snapshot: Snapshot | null;
  readonly view: ClusterView | null;
  readonly day: DaySums | null;
  /** The last heartbeat of each host. */
  readonly heartbeats: readonly NodeHeartbeat[];
  readonly accountingProblem: string | null;
  /** null: the server has no inbox to empty. */
  readonly inbox: InboxCounts | null;
  readonly version: string;
  /** ms since the epoch. */
  readonly startedAt: number;
  readonly nowMs: number;
  /** At most this many jobs have series of their own. */
  readonly mostJobs: number;
}

type ServerMetric = ExportedMetric<ServerFigures>;

const GIB_HOUR = GIB * 3600;

const things = figuresIn('');
const bytes = figuresIn('bytes');
const seconds = figuresIn('seconds');
const byteSeconds = figuresIn('byte_seconds');

const HOSTS: readonly ServerMetric[] = family<ServerFigures, HostView>({
  name: 'host',
  labels: ['host'],
  items: ({ view }) => view?.hosts ?? [],
  labelsOf: ({ name }) => [name],
  figures: [
    things('up', '1: its execd reports; 0: it is down', ({ up }) => Number(up)),
    things('processors', 'Processors, by Grid Engine', ({ processors }) => processors),
    things('load', 'Load of all processors together, by Grid Engine', ({ load }) => load),
    bytes('memory', 'Memory of the host, by Grid Engine', ({ memoryTotal }) => memoryTotal),
    bytes('memory_used', 'Memory of the host in use, by any process', ({ memoryUsed }) => memoryUsed),
    bytes('swap', 'Swap of the host', ({ swapTotal }) => swapTotal),
    bytes('swap_used', 'Swap in use', ({ swapUsed }) => swapUsed),
    things('slots', 'Slots of the queues on the host, at most its own complex slots', ({ slots }) => slots),
    things('slots_used', 'Slots of the host that jobs hold', ({ slotsUsed }) => slotsUsed),
    bytes(
      'capacity',
      'Memory of the host that jobs can request, if the complex is a consumable',
      ({ capacity }) => capacity,
    ),
    bytes('free', 'Memory of the host that jobs can still request', ({ free }) => free),
    bytes('jobs_requested', 'Memory requested by the jobs on the host', ({ requested }) => requested),
    bytes('jobs_peak', 'Peaks so far of the jobs on the host, added up', ({ peak }) => peak),
    bytes('jobs_used', 'Memory that the jobs on the host use now', ({ used }) => used),
    things('unlimited_jobs', 'Jobs on the host without a memory limit', ({ unlimited }) => unlimited),
    bytes('stranded', 'Free memory of the host if it has no free slot', ({ strandedMemory }) => strandedMemory),
    things('stranded_slots', 'Free slots of the host if it has no free memory', ({ strandedSlots }) => strandedSlots),
  ],
});

/** The sums over all instances of a queue. */
interface QueueSum {
  readonly name: string;
  readonly slots: number | null;
  readonly slotsUsed: number | null;
  readonly instances: number;
  readonly unavailable: number;
}

function queueSums({ view }: ServerFigures): readonly QueueSum[] {
  const queues = groupBy(view?.hosts.flatMap((host) => host.queues) ?? [], ({ name }) => name);
  return [...queues].map(([name, instances]) => ({
    name,
    slots: sumOfKnown(instances.map(({ slots }) => slots)),
    slotsUsed: sumOfKnown(instances.map(({ slotsUsed }) => slotsUsed)),
    instances: instances.length,
    unavailable: instances.filter(({ state }) => state !== '').length,
  }));
}

const QUEUES: readonly ServerMetric[] = family<ServerFigures, QueueSum>({
  name: 'queue',
  labels: ['queue'],
  items: queueSums,
  labelsOf: ({ name }) => [name],
  figures: [
    things('slots', 'Slots of all instances of the queue', ({ slots }) => slots),
    things('slots_used', 'Slots of the queue that jobs hold', ({ slotsUsed }) => slotsUsed),
    things('instances', 'Instances of the queue', ({ instances }) => instances),
    things(
      'instances_unavailable',
      'Instances of the queue that are disabled, suspended, in alarm, in error or unknown',
      (queue) => queue.unavailable,
    ),
  ],
});

const usedBy = ({ parts }: JobView): number | null => sumOfKnown(parts.map(useOfPart));

/** Of the peaks on its hosts; Grid Engine's own sum also counts ended tasks, of which no host is known any more. */
const peakOf = ({ parts, measure, maxvmem }: JobView): number | null =>
  largestOfKnown([sumOfKnown(parts.map(peakOfPart)), measure === 'cgroup' ? null : maxvmem]);

interface JobGroup {
  readonly key: string;
  readonly jobs: readonly JobView[];
}

const sumOver =
  (of: (job: JobView) => number | null) =>
  ({ jobs }: JobGroup): number | null =>
    sumOfKnown(jobs.map(of));

/** Sums over the running jobs of each owner, project or queue. */
function runningBy(name: string, keyOf: (job: JobView) => string): readonly ServerMetric[] {
  return family<ServerFigures, JobGroup>({
    name,
    labels: [name],
    items: ({ view }) => [...groupBy(view?.jobs ?? [], keyOf)].map(([key, jobs]) => ({ key, jobs })),
    labelsOf: ({ key }) => [key],
    figures: [
      things('running_jobs', 'Running jobs and array tasks', ({ jobs }) => jobs.length),
      things(
        'running_slots',
        'Slots that running jobs hold',
        sumOver(({ slots }) => slots),
      ),
      bytes(
        'running_limit',
        'Memory limits of running jobs, added up',
        sumOver(({ limit }) => limit),
      ),
      bytes('running_used', 'Memory that running jobs use now', sumOver(usedBy)),
      bytes('running_peak', 'Peaks so far of running jobs, added up', sumOver(peakOf)),
      things(
        'running_unlimited_jobs',
        'Running jobs without a memory limit',
        ({ jobs }) => jobs.filter(({ limitState }) => limitState === 'unlimited').length,
      ),
    ],
  });
}

interface DaySum extends Totals {
  readonly key: string | null;
}

/** Sums over the records of the last 24 hours: memory requested, used and unused. */
function lastDayBy(name: keyof DaySums): readonly ServerMetric[] {
  return family<ServerFigures, DaySum>({
    name,
    labels: [name],
    items: ({ day }) => day?.[name].map(({ key, totals }) => ({ ...totals, key })) ?? [],
    labelsOf: ({ key }) => [key ?? ''],
    figures: [
      things('day_jobs', 'Jobs and array tasks that ended in the last 24 hours, or run now', ({ jobs }) => jobs),
      things('day_failed_records', 'Records of jobs that ended badly in the last 24 hours', ({ failed }) => failed),
      things(
        'day_killed_by_memory_records',
        'Records of jobs that memory ended in the last 24 hours',
        (sum) => sum.killed_by_memory,
      ),
      things('day_unsampled_records', 'Records of the last 24 hours without a sample', ({ unsampled }) => unsampled),
      things(
        'day_far_below_records',
        'Records of the last 24 hours with a peak far below the limit',
        (sum) => sum.far_below,
      ),
      byteSeconds(
        'day_requested',
        'Memory requested by the jobs of the last 24 hours, x elapsed time',
        (sum) => sum.requested_gib_hours * GIB_HOUR,
      ),
      byteSeconds(
        'day_used',
        'Memory used by the jobs of the last 24 hours, over time',
        (sum) => sum.used_gib_hours * GIB_HOUR,
      ),
      byteSeconds(
        'day_peak',
        'Peaks of memory of the jobs of the last 24 hours, x elapsed time',
        (sum) => sum.peak_gib_hours * GIB_HOUR,
      ),
      byteSeconds(
        'day_unused',
        'Memory requested and never used by the jobs of the last 24 hours, of records with a peak',
        (sum) => unusedGibHours(sum) * GIB_HOUR,
      ),
      byteSeconds(
        'day_unused_by_grid_engine',
        "Memory requested above Grid Engine's figure (maxvmem) by the jobs of the last 24 hours, of records without a peak",
        (sum) => unusedByGridEngine(sum) * GIB_HOUR,
      ),
      seconds('day_cpu', 'CPU time of the jobs of the last 24 hours', (sum) => sum.cpu_seconds),
      seconds('day_slot', 'Elapsed time x slots of the jobs of the last 24 hours', (sum) => sum.slot_seconds),
    ],
  });
}

const QUERIES = ['hosts', 'running', 'details', 'pending'] as const;
interface NamedAnswer extends Pick<Answer<unknown>, 'at' | 'problem'> {
  readonly name: string;
  readonly nowMs: number;
}

/** Figures of qmaster's answers, by what was asked. */
const answerFigures = (name: string, figures: readonly Figure<NamedAnswer>[]): readonly ServerMetric[] =>
  family<ServerFigures, NamedAnswer>({
    name,
    labels: ['query'],
    items: ({ snapshot, nowMs }) =>
      QUERIES.flatMap((query) => {
        const answer = snapshot?.[query] ?? null;
        return answer === null ? [] : [{ name: query, at: answer.at, problem: answer.problem, nowMs }];
      }),
    labelsOf: (answer) => [answer.name],
    figures,
  });

const age = (at: number | null | undefined, nowMs: number): number | null =>
  at === null || at === undefined ? null : Math.max(0, (nowMs - at) / 1000);

const SECONDS = { unit: 'seconds' } as const;

/** The health of qmemacct itself. */
const HEALTH: readonly ServerMetric[] = [
  {
    name: 'qmemacct_build_info',
    type: 'gauge',
    unit: '',
    help: 'Always 1; the version is its label',
    labels: ['version'],
    samples: ({ version }) => [{ labels: [version], value: 1 }],
  },
  single(
    'start_time_seconds',
    SECONDS,
    'When the server started, since the epoch',
    ({ startedAt }) => startedAt / 1000,
  ),
  ...answerFigures('snapshot', [
    seconds('age', "Age of qmaster's last good answer; details: the usage of running jobs", ({ at, nowMs }) =>
      age(at, nowMs),
    ),
  ]),
  ...answerFigures('query', [
    things('failing', '1: the last try to ask qmaster failed; 0: it did not', ({ problem }) =>
      Number(problem !== null),
    ),
  ]),
  single(
    'sampler_oldest_age_seconds',
    SECONDS,
    'Age of the oldest figures that samplers have delivered of a running job',
    ({ view, nowMs }) => age(view?.times.oursOldest, nowMs),
  ),
  single(
    'sampler_newest_age_seconds',
    SECONDS,
    'Age of the newest figures that samplers have delivered of a running job',
    ({ view, nowMs }) => age(view?.times.oursNewest, nowMs),
  ),
  single('running_jobs', {}, 'Running jobs and array tasks', ({ view }) => view?.jobs.length ?? null),
  single(
    'running_sampled_jobs',
    {},
    'Running jobs and array tasks of which samplers have delivered figures',
    ({ view }) => view?.jobs.filter(({ ours }) => ours !== null).length ?? null,
  ),
  single(
    'at_risk_jobs',
    {},
    'Jobs at their limit, or that reach it within a day at their present growth',
    ({ view, nowMs }) =>
      view === null ? null : jobsAtRisk(view, { withinMs: DAY_MS, nowMs, share: FULL_SHARE }).length,
  ),
  single('accounting_up', {}, '1: the accounting DB can be read; 0: it can not', (source) =>
    Number(source.accountingProblem === null),
  ),
  single(
    'inbox_settled_records_total',
    { type: 'counter' },
    "Records moved from PostgreSQL's inbox into its table",
    ({ inbox }) => inbox?.settled ?? null,
  ),
  single(
    'inbox_unreadable_records_total',
    { type: 'counter' },
    'Records in the inbox that could not be read',
    ({ inbox }) => inbox?.unreadable ?? null,
  ),
];

const sinceTime = (time: string | null, nowMs: number): number | null =>
  age(time === null ? null : Date.parse(time), nowMs);

/** From the last heartbeat of each host. */
const HEARTBEATS: readonly ServerMetric[] = [
  {
    name: 'qmemacct_heartbeat_info',
    type: 'gauge',
    unit: '',
    help: 'Always 1; how qmemacct is installed on the host',
    labels: ['cluster', 'host', 'version', 'scope'],
    samples: ({ heartbeats }) =>
      heartbeats.map(({ cluster, host, version, scope }) => ({ labels: [cluster, host, version, scope], value: 1 })),
  },
  ...family<ServerFigures, { readonly heartbeat: NodeHeartbeat; readonly nowMs: number }>({
    name: 'heartbeat',
    labels: ['cluster', 'host'],
    items: ({ heartbeats, nowMs }) => heartbeats.map((heartbeat) => ({ heartbeat, nowMs })),
    labelsOf: ({ heartbeat: { cluster, host } }) => [cluster, host],
    figures: [
      seconds('age', 'Age of the last heartbeat of the host', ({ heartbeat, nowMs }) =>
        sinceTime(heartbeat.heartbeat_at, nowMs),
      ),
      things('waiting_records', 'Records that wait on the host for delivery', ({ heartbeat }) => heartbeat.waiting),
      seconds('waiting_age', 'Age of the oldest record that waits on the host', ({ heartbeat, nowMs }) =>
        sinceTime(heartbeat.waiting_since, nowMs),
      ),
      things(
        'refused_records',
        'Records of the host that the accounting DB refused for good',
        ({ heartbeat }) => heartbeat.refused,
      ),
      seconds('job_age', 'Time since a job was last measured on the host', ({ heartbeat, nowMs }) =>
        sinceTime(heartbeat.last_job_at, nowMs),
      ),
      things(
        'listener',
        '1: the listener of the host runs; 0: it does not, and should',
        ({ heartbeat: { listener } }) => (listener === null ? null : Number(listener)),
      ),
      things('disabled', '1: the hooks of the host are switched off', ({ heartbeat }) => Number(heartbeat.disabled)),
      things(
        'failing_sources',
        'Data sources that fail on the host',
        ({ heartbeat }) => heartbeat.failing_sources.length,
      ),
      seconds(
        'clock_offset',
        "The host's clock minus that of the accounting DB",
        ({ heartbeat }) => heartbeat.clock_offset_seconds,
      ),
    ],
  }),
];

/** The jobs that use most memory, as many as the site allows. */
function largestJobs({ view, mostJobs }: ServerFigures): readonly JobView[] {
  if (view === null || mostJobs === 0) return [];
  return largestFirst(view.jobs, (job) => usedBy(job) ?? 0).slice(0, mostJobs);
}

/** Only if `metrics_jobs` is set, as each job number makes new series that are never used again. */
const JOBS: readonly ServerMetric[] = family<ServerFigures, JobView>({
  name: 'job',
  labels: ['job_id', 'task', 'owner', 'queue'],
  items: largestJobs,
  labelsOf: ({ job, task, owner, queue }) => [String(job), task === null ? '' : String(task), owner, queue],
  figures: [
    things('slots', 'Slots of the job (metrics_jobs)', ({ slots }) => slots),
    bytes('limit', 'Memory limit of the whole job (metrics_jobs)', ({ limit }) => limit),
    bytes('used', 'Memory that the job uses now (metrics_jobs)', usedBy),
    bytes('peak', 'Peak so far of the job (metrics_jobs)', peakOf),
  ],
});

/** The metrics of the server's /metrics, in order. */
export const SERVER_METRICS: readonly ServerMetric[] = [
  ...HEALTH,
  ...HEARTBEATS,
  ...HOSTS,
  ...QUEUES,
  ...runningBy('owner', ({ owner }) => owner),
  ...runningBy('project', ({ project }) => project ?? ''),
  ...runningBy('queue', ({ queue }) => queue),
  ...lastDayBy('owner'),
  ...lastDayBy('project'),
  ...lastDayBy('job_name'),
  ...JOBS,
];
