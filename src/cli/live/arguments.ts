import type { GlobalOptions } from '../command';
import { usageError } from '../command';
import { outputFormat } from '../output';
import type { Terminal } from '../terminal';
import { NO_FILTER, type LiveFilter } from '../../report/live/filter';
import { parsePatterns } from '../../accounting/host-pattern';
import { SORT_KEYS, type Sorting, type WatchPage } from '../../report/live/watch-state';

type FilterOptions = Readonly<Partial<Record<keyof LiveFilter, string>>>;

/** The filter of --owner, --job ... Throws a usage error where one of them names nothing. */
export function filterOf(options: FilterOptions): LiveFilter {
  const given = (['job', 'owner', 'host', 'queue', 'project'] as const).flatMap((field) => {
    const text = options[field];
    if (text === undefined) return [];
    const patterns = parsePatterns(text);
    if (patterns.length === 0) throw usageError(`--${field}: "${text}" names nothing; write a name or a glob`);
    return [[field, patterns] as const];
  });
  return { ...NO_FILTER, ...Object.fromEntries(given) };
}

/** The order of --sort and --reverse. Throws a usage error on a key that is none. */
export function sortingOf(
  page: WatchPage,
  { sort, reverse }: { readonly sort?: string; readonly reverse?: boolean },
): Sorting {
  const keys = SORT_KEYS[page];
  const key = sort ?? keys[0] ?? '';
  if (!keys.includes(key)) throw usageError(`--sort: "${key}" is not a key; write one of ${keys.join(', ')}`);
  return { key, reverse: reverse ?? false };
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** "30m", "2h", "1d" in ms. Throws a usage error that names the option. */
export function parseSpan(option: string, text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text.trim()) ?? [];
  if (count === undefined || unit === undefined)
    throw usageError(`${option}: "${text}" is not a span of time; write 30m, 2h or 1d`);
  return Number(count) * (UNITS[unit] ?? 0);
}

/** Who refreshes more often sees nothing new, but costs. */
const SHORTEST_SECONDS = 1;
const LONGEST_SECONDS = 3600;

/**
 * ms between two refreshes by --watch; null: it was not asked for. Throws a usage error where there is no terminal to
 * watch on, or where the output is for programs.
 */
export function watchInterval(
  options: Pick<GlobalOptions, 'json' | 'csv'> & { readonly watch?: string | true },
  terminal: Terminal,
  usualSeconds: number,
): number | null {
  const { watch } = options;
  if (watch === undefined) return null;
  if (outputFormat(options) !== 'text') throw usageError('--watch is for people: leave --json and --csv out');
  if (!terminal.isTTY)
    throw usageError('--watch needs a terminal to draw on; without it the answer is printed once (also as --json)');
  if (terminal.env.TERM === 'dumb')
    throw usageError('--watch needs a terminal that can move its cursor; TERM is "dumb"');
  const seconds = watch === true ? usualSeconds : /^\d{1,4}(\.\d{1,3})?$/.test(watch) ? Number(watch) : NaN;
  if (!(seconds >= SHORTEST_SECONDS && seconds <= LONGEST_SECONDS))
    throw usageError(`--watch: "${String(watch)}" is not a number of seconds from 1 to 3600`);
  return seconds * 1000;
}
