import { readSpan } from '../../base/units';
import type { JobOrTask } from '../../live/unfinished-job';
import { FLAG, SHARE, type LiveOption, type LiveOptions } from '../../report/live/live-options';
import { LAST_MS, oneOf, type Schema } from '../../base/shape';

/** A parameter in a request's path or query. `read` returns null for an invalid value. */
export interface Parameter<T> {
  readonly in: 'path' | 'query';
  readonly description: string;
  readonly schema: Schema;
  /** What to write instead, for the one line of the error. */
  readonly expected: string;
  readonly read: (text: string, now: number) => T | null;
}

type QueryParameter<T> = Parameter<T> & { readonly in: 'query' };
export type PathParameter<T> = Parameter<T> & { readonly in: 'path' };

export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

export type Values<P extends Parameters> = { readonly [Name in keyof P]: Read<P[Name]> };

/** A parameter in the query may be left out, one in the path can't. */
type Read<P> = P extends Parameter<infer T> ? (P extends { readonly in: 'path' } ? T : T | undefined) : never;

/** Room for a list of a hundred host names. */
const LONGEST_NAME = 4096;

function nameOf(text: string): string | null {
  return text !== '' && text.length <= LONGEST_NAME ? text : null;
}

export function queryName(description: string): QueryParameter<string> {
  return {
    in: 'query',
    description,
    schema: { type: 'string', minLength: 1, maxLength: LONGEST_NAME },
    expected: `a name, at most ${LONGEST_NAME} characters long`,
    read: nameOf,
  };
}

export function pathName(description: string): PathParameter<string> {
  return { ...queryName(description), in: 'path' };
}

type OptionParameters<O extends LiveOptions> = {
  readonly [Name in keyof O]: (O[Name] extends LiveOption<infer T> ? Parameter<T> : never) & { readonly in: 'query' };
};

function queryOption<T>(
  description: string,
  { schema, write, read }: Pick<LiveOption<T>, 'schema' | 'write' | 'read'>,
): QueryParameter<T> {
  return { in: 'query', description, schema, expected: write, read };
}

/** Parameters made from options of the live commands. */
export function queryOptions<O extends LiveOptions>(options: O): OptionParameters<O> {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, queryOption(option.help, option)]),
  ) as unknown as OptionParameters<O>;
}

function readJob(text: string): JobOrTask | null {
  const match = /^([1-9]\d{0,9})(?:\.([1-9]\d{0,9}))?$/.exec(text);
  return match === null ? null : { job: Number(match[1]), task: match[2] === undefined ? null : Number(match[2]) };
}

export const pathJob: PathParameter<JobOrTask> = {
  in: 'path',
  description: 'job number, or number.task for a task of an array job',
  schema: { type: 'string', pattern: '^[1-9][0-9]{0,9}(\\.[1-9][0-9]{0,9})?$' },
  expected: '4711, or 4711.3 for task 3',
  read: readJob,
};

export function queryJobs(description: string, most: number): QueryParameter<readonly JobOrTask[]> {
  return {
    in: 'query',
    description: `${description}, ${most} at most`,
    schema: {
      type: 'string',
      pattern: '^[1-9][0-9]{0,9}(\\.[1-9][0-9]{0,9})?(,[1-9][0-9]{0,9}(\\.[1-9][0-9]{0,9})?)*$',
    },
    expected: `4711,4720.3: up to ${most} jobs, with commas`,
    read: (text) => {
      const parts = [...new Set(text.split(',').map((part) => part.trim()))];
      const jobs = parts.flatMap((part) => readJob(part) ?? []);
      return jobs.length === parts.length && jobs.length <= most ? jobs : null;
    },
  };
}

/**
 * ms since the epoch, from "7d" (ago), "2026-11-01", "2026-11-01T08:00:00Z" (UTC if no zone is given), or that number.
 */
function readTime(text: string, now: number): number | null {
  const span = readSpan(text);
  if (span !== null) return Math.max(0, now - span);
  if (/^\d{1,15}$/.test(text)) return Number(text) <= LAST_MS ? Number(text) : null;
  const moment = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text);
  if (moment === null) return null;
  const time = Date.parse(`${moment[1]}T${moment[2] ?? '00:00'}${moment[3] ?? 'Z'}`);
  return time >= 0 && time <= LAST_MS ? time : null;
}

export function queryTime(description: string): QueryParameter<number> {
  return {
    in: 'query',
    description: `${description}: 7d, 12h, 30m (ago), 2026-11-01, 2026-11-01T08:00:00Z (UTC where no zone is given), or ms since the epoch`,
    schema: { type: 'string' },
    expected: '7d, 12h, 2026-11-01, 2026-11-01T08:00:00Z or ms since the epoch',
    read: readTime,
  };
}

/** True: `all`, `all=1`, `all=true`; false: `all=0`, `all=false`. */
export const queryFlag = (description: string): QueryParameter<boolean> => queryOption(description, FLAG);

export function queryWord<T extends string>(description: string, words: readonly T[]): QueryParameter<T> {
  return {
    in: 'query',
    description,
    schema: oneOf(words).schema,
    expected: words.join(', '),
    read: (text) => words.find((known) => known === text) ?? null,
  };
}

export function queryCount(description: string, most: number): QueryParameter<number> {
  return {
    in: 'query',
    description,
    schema: { type: 'integer', minimum: 1, maximum: most },
    expected: `a number of 1 to ${most}`,
    read: (text) => (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= most ? Number(text) : null),
  };
}

export function queryNumbers(description: string, most: number): QueryParameter<readonly number[]> {
  return {
    in: 'query',
    description: `${description}, ${most} at most`,
    schema: { type: 'string', pattern: '^-?[0-9]+(,-?[0-9]+)*$' },
    expected: `17,-4: up to ${most} numbers, with commas`,
    read: (text) => {
      const numbers = /^-?\d{1,15}(?:,-?\d{1,15})*$/.test(text) ? text.split(',').map(Number) : [];
      return numbers.length > 0 && numbers.length <= most ? numbers : null;
    },
  };
}

export const queryShare = (description: string): QueryParameter<number> => queryOption(description, SHARE);

export function queryWords<T extends string>(description: string, words: readonly T[]): QueryParameter<readonly T[]> {
  const choice = words.join('|');
  return {
    in: 'query',
    description,
    schema: { type: 'string', pattern: `^(?:${choice})(?:,(?:${choice}))*$` },
    expected: `${words.join(', ')}, several with commas`,
    read: (text) => {
      const found = text.split(',').flatMap((part) => words.find((known) => known === part) ?? []);
      return found.length === text.split(',').length ? [...new Set(found)] : null;
    },
  };
}

/** An amount: bytes, seconds, a share that may be above 1. */
export function queryAmount(description: string): QueryParameter<number> {
  return {
    in: 'query',
    description,
    schema: { type: 'number', minimum: 0 },
    expected: 'a number of 0 or more',
    read: (text) => (/^\d{1,16}(?:\.\d{1,17})?(?:e[+-]?\d{1,2})?$/.test(text) ? Number(text) : null),
  };
}
