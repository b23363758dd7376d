const KINDS = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const;

function kindOf(value: unknown): number {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return KINDS.findIndex((known) => known === kind);
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function compareLists(a: readonly unknown[], b: readonly unknown[]): number {
  for (const [index, item] of a.entries()) {
    if (index >= b.length) return 1;
    const order = compareValues(item, b[index]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function pairs(value: object): readonly unknown[] {
  return Object.entries(value)
    .sort(([a], [b]) => compareText(a, b))
    .flat();
}

/**
 * A total order of JSON values: by kind (null, boolean, number, string, array, object), then by value; strings by their
 * UTF-8 bytes, arrays item by item, objects by their sorted keys, each with its value.
 */
export function compareValues(a: unknown, b: unknown): number {
  const order = kindOf(a) - kindOf(b);
  if (order !== 0 || a === b) return order;
  if (typeof a === 'number' || typeof a === 'boolean') return Number(a) - Number(b);
  if (typeof a === 'string') return compareText(a, b as string);
  if (Array.isArray(a)) return compareLists(a, b as readonly unknown[]);
  return a === null ? 0 : compareLists(pairs(a as object), pairs(b as object));
}
