/**
 * Checks of what JSON holds when others wrote it: each gives back the value with its type, made anew of what was asked
 * for and nothing else, or throws Unusable with the place.
 */
export type Check<T> = (value: unknown, path: string) => T;

/** `hosts.value[3].name is no string`. */
export class Unusable extends Error {
  constructor(path: string, problem: string) {
    super(`${path} ${problem}`);
    this.name = 'Unusable';
  }
}

export const text: Check<string> = (value, path) => {
  if (typeof value !== 'string') throw new Unusable(path, 'is no string');
  return value;
};

export const number: Check<number> = (value, path) => {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Unusable(path, 'is no number');
  return value;
};

export const truth: Check<boolean> = (value, path) => {
  if (typeof value !== 'boolean') throw new Unusable(path, 'is neither true nor false');
  return value;
};

/** An absent field is null: a neighbouring version may not know it. */
export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, path) => (value === null || value === undefined ? null : check(value, path));
}

/** For a field that is left out rather than null. */
export function optional<T>(check: Check<T>): Check<T> {
  return (value, path) => (value === null || value === undefined ? (undefined as T) : check(value, path));
}

export function oneOf<const T extends string>(words: readonly T[]): Check<T> {
  return (value, path) => {
    const word = words.find((known) => known === value);
    if (word === undefined) throw new Unusable(path, `is none of ${words.map((known) => `"${known}"`).join(', ')}`);
    return word;
  };
}

export function list<T>(check: Check<T>): Check<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw new Unusable(path, 'is no list');
    return value.map((item, index) => check(item, `${path}[${index}]`));
  };
}

function fields(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unusable(path, 'is no object');
  return value as Record<string, unknown>;
}

/** An object with these fields; others are left out. */
export function record<T>(checks: { readonly [K in keyof T]-?: Check<T[K]> }): Check<T> {
  const entries = Object.entries(checks) as [string, Check<unknown>][];
  return (value, path) => {
    const given = fields(value, path);
    const prefix = path === '' ? '' : `${path}.`;
    const made: Record<string, unknown> = {};
    for (const [name, check] of entries) {
      const item = check(Object.hasOwn(given, name) ? given[name] : undefined, prefix + name);
      if (item !== undefined) made[name] = item;
    }
    return made as T;
  };
}

/** An object of names and numbers, as a map. */
export const numbersByName: Check<ReadonlyMap<string, number>> = (value, path) =>
  new Map(Object.entries(fields(value, path)).map(([name, item]) => [name, number(item, `${path}.${name}`)]));
