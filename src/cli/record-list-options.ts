import type { Command } from 'commander';
import type { RecordSort } from '../accounting/store';
import { RECORD_COLUMN_NAMES, type RecordColumnName } from '../report/record-columns';
import type { GlobalOptions } from './command-context';
import { usageError } from './command-error';

/** Options of every command that lists records. */
export interface RecordListOptions extends GlobalOptions {
  readonly since: string;
  readonly until?: string;
  readonly sort: string;
  readonly limit?: string;
  readonly group?: boolean;
  readonly columns?: string;
  readonly cluster?: string;
  readonly accounting?: string;
}

/** Adds the options of an interval of the accounting DB. */
export function addIntervalOptions(command: Command): Command {
  return command
    .option('--since <time>', 'from then on: 7d, 12h, today, yesterday, 2026-11-01, "2026-11-01 08:00"', '7d')
    .option('--until <time>', 'up to, and without, then (default: now)');
}

/** Adds what is to be listed of the records, and how. */
export function addRecordListOptions(command: Command): Command {
  return addIntervalOptions(command)
    .option('--sort <key>', 'ended, ran, cpu, peak, requested or unused; largest or latest first', 'ended')
    .option('--limit <n>', 'at most so many lines (default: 50; all with --json and --csv)')
    .option('--group', 'one line per array job, not one per task')
    .option('--columns <names>', 'these columns, in this order: job,owner,peak ("help" lists them)')
    .option('--accounting <path>', "read this accounting DB, not the site's and your own");
}

const SORTS = new Map<string, RecordSort>([
  ['ended', 'time'],
  ['time', 'time'],
  ['ran', 'wallclock'],
  ['wallclock', 'wallclock'],
  ['cpu', 'cpu'],
  ['peak', 'peak'],
  ['requested', 'requested'],
  ['unused', 'unused'],
  ['waste', 'unused'],
]);

/** The order of --sort. Throws a usage error on a key that is none. */
export function recordSortOf(key: string): RecordSort {
  const sort = SORTS.get(key);
  if (sort === undefined)
    throw usageError(`--sort: "${key}" is not a key; write ended, ran, cpu, peak, requested or unused`);
  return sort;
}

/** The number of --limit; `otherwise` where it was not given. Throws a usage error on what is no number of lines. */
export function lineLimitOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw usageError(`--limit: "${text}" is not a number of lines; write 1 or more`);
  return limit;
}

/** The columns of --columns, each once. Throws a usage error on a name that is none. */
export function recordColumnsOf(text: string): readonly RecordColumnName[] {
  const columns = text.split(',').map((word) => {
    const column = RECORD_COLUMN_NAMES.find((name) => name === word.trim());
    if (column === undefined) throw usageError(`--columns: "${word.trim()}" is no column; --columns help lists them`);
    return column;
  });
  return [...new Set(columns)];
}
