/** Values grouped by a key, in the order in which the keys come first. */
export function groupBy<Value, Key>(values: readonly Value[], keyOf: (value: Value) => Key): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  // Of many values mostly the next one is of the same group.
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
    // To push into an empty list makes room for 17: here mostly one is all.
    else groups.set(key, (group = [value]));
  }
  return groups;
}
