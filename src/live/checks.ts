/**
 * Checks of what JSON holds when others wrote it: each gives back the value with its type, made anew of what was asked
 * for and nothing else, or throws Unusable with the place.
 */
export type Check<T> = (value: unknown) => T;

/** `hosts.value[3].name is no string`. The place is put together on the way out: values are many, errors are few. */
export class Unusable extends Error {
  constructor(
    readonly problem: string,
    readonly place = '',
  ) {
    super(`${place.startsWith('.') ? place.slice(1) : place} ${problem}`.trim());
    this.name = 'Unusable';
  }
}

/** The same error, told from one step further out. */
function further(error: unknown, step: string): unknown {
  return error instanceof Unusable ? new Unusable(error.problem, step + error.place) : error;
}

export const text: Check<string> = (value) => {
  if (typeof value !== 'string') throw new Unusable('is no string');
  return value;
};

export const number: Check<number> = (value) => {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Unusable('is no number');
  return value;
};

export const truth: Check<boolean> = (value) => {
  if (typeof value !== 'boolean') throw new Unusable('is neither true nor false');
  return value;
};

/** An absent field is null: a neighbouring version may not know it. */
export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value) => (value === null || value === undefined ? null : check(value));
}

/** For a field that is left out rather than null. */
export function optional<T>(check: Check<T>): Check<T> {
  return (value) => (value === null || value === undefined ? (undefined as T) : check(value));
}

export function oneOf<const T extends string>(words: readonly T[]): Check<T> {
  return (value) => {
    const word = words.find((known) => known === value);
    if (word === undefined) throw new Unusable(`is none of ${words.map((known) => `"${known}"`).join(', ')}`);
    return word;
  };
}

export function list<T>(check: Check<T>): Check<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw new Unusable('is no list');
    let index = 0;
    try {
      const items: T[] = [];
      for (; index < value.length; index++) items.push(check(value[index]));
      return items;
    } catch (error) {
      throw further(error, `[${index}]`);
    }
  };
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unusable('is no object');
  return value as Readonly<Record<string, unknown>>;
}

/** An object with these fields; others are left out. */
export function record<T>(checks: { readonly [K in keyof T]-?: Check<T[K]> }): Check<T> {
  const entries = Object.entries<Check<unknown>>(checks);
  return (value) => {
    const given = fields(value);
    const made: Record<string, unknown> = {};
    let at = '';
    try {
      for (const [name, check] of entries) {
        at = name;
        const item = check(Object.hasOwn(given, name) ? given[name] : undefined);
        if (item !== undefined) made[name] = item;
      }
    } catch (error) {
      throw further(error, `.${at}`);
    }
    return made as T;
  };
}

/** An object of names and numbers, as a map. */
export const numbersByName: Check<ReadonlyMap<string, number>> = (value) => {
  const numbers = new Map<string, number>();
  const given = fields(value);
  for (const name of Object.keys(given))
    try {
      numbers.set(name, number(given[name]));
    } catch (error) {
      throw further(error, `.${name}`);
    }
  return numbers;
};
