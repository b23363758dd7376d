import type { Schema } from '../../base/shape';

/**
 * Describes JSON answers once: each member has its JSON Schema and takes its value from an item. So the JSON of a
 * command, the answer of the server and its OpenAPI description can't differ. Bytes, seconds, ISO 8601 times; null:
 * unknown.
 */
interface Member<T> {
  readonly schema: Schema;
  readonly of: (item: T) => unknown;
}

export type Members<T> = Readonly<Record<string, Member<T>>>;
export type Fields = Readonly<Record<string, unknown>>;

export interface AnswerObject<T> {
  /** Its name in the OpenAPI description. */
  readonly name: string;
  readonly members: readonly string[];
  readonly schema: Schema;
  readonly fields: (item: T) => Fields;
}

export function answerObject<T>(name: string, members: Members<T>, description?: string): AnswerObject<T> {
  const entries = Object.entries(members);
  const names = Object.keys(members);
  return {
    name,
    members: names,
    schema: {
      type: 'object',
      ...(description === undefined ? {} : { description }),
      properties: Object.fromEntries(entries.map(([key, { schema }]) => [key, schema])),
      required: names,
    },
    fields: (item) => Object.fromEntries(entries.map(([key, { of }]) => [key, of(item)])),
  };
}

/** Members of a part of an item, as members of the item itself. */
export function through<T, P>(members: Members<P>, part: (item: T) => P): Members<T> {
  return Object.fromEntries(
    Object.entries(members).map(([key, { schema, of }]) => [key, { schema, of: (item: T) => of(part(item)) }]),
  );
}

/** A member whose values are of type `V`. */
type Kind<V> = <T>(of: (item: T) => V) => Member<T>;

function kind(schema: Schema): Kind<unknown> {
  return (of) => ({ schema, of });
}

export const text: Kind<string> = kind({ type: 'string' });
export const maybeText: Kind<string | null> = kind({ type: ['string', 'null'] });
export const flag: Kind<boolean> = kind({ type: 'boolean' });
export const whole: Kind<number> = kind({ type: 'integer' });
export const maybeWhole: Kind<number | null> = kind({ type: ['integer', 'null'] });
export const amount: Kind<number> = kind({ type: 'number' });
export const maybeAmount: Kind<number | null> = kind({ type: ['number', 'null'] });
export const texts: Kind<readonly string[]> = kind({ type: 'array', items: { type: 'string' } });

export function word<T, V extends string>(known: readonly V[], of: (item: T) => V): Member<T> {
  return { schema: { type: 'string', enum: known }, of };
}

/** A time, from ms since the epoch; null far beyond the calendar (a trend that hardly rises). */
export function time<T>(of: (item: T) => number | null): Member<T> {
  const isoOf = (at: number | null): string | null => {
    const date = new Date(at ?? NaN);
    return Number.isNaN(date.getTime()) ? null : date.toISOString();
  };
  return { schema: { type: ['string', 'null'], format: 'date-time' }, of: (item) => isoOf(of(item)) };
}

export function reference({ name }: Pick<AnswerObject<never>, 'name'>): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export function one<T, P>(inner: AnswerObject<P>, of: (item: T) => P): Member<T> {
  return { schema: reference(inner), of: (item) => inner.fields(of(item)) };
}

export function maybeOne<T, P>(inner: AnswerObject<P>, of: (item: T) => P | null): Member<T> {
  return {
    schema: { anyOf: [reference(inner), { type: 'null' }] },
    of: (item) => {
      const part = of(item);
      return part === null ? null : inner.fields(part);
    },
  };
}

export function many<T, P>(inner: AnswerObject<P>, of: (item: T) => readonly P[]): Member<T> {
  return { schema: { type: 'array', items: reference(inner) }, of: (item) => of(item).map(inner.fields) };
}
