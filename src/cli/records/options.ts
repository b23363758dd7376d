import { Option, type Command } from 'commander';
import { readSpan } from '../../base/units';
import { RECORD_SORTS, type RecordSort } from '../../accounting/sorts';
import type { RecordFilter } from '../../accounting/store';
import { parseMemorySize, parseTime } from '../../gridengine/memory-size';
import { classPattern } from '../../record/name-class';
import { STATUSES, type RecordStatus } from '../../record/fields';
import { listed } from '../../report/why/words';
import { RECORD_COLUMN_NAMES, type RecordColumnName } from '../../report/records/columns';
import { type GlobalOptions, usageError } from '../command';
import { addIntervalOptions } from '../common-options';
import { ACCOUNTING_OPTION } from '../stores/stores';

/** Options of every command that lists records. */
export interface RecordListOptions extends GlobalOptions {
  readonly since: string;
  readonly until?: string;
  readonly sort: string;
  readonly limit?: string;
  readonly tasks?: boolean;
  readonly columns?: string;
  readonly cluster?: string;
  readonly accounting?: string;
  readonly class?: string;
}

const SORT_KEYS: Readonly<Record<RecordSort, string>> = {
  time: 'ended',
  wallclock: 'ran',
  cpu: 'cpu',
  peak: 'peak',
  requested: 'requested',
  unused: 'unused',
};
const SORT_LIST = listed(Object.values(SORT_KEYS), 'or');

/** Adds the options for the interval, order and form of a list of records. */
export function addRecordListOptions(command: Command): Command {
  return addIntervalOptions(command)
    .option('--sort <key>', `${SORT_LIST}; largest or latest first`, SORT_KEYS.time)
    .option('--limit <n>', 'at most this many lines (default: 50; all with --json and --csv)')
    .option('--tasks', 'one line per task of an array job, not one per job')
    .option('--columns <names>', 'these columns, in this order: job,owner,peak ("help" lists them)')
    .option(...ACCOUNTING_OPTION);
}

/** The order of --sort, by its key or its name. Throws a usage error for an unknown key. */
export function recordSortOf(key: string): RecordSort {
  if (key === 'waste') return 'unused';
  const sort = RECORD_SORTS.find((name) => key === SORT_KEYS[name] || key === name);
  if (sort === undefined) throw usageError(`--sort: "${key}" is not a key; write ${SORT_LIST}`);
  return sort;
}

/** The number of lines that an option asks for. Throws a usage error for anything but a number from 1. */
export function countOf(option: string, text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw usageError(`${option}: "${text}" is not a number of lines; write 1 or more`);
  return count;
}

/** The number of --limit; `otherwise` if it was not given. Throws a usage error as `countOf`. */
export const lineLimitOf = (text: string | undefined, otherwise: number): number =>
  text === undefined ? otherwise : countOf('--limit', text);

/** The columns of --columns, each once. Throws a usage error for an unknown name. */
export function recordColumnsOf(text: string): readonly RecordColumnName[] {
  const columns = text.split(',').map((word) => {
    const column = RECORD_COLUMN_NAMES.find((name) => name === word.trim());
    if (column === undefined)
      throw usageError(`--columns: "${word.trim()}" is not a column; --columns help lists them`);
    return column;
  });
  return [...new Set(columns)];
}

/** The values of the given options, by commander's names for them. */
export type RecordFilterOptions = Readonly<Record<string, string | boolean | undefined>>;

/** A filter of records without its interval. */
export type RecordChoice = Omit<RecordFilter, 'since' | 'until'>;

function statesOf(option: string, text: string): readonly RecordStatus[] {
  return text.split(',').map((word) => {
    const state = STATUSES.find((known) => known === word.trim());
    if (state === undefined)
      throw usageError(`${option}: "${word.trim()}" is not a state; write ${STATUSES.join(', ')}, several with commas`);
    return state;
  });
}

/** The choice of a queue (`all.q`), or of one of its instances (`all.q@node01`). */
export function queueChoice(text: string): { readonly queue: string; readonly host?: string } {
  const [queue = '', host = ''] = text.split('@', 2);
  return { queue, ...(host === '' ? {} : { host }) };
}

function sizeOf(option: string, text: string): number {
  const size = parseMemorySize(text);
  if (!size.ok || !Number.isFinite(size.value) || size.value < 0)
    throw usageError(`${option}: "${text}" is not a size; write 4G, 1.5G, 500M or bytes, as for qsub -l h_vmem`);
  return Math.round(size.value);
}

function shareOf(option: string, text: string): number {
  const percent = /^\d{1,6}(?:\.\d{1,6})?(?=%?$)/.exec(text)?.[0];
  if (percent === undefined) throw usageError(`${option}: "${text}" is not a number of percent; write 80`);
  return Number(percent) / 100;
}

function secondsOf(option: string, text: string): number {
  const span = readSpan(text);
  if (span !== null) return span / 1000;
  const seconds = /^[\d:.]+$/.test(text) ? parseTime(text) : null;
  if (seconds?.ok !== true || !Number.isFinite(seconds.value))
    throw usageError(`${option}: "${text}" is not a span of time; write 30m, 2h, 1d, 24:00:00 or seconds`);
  return seconds.value;
}

/** An option that chooses records. */
interface Filter {
  readonly option: Option;
  /** The choice for the option's value. Throws a usage error for an invalid value. */
  readonly choose: (text: string) => RecordChoice;
}

function filter<Name extends keyof RecordChoice>(
  name: Name,
  flags: string,
  help: string,
  read: (option: string, text: string) => NonNullable<RecordChoice[Name]>,
): Filter {
  const option = new Option(flags, help);
  return { option, choose: (text) => ({ [name]: read(option.long ?? flags, text) }) };
}

const asIs = (_option: string, text: string): string => text;
const yes = (): true => true;
const no = (): false => false;

const FILTERS: readonly Filter[] = [
  filter('owner', '--owner <user>', 'jobs of this user', asIs),
  filter('project', '--project <name>', 'of this project', asIs),
  {
    option: new Option('--queue <name>', 'in this queue (all.q), or in one of its instances (all.q@node01)'),
    choose: queueChoice,
  },
  filter('host', '--host <name>', 'on this host; with * and ? a pattern, several with commas', asIs),
  filter('pe', '--pe <name>', 'in this parallel environment', asIs),
  filter(
    'job_name',
    '--name <pattern>',
    'of this name; with * and ? a pattern; # (of "top names") stands for *',
    (_option, name) => classPattern(name),
  ),
  filter('cluster', '--cluster <name>', 'of this cluster', asIs),
  filter('states', '--state <states>', 'finished, running, lost or unsampled; several with commas', statesOf),
  filter('failed', '--failed', "that ended badly: exit status, signal or Grid Engine's failed is not 0", yes),
  filter('sampled', '--sampled', 'that have samples', yes),
  filter('sampled', '--unsampled', 'that have no samples', no),
  filter('peak_at_least', '--peak-above <size>', 'with a peak, else maxvmem, of at least this: 4G, 500M', sizeOf),
  filter('peak_at_most', '--peak-below <size>', 'with a peak, else maxvmem, of at most this', sizeOf),
  filter('limit_at_least', '--limit-above <size>', 'with requested memory on the host of at least this', sizeOf),
  filter('limit_at_most', '--limit-below <size>', 'with requested memory on the host of at most this', sizeOf),
  filter(
    'share_at_least',
    '--used-above <percent>',
    'with a peak, else maxvmem, of at least this percentage of the limit',
    shareOf,
  ),
  filter(
    'share_at_most',
    '--used-below <percent>',
    'with a peak, else maxvmem, of at most this percentage of the limit',
    shareOf,
  ),
  filter(
    'wallclock_at_least',
    '--longer-than <time>',
    'that ran at least this long: 30m, 2h, 1d, 24:00:00, seconds',
    secondsOf,
  ),
];

/** Adds the options that choose records. */
export function addRecordFilterOptions(command: Command): Command {
  return FILTERS.reduce((known, { option }) => known.addOption(option), command);
}

/** The filter that the options ask for. Throws a usage error for invalid or contradictory values. */
export function recordChoiceOf(options: RecordFilterOptions): RecordChoice {
  if (options.sampled && options.unsampled)
    throw usageError('--sampled and --unsampled exclude each other: give one of them');
  const { queue, host } = options;
  if (typeof queue === 'string' && queueChoice(queue).host !== undefined && host !== undefined)
    throw usageError(`--queue: "${queue}" names a host: leave --host out`);
  return FILTERS.reduce<RecordChoice>((choice, { option, choose }) => {
    const given = options[option.attributeName()];
    return given === undefined ? choice : { ...choice, ...choose(String(given)) };
  }, {});
}
