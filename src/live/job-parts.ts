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

/** What is common to making all parts of a view. */
export interface PartContext {
  readonly dialect: Dialect;
  readonly rules: RequestRules;
  readonly perOf: PerOf;
  /** The hosts' consumable memory complex; null: no host has one. */
  readonly consumable: string | null;
  readonly nowMs: number;
  readonly nameOf: HostNames;
  readonly recordsOf: RecordsOfPart;
}

/** Facts about the job that each of its parts repeats. */
interface PartOf {
  readonly owner: string;
  readonly name: string;
  readonly state: string;
  readonly startedAt: number | null;
  readonly limit: MemoryLimit;
  /** The request that takes memory from hosts (0: takes none); it may differ from the one that sets the limit. */
  readonly reserved: Pick<RequestView, 'complex' | 'bytes'> | null;
  /** The master and slave tasks' own requests; they take the memory if `reserved` does not. */
  readonly scoped: ScopedRequests;
}

/** A job's parts, one for each of its hosts, the master host's first; empty: it is not known where the job runs. */
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
    // A task whose host is not known counts on the master's host.
    const here = tasks.filter((task) => {
      const host = hostOfTask(task);
      return host === null ? place.master : host === place.host;
    });
    return jobPart(job, facts, { ...place, tasks: here, alone: placed.length === 1 }, context);
  });
}

/** What belongs to one of a job's parts. */
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

/** The trend of the sum over the job's processes on a host, as execd compares this sum with the limit. */
function trendOfPart(records: readonly JobRecord[], limit: number | null, nowMs: number): Trend | null {
  const together = sumOfSeries(records.map((record) => ({ series: record.series, to: endOf(record) })));
  if (together === null) return null;
  const seenAt = records.reduce((latest, { revision }) => Math.max(latest, revision), 0);
  // Samples have times of the host's clock, which may be ahead of ours.
  const ahead = Math.max(0, seenAt - nowMs);
  const trend = trendOf(together.series, limit, nowMs + ahead, seenAt);
  const ours = (at: number | null): number | null => at && at - ahead;
  return (
    trend && { ...trend, limitAt: ours(trend.limitAt), earliest: ours(trend.earliest), latest: ours(trend.latest) }
  );
}

/**
 * A job's peak on the host: the largest of all figures; null: there are none. Ended tasks count only if the job has a
 * single host, as Grid Engine no longer tells where they ran.
 */
export function peakOfPart(part: JobPart): number | null {
  const { masterMaxvmem, tasks, pastMaxvmem, alone, ours } = part;
  const past = alone ? pastMaxvmem : null;
  const reported = sumOfKnown([masterMaxvmem, ...tasks.map(({ maxvmem }) => maxvmem), past]);
  return largestOfKnown([hasOurs(part) ? null : reported, ours?.lower ?? null, ours?.rss ?? null]);
}

/** Whether only our own figures count: a cgroup's memory includes page cache, which the kernel frees before killing. */
const hasOurs = ({ measure, ours }: JobPart): boolean => measure === 'cgroup' && ours?.rss != null;

/** A part of a job, its peak there, and the peak's share of the limit there (null: no limit). */
interface PartPeak {
  readonly part: JobPart;
  readonly peak: number;
  readonly share: number | null;
}

/**
 * The part of a job that came nearest to its own limit, as Grid Engine and the kernel enforce limits on each host
 * separately. null: no part's peak is known.
 */
export function fullestPart(parts: readonly JobPart[]): PartPeak | null {
  const peaks = parts.flatMap((part): PartPeak[] => {
    const peak = peakOfPart(part);
    return peak === null ? [] : [{ part, peak, share: shareOf(peak, part.limit) }];
  });
  return peaks.sort((a, b) => (b.share ?? -1) - (a.share ?? -1) || b.peak - a.peak)[0] ?? null;
}

/** The memory that a part uses now: the largest of all figures; null: there are none. */
export function useOfPart(part: JobPart): number | null {
  const { masterVmem, tasks, ours } = part;
  const reported = sumOfKnown([masterVmem, ...tasks.map(({ vmem }) => vmem)]);
  return largestOfKnown([hasOurs(part) ? null : reported, ours?.rss ?? null]);
}
