/** JSON Schema (2020-12, as OpenAPI 3.1 has it), as far as the answers need it. */
export type Schema = Readonly<Record<string, unknown>>;

export const text: Schema = { type: 'string' };
export const number: Schema = { type: 'number' };
export const whole: Schema = { type: 'integer' };
export const flag: Schema = { type: 'boolean' };
export const timestamp: Schema = { type: 'string', format: 'date-time' };
export const epochMs: Schema = { type: 'integer', description: 'ms since the epoch' };
export const bytes: Schema = { type: 'number', description: 'bytes' };

export function word(...words: readonly string[]): Schema {
  return { type: 'string', enum: words };
}

export function nullable(schema: Schema): Schema {
  if (typeof schema.type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const { enum: words } = schema as { readonly enum?: readonly unknown[] };
  return { ...schema, type: [schema.type, 'null'], ...(words === undefined ? {} : { enum: [...words, null] }) };
}

export function list(items: Schema): Schema {
  return { type: 'array', items };
}

export function map(values: Schema): Schema {
  return { type: 'object', additionalProperties: values };
}

/** A schema that stands under `components` by this name. */
export function component(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** An object with a schema for every field of `T`: a field that is added to the type without one does not compile. */
// T is there to be checked against.
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function object<T>(properties: { readonly [Field in keyof T]-?: Schema }, description?: string): Schema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties),
  };
}
