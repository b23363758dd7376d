/** Values grouped by a key, in the order in which the keys come first. */
export function groupBy<Value, Key>(values: readonly Value[], keyOf: (value: Value) => Key): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  // Of many values mostly the next one is of the same group.
  let before: Key | undefined;
  let group: Value[] | undefined;
  for (const value of values) {
    const key = keyOf(value);
    if (group === undefined || key !== before) {
      group = groups.get(key);
      if (group === undefined) groups.set(key, (group = []));
      before = key;
    }
    group.push(value);
  }
  return groups;
}
