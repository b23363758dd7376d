import { failedCode } from '../gridengine/failed-code';
import type { JobRecord } from './record';
import { LINE_RUN } from './coverage';
import { JOB_SPAN_MS } from './facts';
import { CUT_OFF_MS } from './record-end';

/** By how much one start differs between Grid Engine's accounting and our own records: whole seconds, another clock's. */
const SAME_START_MS = 2000;
/** On a loaded host the shepherd notes its time long before it forks the job. */
const LATEST_START_MS = 600_000;

/** The last moment (ms) before the end that a line gives: a short job may start late in the second that its end was cut to. */
const beforeEnd = (endMs: number): number => (endMs % 1000 === 0 ? endMs + CUT_OFF_MS : endMs - 1);

/** From when to when (ms) a process of ours starts if it is the first of a line's run: no run begins before the last ended. */
export function startsOfLine(startMs: number, endMs: number | null): { readonly from: number; readonly to: number } {
  const last = Math.min(endMs === null ? startMs : beforeEnd(endMs), startMs + LATEST_START_MS);
  return { from: startMs - SAME_START_MS, to: Math.max(startMs + SAME_START_MS, last) };
}

/** Whether only Grid Engine's accounting knows the record: it carries no run id of its own yet. */
export function isLineOnly({ run_id }: Pick<JobRecord, 'run_id'>): boolean {
  return run_id.startsWith(LINE_RUN);
}

/** Whether two names are of one host: without the domain where one of them has none. */
export function sameHost(a: string, b: string): boolean {
  if (a === b) return true;
  const [shortA, ...domainA] = a.split('.');
  const [shortB, ...domainB] = b.split('.');
  return shortA === shortB && (domainA.length === 0 || domainB.length === 0);
}

/** How far apart two times are, in ms; null: one of them is not known. */
function msApart(a: string | null, b: string | null): number | null {
  return a === null || b === null ? null : Math.abs(Date.parse(a) - Date.parse(b));
}

/**
 * Whether a line without a start is of the job that `ours` is of, not of another one that had its number. Our records of
 * `qrsh -inherit` tasks have no submission: of them the end tells, which may be that of the line before (line-place.ts), long
 * before the task began.
 */
function isOfSameJob(line: JobRecord, ours: JobRecord): boolean {
  const submissions = msApart(line.submitted_at, ours.submitted_at);
  if (submissions !== null) return submissions <= SAME_START_MS;
  return (msApart(line.ended_at, ours.started_at) ?? 0) <= JOB_SPAN_MS;
}

/** How long a first process lives that could not execute its program. */
const FAILED_START_MS = 2000;

/**
 * Whether a line without a start may be of the run of `ours`: Grid Engine leaves it out of jobs that failed or were deleted
 * before they started, of those whose shepherd or host crashed, and of some that ran (qmod -rj, a failed epilog). It
 * confirms nothing of what a job's owner alone says.
 */
function isOfRunWithoutStart(line: JobRecord, ours: JobRecord): boolean {
  const { failed } = line;
  if (failed === null || failed === 0 || ours.status === 'running' || ours.trust === 'self-reported') return false;
  if (!isOfSameJob(line, ours)) return false;
  if (ours.started_at === null) return true;
  const { ran } = failedCode(failed);
  if (ran === null) return ours.status === 'lost';
  return ran || (msApart(ours.started_at, ours.ended_at) ?? Infinity) <= FAILED_START_MS;
}

/**
 * How far apart the starts of an accounting line's record and of ours are, in ms, where the two (of one cluster, job,
 * task and pe task) are one run; null: they are not. A line without a start is of the first run that it may be of.
 */
export function startsApart(a: JobRecord, b: JobRecord): number | null {
  if (isLineOnly(a) === isLineOnly(b) || !sameHost(a.host, b.host)) return null;
  if (a.owner !== b.owner && a.owner !== null && b.owner !== null) return null;
  const [line, ours] = isLineOnly(a) ? [a, b] : [b, a];
  const oursMs = ours.started_at === null ? ours.revision : Date.parse(ours.started_at);
  if (line.started_at === null) return isOfRunWithoutStart(line, ours) ? oursMs : null;
  if (ours.started_at === null) return null;
  const lineMs = Date.parse(line.started_at);
  const { from, to } = startsOfLine(lineMs, line.ended_at === null ? null : Date.parse(line.ended_at));
  return oursMs >= from && oursMs <= to ? Math.abs(oursMs - lineMs) : null;
}

/** Grid Engine's figures of one line differ by rounding between two forms of the file. */
const SAME_SECONDS = 1;

/** Whether a record of ours has met an accounting line already: another one than `line` is another run's. */
export function metAnotherLine(ours: JobRecord, line: JobRecord): boolean {
  if (ours.failed === null) return false;
  if (ours.failed !== line.failed) return true;
  // Of an ordinary end both have the same status; how a signal becomes one differs.
  if (ours.signal === 0 && (line.signal ?? 0) === 0 && ours.exit_status !== line.exit_status) return true;
  const [a, b] = [ours.grid_engine, line.grid_engine];
  return (
    a !== null &&
    b !== null &&
    (Math.abs(a.wallclock_seconds - b.wallclock_seconds) > SAME_SECONDS ||
      Math.abs(a.cpu_seconds - b.cpu_seconds) > SAME_SECONDS)
  );
}
