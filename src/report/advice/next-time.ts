import { GIB, MIB, twoDigits } from '../../base/units';
import { RAISE, TIME_RAISE } from '../../advice/job-class';
import {
  categoryRequests,
  requestedMemory,
  requestedSeconds,
  type CategoryRequest,
} from '../../gridengine/category-requests';
import type { JobRecord } from '../../record/record';
import { complexOf, limitOf, limitsCgroup, requestOf } from '../../record/request';
import type { Prediction } from './class-advice';
import { adviseRequest, HEADROOM, neededPerSlot, roundRequest, slotsOf, type Advice } from './advice';
import { formatBytes, formatDuration, formatPercent } from '../format/units';
import type { Cause } from '../why/hypothesis';
import type { Trial } from '../why/large-request';
import type { Why } from '../why/why';

/** What to ask for next time: a whole line, and why each part of it is as it is. */
export interface NextTime {
  /** "h_vmem=6G,h_rt=16:00:00" */
  readonly request: string;
  /** "qsub -l h_vmem=6G,h_rt=16:00:00" */
  readonly line: string;
  /** Why each part of the request is as it is; without memory, where `memory` gives the reason. */
  readonly reasons: readonly string[];
  /** What the memory request rests on; null: it stays as it was. */
  readonly memory: Advice | null;
}

const MINUTE = 60;
const HOUR = 3600;
/** Round times that people would write: [below, step]. */
const STEPS: readonly (readonly [number, number])[] = [
  [10 * MINUTE, MINUTE],
  [HOUR, 5 * MINUTE],
  [24 * HOUR, 30 * MINUTE],
  [Infinity, HOUR],
];

/** The next round time, never shorter, as Grid Engine reads it: "0:10:00", "36:00:00". */
export function roundTime(seconds: number): { readonly seconds: number; readonly text: string } {
  const step = STEPS.find(([below]) => seconds < below)?.[1] ?? HOUR;
  const rounded = Math.max(1, Math.ceil(seconds / step)) * step;
  const minutes = twoDigits(Math.floor(rounded / MINUTE) % 60);
  return { seconds: rounded, text: `${Math.floor(rounded / HOUR)}:${minutes}:00` };
}

const UNITS = [
  ['T', 1024 ** 4],
  ['G', GIB],
  ['M', MIB],
  ['K', 1024],
] as const;

/** Bytes as Grid Engine reads them, to the byte: "4G", "1536M". */
export function exactSize(bytes: number): string {
  const unit = UNITS.find(([, size]) => bytes >= size && bytes % size === 0);
  return unit === undefined ? String(Math.ceil(bytes)) : `${bytes / unit[1]}${unit[0]}`;
}

/** The time limits to raise for a cause: a soft one is raised with the hard one. */
const TIMES: Partial<Readonly<Record<Cause, readonly string[]>>> = {
  h_rt: ['h_rt', 's_rt'],
  s_rt: ['h_rt', 's_rt'],
  'cpu-time': ['h_cpu', 's_cpu'],
};

interface Part {
  readonly text: string;
  readonly reason: string;
}

type Asked = readonly CategoryRequest[];

function timeParts(requests: Asked, causes: readonly Cause[]): Part[] {
  const complexes = new Set(causes.flatMap((cause) => TIMES[cause] ?? []));
  return [...complexes].flatMap((complex) => {
    const asked = requestedSeconds(requests, complex);
    if (asked === null) return [];
    const { text, seconds } = roundTime(asked * TIME_RAISE);
    const reason = `${complex}: ${formatDuration(seconds)}, twice the limit; how long it would have run is not known, so double it again if that is too short`;
    return [{ text: `${complex}=${text}`, reason }];
  });
}

/** The kernel refuses memory at the lowest of h_vmem and these; mem_limit and h_rss can be a cgroup's limit. */
const MEMORY: Partial<Readonly<Record<Cause, readonly string[]>>> = {
  s_vmem: ['s_vmem'],
  'resident-memory': ['h_rss', 's_rss'],
  'refused-memory': ['s_vmem', 'h_data', 's_data'],
  'cgroup-out-of-memory': ['mem_limit', 'h_rss'],
};

/** Whether the job's cgroup had a limit other than these bytes. */
function isGroupLimitedOtherwise(record: JobRecord, bytes: number | null): boolean {
  return record.metrics.cgroup_memory_limit_bytes !== undefined && (bytes === null || !limitsCgroup(record, bytes));
}

function memoryParts(records: readonly JobRecord[], requests: Asked, causes: readonly Cause[]): Trial[] {
  // systemd gets h_rss as it was typed, and other complexes by their limit.
  const ofGroup = (complex: string): boolean =>
    !records.some((record) => {
      const asked = record.requests[complex];
      return [asked?.limit_bytes, asked?.request_bytes].every((bytes) =>
        isGroupLimitedOtherwise(record, bytes ?? null),
      );
    });
  const complexes = new Set(
    causes.flatMap((cause) =>
      (MEMORY[cause] ?? []).filter((complex) => cause !== 'cgroup-out-of-memory' || ofGroup(complex)),
    ),
  );
  return [...complexes].flatMap((complex) => {
    const typed = requestedMemory(requests, complex) ?? 0;
    const asked = records.reduce((most, { requests: all }) => Math.max(most, all[complex]?.request_bytes ?? 0), typed);
    if (asked <= 0) return [];
    const reason = `${complex}: ${RAISE} times the limit; the refused amount is not recorded`;
    const { bytes, text } = roundRequest(asked * RAISE);
    return [{ bytes, text: `${complex}=${text}`, reason }];
  });
}

/** The present request, or what was measured where that is more; never less than `least`. */
function unchangedMemory(records: readonly JobRecord[], least: number): Part | null {
  const [first] = records;
  if (first === undefined) return null;
  const complex = complexOf(first);
  const asked = records.reduce((most, record) => Math.max(most, requestOf(record)?.request_bytes ?? 0), 0);
  const need = records.reduce((most, record) => Math.max(most, neededPerSlot(record)), 0);
  if (asked <= 0) return null;
  const wanted = Math.max(need * HEADROOM, least);
  if (wanted <= asked) return { text: `${complex}=${exactSize(asked)}`, reason: `${complex} as before` };
  const perSlot = records.some((record) => slotsOf(record) > 1) ? ' per slot' : '';
  const why =
    least > need * HEADROOM
      ? 'not below the softer limit'
      : `the peak so far (${formatBytes(need)}${perSlot}) and ${formatPercent(HEADROOM - 1)} headroom`;
  return { text: `${complex}=${roundRequest(wanted).text}`, reason: `${complex}: ${why}` };
}

function askedBy(records: readonly JobRecord[]): Asked {
  const category = records.find((record) => record.grid_engine?.category != null)?.grid_engine?.category ?? null;
  return category === null ? [] : categoryRequests(category);
}

/**
 * Whether a larger request would not have helped: the node had too little for all of its jobs, or the cgroup was full at a
 * limit of its own.
 */
function isElsewhere(cause: Cause, records: readonly JobRecord[]): boolean {
  if (cause === 'node-out-of-memory') return true;
  if (cause !== 'cgroup-out-of-memory') return false;
  return records.some((record) => isGroupLimitedOtherwise(record, limitOf(record)));
}

/** The names that Grid Engine gives to jobs of these clients, unless their users name them otherwise. */
const CLIENTS: ReadonlyMap<string | null, string> = new Map([
  ['QLOGIN', 'qlogin'],
  ['QRLOGIN', 'qrsh'],
  ['INTERACTIVE', 'qsh'],
]);

/** The client that submits such a job: by its submission's command line, where that is known, else by its name. */
export function clientOf([first]: readonly Pick<JobRecord, 'grid_engine' | 'job_name'>[]): string {
  const [, byCommand] = /^(?:\S*\/)?(qlogin|qrsh|qsh)(?=\s|$)/.exec(first?.grid_engine?.submit_command ?? '') ?? [];
  return byCommand ?? CLIENTS.get(first?.job_name ?? null) ?? 'qsub';
}

/**
 * A whole `-l` line that would have been enough, from all hosts and tasks of a job: per slot or per job as the complex
 * is consumed, never less than was measured. `predicted`: the prediction from past runs of its kind. null: nothing can
 * be advised, or nothing needs changing.
 */
export function nextTime(
  records: readonly JobRecord[],
  whys: readonly (Why | null)[] = [],
  predicted: Prediction | null = null,
): NextTime | null {
  const causes = [...new Set(whys.flatMap((why) => why?.causes ?? []))];
  const requests = askedBy(records);
  const raised = memoryParts(records, requests, causes);
  const isOwn = ({ text }: Trial): boolean => records.some((record) => text.startsWith(`${complexOf(record)}=`));
  const memories = raised.filter((part) => !isOwn(part));
  const parts = [...memories, ...timeParts(requests, causes)];
  const advice = adviseRequest(records, predicted);
  const elsewhere = advice?.guess === true && causes.length > 0 && causes.every((cause) => isElsewhere(cause, records));
  const measured = advice === null || advice.kind === 'keep' || elsewhere ? null : advice;
  const tried = whys.find((why) => why?.trial)?.trial ?? raised.find(isOwn) ?? null;
  const trial =
    tried !== null && (measured === null || tried.bytes * measured.slots > measured.totalBytes) ? tried : null;
  const memory = trial === null ? measured : null;
  if (memory === null && trial === null && parts.length === 0) return null;
  const before =
    trial ?? (memory === null ? unchangedMemory(records, Math.max(0, ...memories.map(({ bytes }) => bytes))) : null);
  const others = [...(before === null ? [] : [before]), ...parts];
  const request = [...(memory === null ? [] : [memory.request]), ...others.map(({ text }) => text)].join(',');
  return {
    request,
    line: `${clientOf(records)} -l ${request}`,
    reasons: others.map(({ reason }) => reason),
    memory,
  };
}
