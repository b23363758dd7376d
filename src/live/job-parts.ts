import { bytesForSlots } from '../gridengine/memory-request';
import { shareOf } from '../record/peak-figure';
import { endOf } from '../record/record-end';
import { sumOfSeries } from '../record/sum-of-series';
import type { Dialect } from '../gridengine/dialect';
import type { PeTaskDetail } from '../gridengine/qstat/job-detail';
import type { JobRecord } from '../record/record';
import type { JobPart, PartTask, RequestView, Trend } from './cluster-view';
import type { HostNames } from '../gridengine/host-names';
import { figuresOfPart, type RecordsOfPart } from './our-figures';
import type { RequestRules } from '../record/request-rules';
import type { MemoryLimit, PerOf, ScopedRequests } from './requests';
import type { RunningJob } from './running-jobs';
import { slotsByHost, type HostSlots } from './slots-by-host';
import { trendOf } from './trend';
import { largestOfKnown, sumOfKnown } from '../base/known';
import { measureOf, usageMemory, type UsageMemory } from './usage-memory';

/** What all parts of a view are made with. */
export interface PartContext {
  readonly dialect: Dialect;
  readonly rules: RequestRules;
  readonly perOf: PerOf;
  /** What hosts have of memory to reserve; null: none of them has any. */
  readonly consumable: string | null;
  readonly nowMs: number;
  readonly nameOf: HostNames;
  readonly recordsOf: RecordsOfPart;
}

/** The facts of the job that each of its parts repeats. */
interface PartOf {
  readonly owner: string;
  readonly name: string;
  readonly state: string;
  readonly startedAt: number | null;
  readonly limit: MemoryLimit;
  /** The request that takes memory from hosts, one of 0 nothing: it may be another one than the limit. */
  readonly reserved: Pick<RequestView, 'complex' | 'bytes'> | null;
  /** What takes it where that does not. */
  readonly scoped: ScopedRequests;
}

/** What a job has on each of its hosts, the master's first; none: nobody says where it runs. */
export function jobParts(job: RunningJob, facts: PartOf, context: PartContext): readonly JobPart[] {
  const tasks = job.taskDetail?.peTasks ?? [];
  const hostOfTask = (task: PeTaskDetail): string | null => {
    const host = task.past ? null : (task.host ?? /^[^.]+\.(.+)$/.exec(task.id)?.[1]);
    return host == null || host === '' ? null : context.nameOf(host);
  };
  const placed = slotsByHost({
    rows: job.rows,
    granted: job.granted,
    elsewhere: [...new Set([...job.listedHosts, ...tasks.flatMap((task) => hostOfTask(task) ?? [])])],
  });
  return placed.map((place) => {
    // A task of which nobody knows the host is kept where the master is.
    const here = tasks.filter((task) => {
      const host = hostOfTask(task);
      return host === null ? place.master : host === place.host;
    });
    return jobPart(job, facts, { ...place, tasks: here, alone: placed.length === 1 }, context);
  });
}

/** What of a job's parts belongs to one of them. */
interface PartShare {
  readonly tasks: readonly PeTaskDetail[];
  readonly alone: boolean;
}

function jobPart(
  job: RunningJob,
  facts: PartOf,
  { host, slots, slaves, master, tasks, alone }: HostSlots & PartShare,
  context: PartContext,
): JobPart {
  const memoryOf = ({ usage }: { readonly usage: PeTaskDetail['usage'] }): UsageMemory =>
    usageMemory(usage, context.dialect);
  const bytesHere = (request: Pick<MemoryLimit, 'complex' | 'bytes'>): number | null =>
    request.bytes === null || context.perOf(request.complex) !== 'slot'
      ? request.bytes
      : bytesForSlots(request.bytes, slots);
  const { limit, reserved, scoped } = facts;
  const per = context.perOf(reserved?.complex ?? context.consumable);
  const ofTasksHere = (master ? scoped.master : 0) + scoped.slave * (per === 'slot' ? slaves : Math.min(1, slaves));
  const running = tasks.filter(({ past }) => !past);
  const ofTasks = running.map((task) => ({ id: task.id, ...memoryOf(task) }));
  const past = tasks.filter((task) => task.past).map(memoryOf);
  const ofMaster = master && job.taskDetail !== null ? memoryOf(job.taskDetail) : null;
  const bytes = bytesHere(limit);
  const taken = reserved === null || reserved.bytes === 0 ? null : bytesHere(reserved);
  const records = context.recordsOf({ job: job.job, task: job.task, host }, facts.startedAt);
  return {
    host,
    job: job.job,
    task: job.task,
    owner: facts.owner,
    name: facts.name,
    slots,
    master,
    alone,
    limit: bytes,
    limitState: limit.state,
    reserved: per === 'job' && !master ? 0 : (taken ?? ofTasksHere),
    masterMaxvmem: ofMaster?.maxvmem ?? null,
    masterVmem: ofMaster?.vmem ?? null,
    tasks: ofTasks.map(({ id, maxvmem, vmem }): PartTask => ({ id, maxvmem, vmem })),
    measure: measureOf(ofMaster === null ? ofTasks : [ofMaster, ...ofTasks]),
    pastMaxvmem: sumOfKnown(past.map(({ maxvmem }) => maxvmem)),
    ours: figuresOfPart(records, { master, tasks: running.length, past: past.length > 0 }),
    trend: /[sST]/.test(facts.state) ? null : trendOfPart(records, bytes, context.nowMs),
  };
}

/** What execd compares with the limit is the sum of all processes of the job on the host. */
function trendOfPart(records: readonly JobRecord[], limit: number | null, nowMs: number): Trend | null {
  const together = sumOfSeries(records.map((record) => ({ series: record.series, to: endOf(record) })));
  if (together === null) return null;
  const seenAt = records.reduce((latest, { revision }) => Math.max(latest, revision), 0);
  // The samples have the times of the host's clock, which may be ahead of ours.
  const ahead = Math.max(0, seenAt - nowMs);
  const trend = trendOf(together.series, limit, nowMs + ahead, seenAt);
  const ours = (at: number | null): number | null => at && at - ahead;
  return (
    trend && { ...trend, limitAt: ours(trend.limitAt), earliest: ours(trend.earliest), latest: ours(trend.latest) }
  );
}

/**
 * What a job has used at most on the host: the largest that anybody says; null: nobody. Of tasks that have ended Grid
 * Engine no longer says where they ran, so they count only where there is but one host.
 */
export function peakOfPart(part: JobPart): number | null {
  const { masterMaxvmem, tasks, pastMaxvmem, alone, ours } = part;
  const past = alone ? pastMaxvmem : null;
  const reported = sumOfKnown([masterMaxvmem, ...tasks.map(({ maxvmem }) => maxvmem), past]);
  return largestOfKnown([hasOurs(part) ? null : reported, ours?.lower ?? null, ours?.rss ?? null]);
}

/** Whether our own figures alone count: a unit's memory has the page cache in it, which goes before anybody is killed. */
const hasOurs = ({ measure, ours }: JobPart): boolean => measure === 'cgroup' && ours?.rss != null;

/** A part of a job, what is known that it held at most there, and its share of the limit there (null: no limit). */
interface PartPeak {
  readonly part: JobPart;
  readonly peak: number;
  readonly share: number | null;
}

/**
 * The part of a job that came nearest to its own limit: Grid Engine and the kernel look at each host by itself.
 * null: nobody says what any part held.
 */
export function fullestPart(parts: readonly JobPart[]): PartPeak | null {
  const peaks = parts.flatMap((part): PartPeak[] => {
    const peak = peakOfPart(part);
    return peak === null ? [] : [{ part, peak, share: shareOf(peak, part.limit) }];
  });
  return peaks.sort((a, b) => (b.share ?? -1) - (a.share ?? -1) || b.peak - a.peak)[0] ?? null;
}

/** What it uses there now: the larger of what is said; null: nobody says. */
export function useOfPart(part: JobPart): number | null {
  const { masterVmem, tasks, ours } = part;
  const reported = sumOfKnown([masterVmem, ...tasks.map(({ vmem }) => vmem)]);
  return largestOfKnown([hasOurs(part) ? null : reported, ours?.rss ?? null]);
}
