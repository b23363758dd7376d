/** Values grouped by a key; the groups are in the order in which their keys first occur. */
export function groupBy<Value, Key>(values: readonly Value[], keyOf: (value: Value) => Key): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  // The next value mostly belongs to the same group.
  let before: Key | undefined;
  let group: Value[] | undefined;
  for (const value of values) {
    const key = keyOf(value);
    if (group !== undefined && key === before) {
      group.push(value);
      continue;
    }
    before = key;
    group = groups.get(key);
    if (group !== undefined) group.push(value);
    // Pushing into an empty list reserves 17 places, but most groups have only one value.
    else groups.set(key, (group = [value]));
  }
  return groups;
}
