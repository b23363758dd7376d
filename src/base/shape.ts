import { jsonIn } from './json-in';
import { failure, success, type Result } from './result';

/**
 * Shapes of data that comes from outside: one description gives the TypeScript type, the check (which also brings a value
 * into its normal form) and the JSON Schema. Own code, not a library: it must load in a sampler within its memory budget,
 * name the place of each fault, and normalise while it checks.
 */

/** JSON Schema (2020-12, as OpenAPI 3.1 has it), as far as it is needed. */
export type Schema = Readonly<Record<string, unknown>>;

export interface Shape<T> {
  /** The value in its normal form. Throws ShapeError. `undefined` stands for an absent member. */
  readonly read: (value: unknown) => T;
  readonly schema: Schema;
  /** An object may leave this member out. */
  readonly isOptional?: boolean;
}

export type ValueOf<S> = S extends Shape<infer T> ? T : never;

/** What is wrong with a value, and where in it: "hosts[3].name is not a string". */
class ShapeError extends Error {
  constructor(
    readonly problem: string,
    readonly place = '',
  ) {
    super(`${place.startsWith('.') ? place.slice(1) : place} ${problem}`);
    this.name = 'ShapeError';
  }
}

export function fail(problem: string): never {
  throw new ShapeError(problem);
}

/** The error as seen one level further out. Places are only built for errors, which are few, while values are many. */
function further(error: unknown, step: string): unknown {
  return error instanceof ShapeError ? new ShapeError(error.problem, step + error.place) : error;
}

/** `value` in its normal form, or what is wrong with it, in one line in which `what` names the whole. Never throws. */
export function check<T>(shape: Shape<T>, value: unknown, what: string): Result<T> {
  try {
    return success(shape.read(value));
  } catch (error) {
    if (error instanceof ShapeError) return failure(error.place === '' ? `${what} ${error.problem}` : error.message);
    // Objects from outside may throw when their members are read.
    return failure(`can't be checked (${error instanceof Error ? error.message : 'unknown reason'})`);
  }
}

/** As `check`, for a value in JSON. Never throws. */
export function checkJson<T>(shape: Shape<T>, json: string, what: string): Result<T> {
  const value = jsonIn(json);
  return value === undefined ? failure(`${what} is not JSON`) : check(shape, value, what);
}

export function number(least = -Number.MAX_VALUE, most = Number.MAX_VALUE): Shape<number> {
  return {
    read: (value) => {
      if (typeof value !== 'number' || !(value >= least && value <= most))
        return fail(`is not a number ${most === Infinity ? `from ${least} on, or inf` : `of ${least} to ${most}`}`);
      // Turns -0 into 0: no store keeps the sign of a zero.
      return value + 0;
    },
    schema: { type: 'number' },
  };
}

export function integer(least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER): Shape<number> {
  const inRange = number(least, most);
  return {
    read: (value) => {
      const checked = inRange.read(value);
      return Number.isSafeInteger(checked) ? checked : fail('is not a whole number');
    },
    schema: { type: 'integer' },
  };
}

export const boolean: Shape<boolean> = {
  read: (value) => (typeof value === 'boolean' ? value : fail('is not true or false')),
  schema: { type: 'boolean' },
};

/** Any value. */
export const anything: Shape<unknown> = { read: (value) => value, schema: {} };

/** A string as it is. */
export const string: Shape<string> = {
  read: (value) => (typeof value === 'string' ? value : fail('is not a string')),
  schema: { type: 'string' },
};

/** A string of at most `mostBytes` in UTF-8. Lone surrogates, which no UTF-8 store can hold, and NUL become U+FFFD. */
export function text(mostBytes: number): Shape<string> {
  return {
    read: (value) => {
      if (typeof value !== 'string') return fail('is not a string');
      const whole = value.length > mostBytes ? value : value.replace(/[\p{Cs}\0]/gu, '\uFFFD');
      return Buffer.byteLength(whole) > mostBytes ? fail(`is longer than ${mostBytes} bytes`) : whole;
    },
    schema: { type: 'string' },
  };
}

/** A text that is not empty. */
export function name(mostBytes: number): Shape<string> {
  const any = text(mostBytes);
  return { read: (value) => any.read(value) || fail('is empty'), schema: any.schema };
}

/** Last ms of the year 9999 (since the epoch): later times have no four-digit year. */
export const LAST_MS = 253402300799999;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/** A time since 1970 in UTC (ISO 8601), in the form of `toISOString`. */
export const time: Shape<string> = {
  read: (value) => {
    if (typeof value !== 'string' || value.length > 40 || !TIME.test(value)) return fail('is not an ISO 8601 UTC time');
    const ms = Date.parse(value);
    if (!(ms >= 0 && ms <= LAST_MS)) return fail('is not a time since 1970');
    const normal = new Date(ms).toISOString();
    // Date.parse reads 30 February as 2 March (1 March in leap years).
    return normal.slice(0, 19) === value.slice(0, 19) ? normal : fail('is not a date of the calendar');
  },
  schema: { type: 'string', format: 'date-time' },
};

export function oneOf<const T extends string>(known: readonly T[]): Shape<T> {
  return {
    read: (value) => known.find((item) => item === value) ?? fail(`is none of ${known.join(', ')}`),
    schema: { type: 'string', enum: known },
  };
}

/** This value and no other. */
export function constant<const T extends string | number | boolean>(wanted: T): Shape<T> {
  return {
    read: (value) => (value === wanted ? wanted : fail(`is not ${JSON.stringify(wanted)}`)),
    schema: { const: wanted },
  };
}

/** The shape's values, or null; an absent value becomes null. */
export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  const { schema } = shape;
  const words: readonly unknown[] | null = Array.isArray(schema.enum) ? schema.enum : null;
  return {
    read: (value) => (value === null || value === undefined ? null : shape.read(value)),
    schema:
      typeof schema.type !== 'string'
        ? { anyOf: [schema, { type: 'null' }] }
        : { ...schema, type: [schema.type, 'null'], ...(words === null ? {} : { enum: [...words, null] }) },
  };
}

export function list<T>(item: Shape<T>, most = Infinity): Shape<readonly T[]> {
  return {
    read: (value) => {
      if (!Array.isArray(value)) return fail('is not a list');
      if (value.length > most) return fail(`has more than ${most} items`);
      let index = 0;
      try {
        const items: T[] = [];
        for (; index < value.length; index++) items.push(item.read(value[index]));
        return items;
      } catch (error) {
        throw further(error, `[${index}]`);
      }
    },
    schema: { type: 'array', items: item.schema },
  };
}

/** Members of a vocabulary, each once, in the vocabulary's order. */
export function setOf<const T extends string>(known: readonly T[]): Shape<readonly T[]> {
  const members = list(oneOf(known), known.length);
  return {
    read: (value) => {
      const given = members.read(value);
      return known.filter((item) => given.includes(item));
    },
    schema: members.schema,
  };
}

/** An own property: inherited ones are no members. */
function ownMember(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const anObject = (value: unknown): object => (isObject(value) ? value : fail('is not an object'));

export type Members = Readonly<Record<string, Shape<unknown>>>;
type OptionalIn<M extends Members> = { [Name in keyof M]: M[Name] extends Optional<unknown> ? Name : never }[keyof M];
type ObjectOf<M extends Members> = {
  readonly [Name in Exclude<keyof M, OptionalIn<M>>]: ValueOf<M[Name]>;
} & { readonly [Name in OptionalIn<M>]?: ValueOf<M[Name]> };

/** An object with these members; others are dropped. */
export function object<M extends Members>(members: M, description?: string): Shape<ObjectOf<M>> {
  const entries = Object.entries(members);
  return {
    read: (value) => {
      const given = anObject(value);
      const made: Record<string, unknown> = {};
      let at = '';
      try {
        for (const [key, shape] of entries) {
          at = key;
          const member = shape.read(ownMember(given, key));
          if (member !== undefined) made[key] = member;
        }
      } catch (error) {
        throw further(error, `.${at}`);
      }
      return made as ObjectOf<M>;
    },
    schema: {
      type: 'object',
      ...(description === undefined ? {} : { description }),
      properties: Object.fromEntries(entries.map(([key, { schema }]) => [key, schema])),
      required: entries.flatMap(([key, shape]) => (shape.isOptional === true ? [] : [key])),
    },
  };
}

interface Optional<T> extends Shape<T> {
  readonly isOptional: true;
}

/** A member that may be absent; null is read as absent. */
export function optional<T>(shape: Shape<T>): Optional<T> {
  return {
    read: (value) => (value === null || value === undefined ? (undefined as T) : shape.read(value)),
    schema: shape.schema,
    isOptional: true,
  };
}

/** Any names, any number of them. */
const ANY_KEYS = { key: /^/, what: 'name', most: Infinity };

/** Values by name; absent: none. `key`: the form of a name; `what`: what errors call a name. */
export function map<T>(
  values: Shape<T>,
  { key, what, most }: { readonly key: RegExp; readonly what: string; readonly most: number } = ANY_KEYS,
): Shape<Readonly<Record<string, T>>> {
  return {
    read: (value) => {
      const entries = Object.entries(anObject(value ?? {}));
      if (entries.length > most) return fail(`has more than ${most} items`);
      return Object.fromEntries(
        entries.map(([name, member]: [string, unknown]) => {
          if (!key.test(name)) fail(`has a key that is no ${what}`);
          try {
            return [name, values.read(member)];
          } catch (error) {
            throw further(error, `.${name}`);
          }
        }),
      );
    },
    schema: { type: 'object', additionalProperties: values.schema },
  };
}

/** As a map, its members in the order of their names: PostgreSQL's jsonb has an order of its own. */
export const inOrder = <T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));

/** The shape with its own name in the reference: its schema is `#/components/schemas/NAME`. */
export function named<T>(shape: Shape<T>, component: string): Shape<T> {
  return { read: shape.read, schema: { $ref: `#/components/schemas/${component}` } };
}

/** The shape with a further check or conversion of its values. */
export function refined<T, R = T>(shape: Shape<T>, refine: (value: T) => R): Shape<R> {
  return { read: (value) => refine(shape.read(value)), schema: shape.schema };
}

/** The shape with a description for the reference. */
export function described<T>(shape: Shape<T>, description: string): Shape<T> {
  return { read: shape.read, schema: { ...shape.schema, description } };
}
