import { failedCode } from '../gridengine/failed-code';
import type { JobRecord } from './record';
import { isLineOnly } from './coverage';
import { JOB_SPAN_MS } from './facts';
import { CUT_OFF_MS } from './record-end';

/** How much a start may differ between our records and Grid Engine's accounting, in whole seconds of another clock. */
const SAME_START_MS = 2000;
/** On a loaded host the shepherd notes the start long before it forks the job. */
const LATEST_START_MS = 600_000;

/** The last moment (ms) before a line's end. If that is cut to a second, a short job may start late in that second. */
const beforeEnd = (endMs: number): number => (endMs % 1000 === 0 ? endMs + CUT_OFF_MS : endMs - 1);

/** The times (ms) between which a line's run may start by our records: before its end, since runs don't overlap. */
export function startsOfLine(startMs: number, endMs: number | null): { readonly from: number; readonly to: number } {
  const last = Math.min(endMs === null ? startMs : beforeEnd(endMs), startMs + LATEST_START_MS);
  return { from: startMs - SAME_START_MS, to: Math.max(startMs + SAME_START_MS, last) };
}

/** Whether two names are of one host; domains are compared only if both names have one. */
export function sameHost(a: string, b: string): boolean {
  if (a === b) return true;
  const [shortA, ...domainA] = a.split('.');
  const [shortB, ...domainB] = b.split('.');
  return shortA === shortB && (domainA.length === 0 || domainB.length === 0);
}

/** How far apart two times are, in ms; null: at least one is not known. */
function msApart(a: string | null, b: string | null): number | null {
  return a === null || b === null ? null : Math.abs(Date.parse(a) - Date.parse(b));
}

/**
 * Whether a line without a start belongs to the job of `ours`, not to another job with the same number. Our records of
 * `qrsh -inherit` tasks have no submission; for these the line's end decides, which may be that of the line before
 * (line-place.ts), long before the task began.
 */
function isOfSameJob(line: JobRecord, ours: JobRecord): boolean {
  const submissions = msApart(line.submitted_at, ours.submitted_at);
  if (submissions !== null) return submissions <= SAME_START_MS;
  return (msApart(line.ended_at, ours.started_at) ?? 0) <= JOB_SPAN_MS;
}

/** How long, at most, a first process lives that could not execute its program. */
const FAILED_START_MS = 2000;

/**
 * Whether a line without a start may belong to the run of `ours`. Grid Engine leaves the start out for jobs that failed
 * or were deleted before they started, for those whose shepherd or host crashed, and for some that ran (qmod -rj, a
 * failed epilog). Such a line does not confirm a self-reported record.
 */
function isOfRunWithoutStart(line: JobRecord, ours: JobRecord): boolean {
  const { failed } = line;
  if (failed === null || ours.status === 'running' || ours.trust === 'self-reported') return false;
  if (!isOfSameJob(line, ours)) return false;
  // execd had lost its spool directory, and the sampler its end.
  if (failed === 0) return ours.status === 'lost';
  if (ours.started_at === null) return true;
  const { ran } = failedCode(failed);
  if (ran === null) return ours.status === 'lost';
  // The shepherd writes no `usage` where the first process could not execute its program.
  const hasNoUsage = ours.status === 'finished' && ours.exit_status === null;
  return ran || hasNoUsage || (msApart(ours.started_at, ours.ended_at) ?? Infinity) <= FAILED_START_MS;
}

/**
 * How far apart (ms) an accounting line's record and ours, of one cluster, job, task and pe task, start; null: they are
 * not the same run. For a line without a start: our own start, so that it joins the earliest run that it may belong to.
 */
export function startDifferenceMs(a: JobRecord, b: JobRecord): number | null {
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

/** The figures of one accounting line differ by rounding between the two formats of the file. */
const SAME_SECONDS = 1;

/** Whether our record was already joined with an accounting line other than `line`, so that `line` is another run's. */
export function hasAnotherLine(ours: JobRecord, line: JobRecord): boolean {
  if (ours.failed === null) return false;
  if (ours.failed !== line.failed) return true;
  // Without a signal both have the same status; how a signal becomes a status differs.
  if (ours.signal === 0 && (line.signal ?? 0) === 0 && ours.exit_status !== line.exit_status) return true;
  const [a, b] = [ours.grid_engine, line.grid_engine];
  return (
    a !== null &&
    b !== null &&
    (Math.abs(a.wallclock_seconds - b.wallclock_seconds) > SAME_SECONDS ||
      Math.abs(a.cpu_seconds - b.cpu_seconds) > SAME_SECONDS)
  );
}
