import { isParallel } from '../../accounting/job-sum';
import { largestOfKnown } from '../../base/known';
import { categoryRequests, type CategoryRequest } from '../../gridengine/category-requests';
import type { Dialect } from '../../gridengine/dialect';
import { killedByMemory } from '../../record/cause';
import {
  deletedBy,
  diedItself,
  endedBadly,
  endingSignal,
  enforcedLimit,
  neverRan,
  succeeded,
} from '../../record/job-end';
import type { GridEngineAccount, JobRecord } from '../../record/record';
import { limitsKnown } from '../../record/request';
import { signalName } from '../job/ending';
import { isRun, wholeOf, type RunRecords } from '../job/job-whole';
import type { Words } from './words';

/** One host of a run. */
export interface HostPart {
  readonly host: string;
  readonly record: JobRecord;
  /** Bytes that h_vmem allows here; null: none, or not known (`limitKnown`). */
  readonly limit: number | null;
  readonly limitKnown: boolean;
}

/** All that is known of how one run of a job (all its hosts and tasks) ended badly. */
export interface BadEnd {
  readonly records: readonly JobRecord[];
  readonly master: JobRecord;
  /** The part that ended badly first: later ends may follow from it. */
  readonly subject: JobRecord;
  /** The hosts with a part that ended badly, their tasks added up. */
  readonly hosts: readonly HostPart[];
  readonly parallel: boolean;
  /** 0: none. */
  readonly signal: number;
  /** Whether the job's own first process died by the signal; false: a shell reported that of a child; null: unknown. */
  readonly direct: boolean | null;
  readonly status: number | null;
  /** Grid Engine's `failed` code; null: no accounting line was joined. */
  readonly failed: number | null;
  /** Whether the job never started, by its `failed` code. */
  readonly neverRan: boolean;
  readonly seconds: number | null;
  readonly cpuSeconds: number | null;
  readonly slots: number;
  /** What the job requested, by its accounting line's category; null: no line was joined, or it is hidden. */
  readonly asked: readonly CategoryRequest[] | null;
  readonly deletedBy: string | null;
  /** How Grid Engine says that execd enforced a limit: "failed 37"; null: it does not say so. */
  readonly enforced: string | null;
  /** Whether the accounting line is there, but what it says of people is hidden from the reader. */
  readonly hidden: boolean;
  readonly dialect: Dialect;
}

const isBad = (record: JobRecord): boolean => record.status !== 'running' && endedBadly(record);

/** The parts that ended badly. If the master ended well so did the job, unless a task was killed for its memory. */
function badParts(run: readonly JobRecord[]): readonly JobRecord[] {
  const bad = run.filter(isBad);
  const master = run.find(({ pe_task_id: task }) => task === null);
  const well = master !== undefined && !isBad(master) && succeeded(master) === true;
  return well ? bad.filter(killedByMemory) : bad;
}

/** The part that ended first; where times are missing or equal, the master. */
function firstOf([first, ...others]: RunRecords): JobRecord {
  const time = (record: JobRecord): number => (record.ended_at === null ? Infinity : Date.parse(record.ended_at));
  return others.reduce((earliest, record) => (time(record) < time(earliest) ? record : earliest), first);
}

function hostParts(records: RunRecords, bad: readonly JobRecord[]): HostPart[] {
  const { hosts } = wholeOf(records);
  const affected = hosts.filter(({ host }) => bad.some((record) => record.host === host));
  return (affected.length > 0 ? affected : hosts).map((record) => ({
    host: record.host,
    record,
    limit: record.h_vmem?.limit_bytes ?? null,
    limitKnown: limitsKnown(record),
  }));
}

/**
 * The requests in the category; null: it is hidden, or there is no accounting line. Grid Engine's categories begin with
 * an option; a server puts a word in place of one that the reader may not see.
 */
export function askedFor(accounts: readonly GridEngineAccount[]): readonly CategoryRequest[] | null {
  if (accounts.length === 0) return null;
  const category = accounts.find((account) => account.category !== null)?.category ?? '';
  return category === '' || category.startsWith('-') ? categoryRequests(category) : null;
}

function firstKnown<T>(records: readonly JobRecord[], of: (record: JobRecord) => T | null): T | null {
  return records.map(of).find((value) => value !== null) ?? null;
}

/** null: it ended well, still runs, or how it ended is unknown. `records`: one run of one job (array task). */
export function badEnd(records: readonly JobRecord[], dialect: Dialect): BadEnd | null {
  if (!records.some(isBad)) return null;
  const run = records.toSorted((a, b) => Number(a.pe_task_id !== null) - Number(b.pe_task_id !== null));
  const bad = badParts(run);
  if (!isRun(run) || !isRun(bad)) return null;
  const [master] = run;
  const subject = firstOf(bad);
  const { failed } = subject;
  const accounts = run.map((record) => record.grid_engine).filter((account) => account !== null);
  const asked = askedFor(accounts);
  return {
    records: run,
    master,
    subject,
    hosts: hostParts(run, bad),
    parallel: isParallel(run),
    signal: endingSignal(subject),
    direct: diedItself(subject),
    status: subject.exit_status,
    failed,
    neverRan: neverRan(subject),
    seconds: largestOfKnown([master.wallclock_seconds, master.grid_engine?.wallclock_seconds]),
    cpuSeconds: largestOfKnown([subject.cpu_seconds, subject.grid_engine?.cpu_seconds]),
    slots: Math.max(1, subject.host_slots ?? subject.slots ?? 1),
    asked,
    hidden: asked === null && accounts.length > 0,
    deletedBy: firstKnown(run, deletedBy),
    // execd marks only the master's report, though it kills the tasks first.
    enforced: firstKnown(run, enforcedLimit),
    dialect,
  };
}

/** "SIGKILL", "exit status 137 (means SIGKILL)", "exit status 1". */
export function endName(end: BadEnd): string {
  const status = end.status === null ? 'an unknown exit status' : `exit status ${end.status}`;
  if (end.signal === 0) return status;
  return end.direct === false ? `${status} (means ${signalName(end.signal)})` : signalName(end.signal);
}

/** "by SIGKILL", "with exit status 1". */
export function endedBy(end: BadEnd): string {
  return end.signal > 0 && end.direct !== false ? `by ${endName(end)}` : `with ${endName(end)}`;
}

/** " when SIGKILL came at 14:12:23", " when it ended with exit status 1 at 14:12:23". */
export function whenEnded(end: BadEnd, words: Words): string {
  const what = end.signal > 0 && end.direct !== false ? `${endName(end)} came` : `it ended ${endedBy(end)}`;
  return ` when ${what}${endTime(end, words)}`;
}

/** " at 14:12:23"; '' where the time is unknown. */
export function endTime(end: BadEnd, words: Words): string {
  return end.subject.ended_at === null ? '' : ` at ${words.clock(end.subject.ended_at)}`;
}

/** Signals that identify causes, by number (Linux). */
export const SIGKILL = 9;
export const SIGUSR1 = 10;
export const SIGSEGV = 11;
export const SIGUSR2 = 12;
export const SIGTERM = 15;
export const SIGXCPU = 24;
export const SIGXFSZ = 25;

/** SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS. */
export const CRASHES: ReadonlySet<number> = new Set([4, 5, 6, 7, 8, 11, 31]);

/**
 * What speaks against every cause but a limit, where Grid Engine says that it enforced one; null: it does not say so.
 */
export function limitSays(end: BadEnd): string | null {
  return end.enforced === null ? null : `Grid Engine says ${end.enforced}: it enforced a limit itself`;
}

/** The evidence that is missing where nothing was sampled. */
export const A_SAMPLER = 'a sampler on the node';

/** The accounting line as missing evidence; undefined: it is there. */
export const missingLine = ({ failed }: BadEnd): string | undefined =>
  failed === null ? "Grid Engine's accounting line (qmemacct import)" : undefined;
