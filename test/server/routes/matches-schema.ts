import type { Schema } from '../../../src/base/shape';

/** The keywords of JSON Schema that the descriptions use; any other is an error, so that nothing stays unchecked. */
const KNOWN = new Set([
  ...['$ref', 'type', 'enum', 'const', 'anyOf', 'items', 'properties', 'required', 'additionalProperties'],
  ...['description', 'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'propertyNames'],
]);

type Table = Readonly<Record<string, unknown>>;

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value)) return 'integer';
  return typeof value;
}

function hasType(value: unknown, wanted: string): boolean {
  const found = typeOf(value);
  return found === wanted || (wanted === 'number' && found === 'integer');
}

/**
 * Where `value` does not match `schema`, one line each. Stricter than the standard: a property that is not
 * described is an error, unless the schema names none at all.
 */
export function schemaFaults(value: unknown, schema: Schema, components: Table, path = '$'): readonly string[] {
  const strange = Object.keys(schema).filter((word) => !KNOWN.has(word));
  if (strange.length > 0) return [`${path}: the schema has ${strange.join(', ')}`];
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.replace('#/components/schemas/', '');
    const found = components[name];
    return found === undefined
      ? [`${path}: no component ${name}`]
      : schemaFaults(value, found as Schema, components, path);
  }
  if (Array.isArray(schema.anyOf)) {
    const each = schema.anyOf.map((one) => schemaFaults(value, one as Schema, components, path));
    return each.some((faults) => faults.length === 0) ? [] : (each[0] ?? []);
  }
  if ('const' in schema && schema.const !== value) return [`${path}: is not ${JSON.stringify(schema.const)}`];
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) return [`${path}: is none of the words`];
  const types = [schema.type ?? []].flat() as string[];
  if (types.length > 0 && !types.some((type) => hasType(value, type)))
    return [`${path}: ${typeOf(value)} is not ${types.join(' or ')}`];
  if (typeof value === 'string') {
    if (typeof schema.pattern === 'string' && !new RegExp(schema.pattern, 'u').test(value)) return [`${path}: pattern`];
    if (schema.format === 'date-time' && !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return [`${path}: no date-time`];
  }
  if (Array.isArray(value)) {
    const { items } = schema as { readonly items?: Schema };
    return items === undefined
      ? []
      : value.flatMap((item, index) => schemaFaults(item, items, components, `${path}[${index}]`));
  }
  if (typeof value === 'object' && value !== null) return objectFaults(value as Table, schema, components, path);
  return [];
}

function objectFaults(value: Table, schema: Schema, components: Table, path: string): readonly string[] {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
  const others = schema.additionalProperties as Schema | undefined;
  const anything = others === undefined && Object.keys(properties).length === 0;
  const names = schema.propertyNames as Schema | undefined;
  const missing = ((schema.required ?? []) as string[]).filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => `${path}.${name}: missing`),
    ...Object.entries(value).flatMap(([name, item]) => {
      if (names !== undefined && schemaFaults(name, names, components, `${path} name`).length > 0)
        return [`${path}.${name}: not such a name`];
      const known = Object.hasOwn(properties, name) ? properties[name] : others;
      if (known !== undefined) return schemaFaults(item, known, components, `${path}.${name}`);
      return anything ? [] : [`${path}.${name}: not described`];
    }),
  ];
}
