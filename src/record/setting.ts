import { boolean, fail, integer, map, number, oneOf, refined, string, type Shape, isObject } from '../base/shape';

/** One key of `qmemacct.toml`: its default, what may be written there, and what it is for. */
export interface Setting<T> {
  readonly fallback: T;
  readonly shape: Shape<T>;
  /** What may be written: `0.05 to 3600 s`. Empty: the help says all. */
  readonly allowed: string;
  readonly help: string;
  /** What to write instead of a wrong value; left out: the default is shown. */
  readonly hint?: string;
}

export function flag(fallback: boolean, help: string): Setting<boolean> {
  return { fallback, shape: boolean, allowed: '', help };
}

interface Range {
  readonly least: number;
  /** Infinity: `inf` may be written. */
  readonly most: number;
  /** `s`, `ms`, `days` ...; left out: a count. */
  readonly unit?: string;
}

function rangeText({ least, most, unit }: Range): string {
  const suffix = unit === undefined ? '' : ` ${unit}`;
  return most === Infinity ? `${least}${suffix} or more, or inf` : `${least} to ${most}${suffix}`;
}

export function amount(fallback: number, range: Range, help: string): Setting<number> {
  return { fallback, shape: number(range.least, range.most), allowed: rangeText(range), help };
}

/** A whole number. */
export function count(fallback: number, range: Range, help: string): Setting<number> {
  return { fallback, shape: integer(range.least, range.most), allowed: rangeText(range), help };
}

/** Line feeds would add lines to what is made from the settings: files of the installation, mails, logs. */
const isPlain = (value: string): boolean => !/\p{Cc}/u.test(value);

/** Any text without control characters, or only text for which `problem` returns null. */
export function text(
  fallback: string,
  help: string,
  { problem, hint }: { readonly problem?: (value: string) => string | null; readonly hint?: string } = {},
): Setting<string> {
  const shape = refined(string, (value) => {
    const found = isPlain(value) ? (problem?.(value) ?? null) : 'holds a control character';
    return found === null ? value : fail(found);
  });
  return { fallback, shape, allowed: '', help, ...(hint === undefined ? {} : { hint }) };
}

export function choice<const T extends string>(words: readonly T[], fallback: NoInfer<T>, help: string): Setting<T> {
  const known = oneOf(words);
  const shape: Shape<T> = { ...known, read: (value) => known.read(string.read(value)) };
  return { fallback, shape, allowed: words.map((word) => `"${word}"`).join(', '), help };
}

/** What is wrong with a path; null: nothing. */
export const pathProblem = (value: string): string | null => (value.startsWith('/') ? null : 'is not an absolute path');

export function path(fallback: string, help: string): Setting<string> {
  return text(fallback, help, { problem: pathProblem });
}

export function pathOrNone(fallback: string, help: string): Setting<string> {
  return text(fallback, help, { problem: (value) => (value === '' ? null : pathProblem(value)) });
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);

export function texts(fallback: readonly string[], help: string): Setting<readonly string[]> {
  const shape: Shape<readonly string[]> = {
    read: (value) => {
      if (!isTexts(value)) return fail('is not a list of strings');
      return value.every(isPlain) ? value : fail('holds a control character');
    },
    schema: { type: 'array', items: string.schema },
  };
  return { fallback, shape, allowed: '', help };
}

/** Lists of strings by name. */
export function textsByName(help: string): Setting<Readonly<Record<string, readonly string[]>>> {
  return { fallback: {}, shape: table(texts([], '').shape), allowed: '', help };
}

/** A value that the site may set in a source's table. */
export type OptionValue = string | number | boolean | readonly string[];

const option: Shape<OptionValue> = {
  read: (value) =>
    isText(value) || typeof value === 'number' || typeof value === 'boolean' || isTexts(value)
      ? value
      : fail('is not a string, number, boolean or list of strings'),
  schema: {},
};

/** A TOML table; the parser's dates are objects, too, and refused. */
function table<T>(values: Shape<T>): Shape<Readonly<Record<string, T>>> {
  const members = map(values, { key: /^/, what: 'name', most: Infinity });
  return {
    ...members,
    read: (value) => (isObject(value) && !(value instanceof Date) ? members.read(value) : fail('is not a table')),
  };
}

type SourceTables = Readonly<Record<string, Readonly<Record<string, OptionValue>>>>;

/** Tables `[sources.NAME]`; names and keys are checked where the sources are known (source-settings.ts). */
export function sourceTables(help: string): Setting<SourceTables> {
  return {
    fallback: {},
    shape: table(table(option)),
    allowed: '',
    help,
    hint: 'write [sources.NAME] and keys below it',
  };
}
