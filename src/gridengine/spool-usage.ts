import { epochToMs } from './epoch-time';
import { keyValueLines } from './key-value-lines';

/**
 * The `usage` file of a finished job's spool directory, as the shepherd writes it when it has reaped the job
 * (daemons/shepherd/sge_fileio.c). Every field is null where the file lacks it or holds no number.
 *
 * The figures are getrusage(2)'s for the job's waited-for descendants: `maxrssBytes` is the largest single process, not
 * a sum, and processes that escaped the job's tree are missing.
 */
export interface SpoolUsage {
  /** The exit code, or 128 + signal. */
  readonly exitStatus: number | null;
  /** 0 if no signal ended the job. */
  readonly signal: number | null;
  readonly startTimeMs: number | null;
  readonly endTimeMs: number | null;
  readonly wallclockSeconds: number | null;
  readonly userSeconds: number | null;
  readonly systemSeconds: number | null;
  readonly maxrssBytes: number | null;
  /** Every `ru_` key as written, in its own unit (`ru_maxrss`: KiB). */
  readonly rusage: Readonly<Record<string, number>>;
}

/**
 * Reads `usage`, also cut short or with unknown keys. Of a repeated key the first counts: an epilog may append lines.
 */
export function parseSpoolUsage(text: string): SpoolUsage {
  const values = new Map<string, string>();
  for (const { key, value } of keyValueLines(text)) {
    if (value !== null && !values.has(key)) values.set(key, value);
  }
  const number = (key: string): number | null => parseCount(values.get(key));
  const rusage: Record<string, number> = {};
  for (const key of values.keys()) {
    const value = /^ru_[a-z]+$/.test(key) ? number(key) : null;
    if (value !== null) rusage[key] = value;
  }
  const maxrssKib = number('ru_maxrss');
  return {
    exitStatus: number('exit_status'),
    signal: number('signal'),
    startTimeMs: epochToMs(values.get('start_time') ?? ''),
    endTimeMs: epochToMs(values.get('end_time') ?? ''),
    wallclockSeconds: number('ru_wallclock'),
    userSeconds: number('ru_utime'),
    systemSeconds: number('ru_stime'),
    maxrssBytes: maxrssKib === null ? null : Math.round(maxrssKib * 1024),
    rusage,
  };
}

function parseCount(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,20}(\.\d{1,20})?$/.test(text) ? Number(text) : null;
}
