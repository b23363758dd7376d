import type { JobRecord } from './record';
import { LINE_RUN } from './coverage';

/** By how much one start differs between Grid Engine's accounting and our own records: whole seconds, another clock's. */
export const SAME_START_MS = 2000;

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

/**
 * How far apart the starts of an accounting line's record and of ours are, in ms, where the two (of one cluster, job,
 * task and pe task) are one run; null: they are not.
 */
export function startsApart(a: JobRecord, b: JobRecord): number | null {
  if (isLineOnly(a) === isLineOnly(b) || !sameHost(a.host, b.host)) return null;
  if (a.owner !== b.owner && a.owner !== null && b.owner !== null) return null;
  if (a.started_at === null || b.started_at === null) return null;
  const apart = Math.abs(Date.parse(a.started_at) - Date.parse(b.started_at));
  return apart <= SAME_START_MS ? apart : null;
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
