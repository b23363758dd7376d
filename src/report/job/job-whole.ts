import { largestOfKnown, sumOfKnown } from '../../base/known';
import { bytesForSlots } from '../../gridengine/memory-request';
import { memoryEfficiency } from '../../record/efficiency';
import { countedByGridEngine, lineAtLimit } from '../../record/cause';
import { isParallel, recordsByHost, sumOfJob, type HostSum, type JobSum, type Peaks } from '../../accounting/job-sum';
import { highestSum } from '../../record/highest-sum';
import { neverRan } from '../../record/job-end';
import { figureOf } from '../../record/peak-figure';
import { endOf } from '../../record/record-end';
import { emptyRecord, type JobRecord, type MemoryRequest, type Trust } from '../../record/record';
import { complexOf, execdLimit, requestOf, withLimit, type Requests } from '../../record/request';
import { endingSignal, hitLimit, succeeded } from './ending';
import { isUnknownPart } from '../advice/advice';
import { fullness } from '../advice/fit';
import { latestRuns, recordsOf, runGroups, type JobRun } from './job-run';

/** The records of one run of a job (array task), its master's first. */
export type RunRecords = readonly [JobRecord, ...JobRecord[]];

/** Whether there is any record. */
export const isRun = (records: readonly JobRecord[]): records is RunRecords => records.length > 0;

/** One run of a job, on one host or several, as records that the report can show like any other. */
export interface JobWhole {
  readonly records: RunRecords;
  /** null: not a parallel job; its one record is the job. */
  readonly sum: JobSum | null;
  /** All hosts as one: its limit, slots and peaks are those of the job. */
  readonly total: JobRecord;
  /** One record for each host that was seen. */
  readonly hosts: readonly JobRecord[];
  /** The records that each of `hosts` is made of. */
  readonly parts: readonly (readonly JobRecord[])[];
  /** The host that decides: it ran into its limit, or came nearest to it. */
  readonly fullest: JobRecord;
  /** The host whose memory and limit are shown: one that hit its limit, else the one with the largest share of it. */
  readonly memoryHost: JobRecord;
  /** What the advice must fit: each host's memory, and the address space of each process under its own limit. */
  readonly needs: readonly JobRecord[];
}

const TRUSTS: readonly Trust[] = ['self-reported', 'accounting', 'usage', 'root'];

const peaksOf = (sum: Peaks): Peaks => ({
  peak_rss: sum.peak_rss,
  peak_rss_swap: sum.peak_rss_swap,
  peak_vmem: sum.peak_vmem,
  peak_process_vmem: sum.peak_process_vmem,
  peak_footprint: sum.peak_footprint,
});

/** The master's requests, with their limits for another number of slots. */
function requestsOf(master: JobRecord, slots: number | null): Requests {
  const forSlots = (request: MemoryRequest): MemoryRequest => {
    const { request_bytes: asked, limit_bytes: before, per } = request;
    const scaled = per !== 'slot' ? asked : asked === null || slots === null ? null : bytesForSlots(asked, slots);
    return { ...request, limit_bytes: before === null ? null : (scaled ?? before) };
  };
  const { h_vmem, requests } = master;
  const others = Object.entries(requests).map(([complex, request]) => [complex, forSlots(request)] as const);
  return {
    h_vmem: h_vmem && forSlots(h_vmem),
    requests: Object.fromEntries(others),
    request_order: complexOf(master),
  };
}

function totalOf(sum: JobSum, master: JobRecord, records: readonly JobRecord[]): JobRecord {
  const seenSlots = sum.hosts
    .filter((host) => host.seen)
    .reduce<number | null>((all, { slots }) => (all === null || slots === null ? null : all + slots), 0);
  return {
    ...master,
    ...peaksOf(sum),
    pe_task_id: null,
    slots: sum.slots,
    // CPU time is compared with these slots: slots on hosts without a record can't be called idle.
    host_slots: seenSlots === 0 ? sum.slots : seenSlots,
    status: sum.status,
    trust: TRUSTS.find((trust) => records.some((record) => record.trust === trust)) ?? master.trust,
    ...withLimit(requestsOf(master, sum.slots), sum.limit_bytes),
    started_at: sum.started_at,
    ended_at: sum.ended_at,
    wallclock_seconds: sum.wallclock_seconds,
    suspended_seconds: sum.suspended_seconds,
    cpu_seconds: sum.cpu_seconds,
    processes: sum.processes,
    max_processes: null,
    max_threads: null,
    read_bytes: sum.read_bytes,
    written_bytes: sum.written_bytes,
    read_chars: sumOfKnown(records.map((record) => record.read_chars)),
    written_chars: sumOfKnown(records.map((record) => record.written_chars)),
    claimed_by_tree_only: sumOfKnown(records.map((record) => record.claimed_by_tree_only)),
    claimed_by_group_only: sumOfKnown(records.map((record) => record.claimed_by_group_only)),
    samples: sumOfKnown(records.map((record) => record.samples)),
    longest_gap_seconds: largestOfKnown(records.map((record) => record.longest_gap_seconds)),
    unobserved_start_seconds: largestOfKnown(records.map((record) => record.unobserved_start_seconds)),
    rss_byte_seconds: sum.rss_byte_seconds,
    sampler: null,
    grid_engine: null,
    metrics: {},
    series: sum.series,
    notes: [...new Set(records.flatMap(({ notes }) => notes))],
    // The whole is as old as its oldest heartbeat.
    revision: records.reduce((oldest, { revision }) => Math.min(oldest, revision), master.revision),
  };
}

function hostOf(
  host: HostSum,
  run: readonly JobRecord[],
  whole: { readonly master: JobRecord; readonly total: JobRecord },
  here: readonly JobRecord[],
): JobRecord {
  const { master, total } = whole;
  const requests = withLimit(requestsOf(master, host.slots), host.limit_bytes);
  const failing = here.filter((record) => succeeded(record) === false);
  const failed = failing.find((record) => endingSignal(record) > 0) ?? failing[0] ?? master;
  return {
    ...total,
    ...peaksOf(host),
    host: host.host,
    host_slots: host.slots,
    granted_hosts: [{ host: host.host, slots: host.slots ?? 1 }],
    grid_engine: lineAtLimit(run, here, execdLimit({ ...requests, host_slots: host.slots, slots: null })),
    ...requests,
    exit_status: failed.exit_status,
    signal: failed.signal,
    failed: failed.failed,
    cpu_seconds: host.cpu_seconds,
    series: null,
  };
}

/** The host whose memory came nearest to its own limit; where none has one, the one with the largest peak. */
function fullestByMemory(hosts: readonly JobRecord[], total: JobRecord): JobRecord {
  const held = ({ peak_rss: peak }: JobRecord): number => (peak === null ? -1 : figureOf(peak));
  const [first, ...others] = hosts;
  return others.reduce((most, host) => {
    const [a, b] = [memoryEfficiency(host) ?? -1, memoryEfficiency(most) ?? -1];
    return a > b || (a === b && held(host) > held(most)) ? host : most;
  }, first ?? total);
}

/**
 * What the request must fit on a host, with what Grid Engine counted there; `perTask`: it wrote a line for each task.
 */
function needOfHost(host: JobRecord, here: readonly JobRecord[], perTask: boolean): JobRecord {
  const counted = perTask ? countedOnHost(here) : null;
  const account = here.find(({ grid_engine: line }) => line !== null)?.grid_engine ?? null;
  if (counted === null || account === null) return host;
  return {
    ...host,
    granted_hosts: [{ host: host.host, slots: host.host_slots ?? 1 }],
    grid_engine: { ...account, maxvmem_bytes: counted },
  };
}

/** The largest sum of maxvmem over tasks that may have run at the same time; null: none is known. */
function countedOnHost(records: readonly JobRecord[]): number | null {
  const spans = records.flatMap((record) => {
    const value = countedByGridEngine(record);
    const from = record.started_at === null ? -Infinity : Date.parse(record.started_at);
    return value === null ? [] : [{ clock: record.host, from, to: endOf(record), value }];
  });
  return spans.length === 0 ? null : highestSum(spans);
}

/** A part of the job without any figures: while there is one, no smaller request can be advised. */
const unknownPart = (master: JobRecord, host: string): JobRecord => ({
  ...emptyRecord({ ...master, host, pe_task_id: '' }, 'unsampled', master.trust, master.revision),
  h_vmem: master.h_vmem,
  requests: master.requests,
  request_order: master.request_order,
});

/** Of a job that never ran only the shepherd's own child was measured, before it could become the job. */
const withoutShepherd = (record: JobRecord): JobRecord =>
  neverRan(record)
    ? {
        ...record,
        ...{ peak_rss: null, peak_rss_swap: null, peak_vmem: null, peak_process_vmem: null, peak_footprint: null },
        series: null,
      }
    : record;

/** The records of one run of a job put together. */
export function wholeOf(measured: RunRecords): JobWhole {
  const first = withoutShepherd(measured[0]);
  const records: RunRecords = [first, ...measured.slice(1).map(withoutShepherd)];
  if (!isParallel(records))
    return {
      records,
      sum: null,
      total: first,
      hosts: records,
      parts: [records],
      fullest: first,
      memoryHost: first,
      needs: records,
    };
  const sum = sumOfJob(records);
  const master = records.find(({ pe_task_id: task }) => task === null) ?? first;
  const total = totalOf(sum, master, records);
  const groups = recordsByHost(records);
  const hosts = sum.hosts.flatMap((host, index) =>
    host.seen ? [hostOf(host, records, { master, total }, groups[index]?.records ?? [])] : [],
  );
  const killed = hosts.filter(hitLimit);
  const perTask = records.some(({ pe_task_id: task, grid_engine: line }) => task !== null && line !== null);
  const parts = groups.flatMap((group) => (group.records.length > 0 ? [group.records] : []));
  const unseen = sum.hosts.flatMap(({ host, seen }) => (seen ? [] : [unknownPart(master, host)]));
  const fullest = (killed.length > 0 ? killed : hosts).reduce(
    (most, host) => (fullness(host) > fullness(most) ? host : most),
    hosts[0] ?? total,
  );
  return {
    records,
    sum,
    total,
    hosts,
    parts,
    fullest: killed.length > 0 ? fullest : withEndOf(master, fullest),
    memoryHost: killed.length > 0 ? fullest : fullestByMemory(hosts, total),
    // The kernel limits each process by the slots of its task; Grid Engine adds up all tasks of a host.
    needs: [
      ...hosts.map((host, index) =>
        hitLimit(host) ? host : needOfHost(withEndOf(master, host), parts[index] ?? [], perTask),
      ),
      ...records.map((record) => ({
        ...withEndOf(master, record),
        ...(requestOf(record) === null ? requestsOf(master, record.host_slots ?? master.host_slots) : {}),
        peak_rss: null,
        peak_rss_swap: null,
        peak_footprint: null,
      })),
      ...unseen,
      ...(sum.unseen_tasks > 0 ? [unknownPart(master, master.host)] : []),
    ],
  };
}

function withEndOf(master: JobRecord, record: JobRecord): JobRecord {
  return {
    ...record,
    status: master.status,
    exit_status: master.exit_status,
    signal: master.signal,
    failed: master.failed,
  };
}

/** What a request must fit for one run of a job: its hosts and processes if it is parallel, else its record. */
export const needsOf = (records: readonly JobRecord[]): readonly JobRecord[] =>
  isRun(records) ? wholeOf(records).needs : [];

/**
 * What a request must fit for the latest of these runs of a job (array task), which may have needed less than those
 * before it: after a migration it does only the rest. A run that a limit stopped, or of which a part is not known, is
 * left out before that.
 */
export function needsUpTo(runs: readonly JobRun[]): readonly JobRecord[] {
  const latest = latestRuns(runs);
  const needs = needsOf(recordsOf(latest));
  if (latest.length === runs.length) return needs;
  const earlier = runGroups(runs.filter((run) => !latest.includes(run)));
  const known = earlier.flatMap((run) => needsOf(recordsOf(run)));
  return [...needs, ...known.filter((record) => !hitLimit(record) && !isUnknownPart(record))];
}

/** The latest run of a job (array task); null: there are no runs. */
export function latestWhole(runs: readonly JobRun[]): JobWhole | null {
  const records = recordsOf(latestRuns(runs));
  return isRun(records) ? wholeOf(records) : null;
}
