import { groupBy } from '../base/group-by';
import { hostLabel } from '../gridengine/host-names';
import { largestOfKnown, sumOfAll, sumOfKnown } from '../base/known';
import type { Bracket, JobRecord, MemorySeries, OpenReason, RecordStatus } from '../record/record';
import { bytesForSlots } from '../gridengine/memory-request';
import { largestOfBrackets, sumOfBrackets, type Part } from '../record/bracket-sum';
import { activeSeconds, shareOfSlots } from '../record/efficiency';
import { figureOf, shareOfLimit } from '../record/peak-figure';
import { endOf } from '../record/record-end';
import { limitOf, requestOf } from '../record/request';
import type { JobAttempt } from './store';
import { sumOfSeries } from '../record/sum-of-series';

/**
 * A parallel job as a whole: what the records of one of its runs (the master's, and one for each task that was started
 * on a host) say together. Records of other runs of the job are never added. Part of the published contract (schema 1).
 *
 * It covers only tasks that were recorded. Where a host or a task is known to be without a record, `open` of each peak
 * says so ("unseen-host", "unseen-task") and its upper end is null; a task that left no trace at all is not counted.
 */
export interface JobSum extends Peaks {
  readonly cluster: string;
  readonly job_id: number;
  readonly task_id: number | null;
  readonly attempt: number;
  /** The master's; without its record "running" while any task runs, else the least certain status of a task. */
  readonly status: RecordStatus;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Of all hosts. */
  readonly slots: number | null;
  /** What is requested for the whole job: request x slots, x hosts for a consumable HOST, or once for JOB; null: none, or unknown. */
  readonly limit_bytes: number | null;
  readonly wallclock_seconds: number | null;
  /** Time in which it was suspended on all hosts that were sampled; null: on none. */
  readonly suspended_seconds: number | null;
  readonly cpu_seconds: number | null;
  /** CPU time over wallclock (suspended time left out) x the slots of the hosts that were seen. */
  readonly cpu_efficiency: number | null;
  /** Of the fullest host: its peak_rss.lower_bytes over its own limit, as Grid Engine limits each host by itself. */
  readonly memory_efficiency: number | null;
  readonly processes: number | null;
  readonly read_bytes: number | null;
  readonly written_bytes: number | null;
  readonly rss_byte_seconds: number | null;
  /** The highest sum of what was sampled on all hosts at one time: an estimate, within the ends of peak_rss. */
  readonly together_rss_bytes: number | null;
  /** That sum over time: an estimate, too. */
  readonly series: MemorySeries | null;
  /** In the order in which they were granted, including those without a record (`seen` false). */
  readonly hosts: readonly HostSum[];
  /** Slave tasks without a record: a task with a higher number was recorded on the same host. */
  readonly unseen_tasks: number;
  /** By peak_rss per slot, and by CPU time per slot; null: fewer than two hosts to compare. */
  readonly memory_imbalance: Imbalance | null;
  readonly cpu_imbalance: Imbalance | null;
}

/** All of a job's tasks on one host. */
export interface HostSum extends Peaks {
  readonly host: string;
  /** Granted there; if the master's record does not say, the most that a record of the host says. */
  readonly slots: number | null;
  /** Whether the host has a record; if not, either nothing of the job ran there or it was not sampled. */
  readonly seen: boolean;
  /** Whether the job's master ran here. */
  readonly master: boolean;
  /** Recorded tasks (`qrsh -inherit`), beside the master. */
  readonly tasks: number;
  /** What is requested on this host: request x slots, or the request for a consumable HOST; for JOB on the master's host alone. */
  readonly limit_bytes: number | null;
  readonly cpu_seconds: number | null;
  /** CPU time over the wallclock of the whole job (time in which it was suspended here left out) x slots. */
  readonly cpu_efficiency: number | null;
  /** peak_rss.lower_bytes over limit_bytes. */
  readonly memory_efficiency: number | null;
}

/** Sums over address spaces of all tasks, as brackets; peak_process_vmem is the largest of any process. */
export interface Peaks {
  readonly peak_rss: Bracket | null;
  readonly peak_rss_swap: Bracket | null;
  readonly peak_vmem: Bracket | null;
  readonly peak_process_vmem: Bracket | null;
  readonly peak_footprint: Bracket | null;
}

export interface Imbalance {
  readonly most: string;
  readonly least: string;
  /** The load per slot of `most` over that of `least`; null: `least` has no load. */
  readonly ratio: number | null;
}

/** A record, and to which run of its job it belongs. */
type SummedRun = Pick<JobAttempt, 'record' | 'attempt' | 'incarnation'>;

/** How much the times in a record may be off by its host's own clock. */
const SAME_CLOCK_MS = 100;

const STATUS_ORDER: readonly RecordStatus[] = ['running', 'lost', 'unsampled', 'finished'];

/** Whether the records of one run are of a job with several parts: hosts, or tasks beside the master. */
export function isParallel(records: readonly JobRecord[]): boolean {
  return records.length > 1 || records.some(({ granted_hosts: hosts }) => (hosts?.length ?? 0) > 1);
}

/** The sums of all parallel jobs (array tasks, runs) among these records; none for the others. */
export function jobSums(runs: readonly SummedRun[]): readonly JobSum[] {
  const groups = groupBy(runs, ({ record: { cluster, job_id: job, task_id: task }, incarnation, attempt }) =>
    [incarnation, job, task ?? '', attempt, cluster].join(' '),
  );
  return [...groups.values()].flatMap((group) => {
    const records = group.map(({ record }) => record);
    return isParallel(records) ? [sumOfJob(records, group[0]?.attempt ?? 1)] : [];
  });
}

/** What the records of one run of one job (or array task) say together. Throws RangeError without a record. */
export function sumOfJob(records: readonly JobRecord[], attempt = 1): JobSum {
  const master = records.find(({ pe_task_id: task }) => task === null);
  const first = master ?? records[0];
  if (first === undefined) throw new RangeError('a job without any record');
  const wallclock = master?.wallclock_seconds ?? spanSeconds(records);
  const groups = recordsByHost(records);
  const hosts = groups.map((group) => sumOfHost(group, first, wallclock));
  const seen = hosts.filter((host) => host.seen);
  const unseenTasks = groups.reduce((sum, group) => sum + unseenIn(group.records), 0);
  const missing: OpenReason[] = [
    ...(seen.length < hosts.length ? ['unseen-host' as const] : []),
    ...(unseenTasks > 0 ? ['unseen-task' as const] : []),
  ];
  const peaks = peaksOf(
    groups.flatMap(({ host, records: ofHost }) => ofHost.map((record) => ({ host, record }))),
    missing,
  );
  const slots = sumOfAll(hosts.map((host) => host.slots)) ?? first.slots;
  const seenSlots = sumOfAll(seen.map((host) => host.slots));
  const limit = limitOfJob(first, hosts, slots);
  const together = sumOfSeries(records.map((record) => ({ series: record.series, to: endOf(record) })));
  const suspended = suspendedIn(records, wallclock);
  const cpu = sumOfKnown(records.map((record) => record.cpu_seconds));
  return {
    cluster: first.cluster,
    job_id: first.job_id,
    task_id: first.task_id,
    attempt,
    status:
      master?.status ?? STATUS_ORDER.find((status) => records.some((record) => record.status === status)) ?? 'lost',
    started_at: master?.started_at ?? textOf(least(timesOf(records, 'started_at'))),
    ended_at: master?.ended_at ?? (master === undefined ? textOf(greatest(timesOf(records, 'ended_at'))) : null),
    slots,
    limit_bytes: limit,
    wallclock_seconds: wallclock,
    suspended_seconds: suspended,
    cpu_seconds: cpu,
    cpu_efficiency: shareOfSlots(
      { cpu_seconds: cpu, wallclock_seconds: wallclock, suspended_seconds: suspended },
      seenSlots ?? (records.every(({ trust }) => trust === 'accounting') ? slots : null),
    ),
    memory_efficiency: largestOfKnown(hosts.map((host) => host.memory_efficiency)),
    processes: sumOfKnown(records.map((record) => record.processes)),
    read_bytes: sumOfKnown(records.map((record) => record.read_bytes)),
    written_bytes: sumOfKnown(records.map((record) => record.written_bytes)),
    rss_byte_seconds: sumOfKnown(records.map((record) => record.rss_byte_seconds)),
    ...peaks,
    together_rss_bytes: together === null ? null : within(together.highest, peaks.peak_rss),
    series: together?.series ?? null,
    hosts,
    unseen_tasks: unseenTasks,
    memory_imbalance: imbalance(seen, ({ peak_rss: peak }) => peak && figureOf(peak)),
    cpu_imbalance: imbalance(seen, (host) => host.cpu_seconds),
  };
}

/** The records of one host. */
interface HostGroup {
  readonly host: string;
  /** Slots; null: unknown. */
  readonly granted: number | null;
  readonly records: readonly JobRecord[];
}

/**
 * Granted hosts first, in their order, then others that have records: a record's own name for its host may be longer or
 * shorter than the granted one.
 */
export function recordsByHost(records: readonly JobRecord[]): readonly HostGroup[] {
  const granted = records.find(({ pe_task_id: task }) => task === null)?.granted_hosts ?? [];
  const groups = new Map<string, HostGroup & { readonly records: JobRecord[] }>();
  for (const { host, slots } of granted) groups.set(host, { host, granted: slots, records: [] });
  const nameOf = hostNames([...groups.keys()]);
  for (const record of records) {
    const host = nameOf(record.host);
    const group = groups.get(host) ?? { host, granted: null, records: [] };
    groups.set(host, group);
    group.records.push(record);
  }
  return [...groups.values()];
}

/** A host's name as it was granted: equal but for case, or the only granted one with that first label. */
function hostNames(granted: readonly string[]): (name: string) => string {
  const exact = new Map(granted.map((host) => [host.toLowerCase(), host]));
  const byLabel = new Map<string, string | null>();
  for (const host of exact.values()) byLabel.set(hostLabel(host), byLabel.has(hostLabel(host)) ? null : host);
  return (name) => exact.get(name.toLowerCase()) ?? byLabel.get(hostLabel(name)) ?? name;
}

function sumOfHost(group: HostGroup, first: JobRecord, wallclock: number | null): HostSum {
  const { host, records } = group;
  const master = records.some(({ pe_task_id: task }) => task === null);
  const slots = group.granted ?? heldSlots(records);
  const peaks = peaksOf(
    records.map((record) => ({ host, record })),
    unseenIn(records) > 0 ? ['unseen-task'] : [],
  );
  const limit = limitOnHost(first, records, slots, master);
  const cpu = sumOfKnown(records.map((record) => record.cpu_seconds));
  return {
    host,
    slots,
    seen: records.length > 0,
    master,
    tasks: records.filter(({ pe_task_id: task }) => task !== null).length,
    limit_bytes: limit,
    cpu_seconds: cpu,
    cpu_efficiency: shareOfSlots(
      { cpu_seconds: cpu, wallclock_seconds: wallclock, suspended_seconds: suspendedIn(records, wallclock) },
      slots,
    ),
    memory_efficiency: shareOfLimit(peaks.peak_rss, limit),
    ...peaks,
  };
}

/** Slots of a host whose grant is not known, by its records: the number of tasks and the other hosts tell nothing. */
const heldSlots = (records: readonly JobRecord[]): number | null =>
  largestOfKnown(records.map(({ host_slots: slots }) => slots));

function limitOnHost(
  first: JobRecord,
  records: readonly JobRecord[],
  slots: number | null,
  master: boolean,
): number | null {
  const asked = requestOf(first);
  if (asked?.request_bytes != null) {
    if (asked.per === 'job') return master ? asked.request_bytes : null;
    if (asked.per === 'host') return asked.limit_bytes;
    if (asked.limit_bytes !== null && slots !== null) return bytesForSlots(asked.request_bytes, slots);
  }
  // A record made from an accounting line alone has the limit of all hosts.
  return largestOfKnown(records.map((record) => (isOfAllHosts(record) ? null : limitOf(record))));
}

const isOfAllHosts = ({ trust, host_slots: slots }: JobRecord): boolean => trust === 'accounting' && slots === null;

function limitOfJob(first: JobRecord, hosts: readonly HostSum[], slots: number | null): number | null {
  const asked = requestOf(first);
  if (asked?.request_bytes != null && asked.limit_bytes !== null && asked.per !== 'host')
    return asked.per === 'job'
      ? asked.request_bytes
      : slots === null
        ? null
        : bytesForSlots(asked.request_bytes, slots);
  return sumOfAll(hosts.map((host) => host.limit_bytes));
}

/** Tasks without a record: they are numbered from 1 on each host (`3.node02`), so a missing number was a task, too. */
function unseenIn(records: readonly JobRecord[]): number {
  const numbers = new Set(records.flatMap(({ pe_task_id: task }) => /^([1-9]\d{0,8})\./.exec(task ?? '')?.[1] ?? []));
  return [...numbers].reduce((most, number) => Math.max(most, Number(number)), 0) - numbers.size;
}

function peaksOf(
  of: readonly { readonly host: string; readonly record: JobRecord }[],
  missing: readonly OpenReason[],
): Peaks {
  const parts = (field: keyof Peaks): readonly Part[] =>
    of.map(({ host, record }) => ({
      host,
      bracket: record[field],
      from: beginOf(record) - SAME_CLOCK_MS,
      to: endOf(record) + SAME_CLOCK_MS,
    }));
  return {
    peak_rss: sumOfBrackets(parts('peak_rss'), missing),
    peak_rss_swap: sumOfBrackets(parts('peak_rss_swap'), missing),
    peak_vmem: sumOfBrackets(parts('peak_vmem'), missing),
    peak_process_vmem: largestOfBrackets(parts('peak_process_vmem'), missing),
    peak_footprint: sumOfBrackets(parts('peak_footprint'), missing),
  };
}

function beginOf(record: JobRecord): number {
  return record.started_at === null ? -Infinity : Date.parse(record.started_at);
}

function timesOf(records: readonly JobRecord[], field: 'started_at' | 'ended_at'): readonly number[] {
  return records.flatMap((record) => (record[field] === null ? [] : [Date.parse(record[field])]));
}

const least = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), Infinity);
const greatest = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), -Infinity);

function textOf(ms: number): string | null {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : null;
}

/** When a record's run ended, or was last seen; null: nothing says when. */
function lastSeen({ status, revision, started_at, ended_at, wallclock_seconds: elapsed }: JobRecord): number | null {
  if (ended_at !== null) return Date.parse(ended_at);
  if (status === 'running') return revision;
  return started_at === null || elapsed === null ? null : Date.parse(started_at) + elapsed * 1000;
}

/** The most of what is known, but no longer than every part leaves: while one went on, the job was not suspended. */
function suspendedIn(records: readonly JobRecord[], wallclock: number | null): number | null {
  const known = records.filter(({ suspended_seconds: seconds }) => seconds !== null);
  const most = largestOfKnown(known.map(({ suspended_seconds: seconds }) => seconds));
  const active = largestOfKnown(known.map(activeSeconds));
  return most === null || active === null || wallclock === null
    ? most
    : Math.min(most, Math.max(0, wallclock - active));
}

function spanSeconds(records: readonly JobRecord[]): number | null {
  const from = least(timesOf(records, 'started_at'));
  const to = greatest(records.flatMap((record) => lastSeen(record) ?? []));
  return Number.isFinite(from) && to >= from ? (to - from) / 1000 : null;
}

function within(value: number, bracket: Bracket | null): number {
  return bracket === null ? value : Math.min(Math.max(value, bracket.lower_bytes), bracket.upper_bytes ?? Infinity);
}

function imbalance(hosts: readonly HostSum[], loadOf: (host: HostSum) => number | null): Imbalance | null {
  const loads = hosts
    .flatMap((host) => {
      const load = loadOf(host);
      return load === null || host.slots === null || host.slots <= 0
        ? []
        : [{ host: host.host, perSlot: load / host.slots }];
    })
    .sort((a, b) => b.perSlot - a.perSlot);
  const most = loads[0];
  const least = loads.at(-1);
  if (most === undefined || least === undefined || loads.length < 2) return null;
  return { most: most.host, least: least.host, ratio: least.perSlot > 0 ? most.perSlot / least.perSlot : null };
}
