/** `make` with a cache of its results, which is emptied once it has `most` keys. */
export function remembered<Key, Value>(make: (key: Key) => Value, most: number): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = make(key);
    if (known.size >= most) known.clear();
    known.set(key, made);
    return made;
  };
}
