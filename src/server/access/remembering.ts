const KEEP_MS = 300_000;
/** What was not found may be there soon. */
const KEEP_NOTHING_MS = 10_000;
const MOST_KEPT = 10_000;

/** Remembers answers for five minutes, no answer (null) for 10 s; who asks meanwhile waits for the same one. */
export function remembering<K, V>(
  find: (key: K) => Promise<V | null>,
  now: () => number,
): (key: K) => Promise<V | null> {
  const kept = new Map<K, { readonly until: () => number; readonly answer: Promise<V | null> }>();
  return (key) => {
    const known = kept.get(key);
    if (known !== undefined && now() < known.until()) return known.answer;
    let until = Infinity;
    const answer = find(key);
    kept.delete(key);
    kept.set(key, { until: () => until, answer });
    const [oldest] = kept.keys();
    if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
    void answer.then((value) => {
      until = now() + (value === null ? KEEP_NOTHING_MS : KEEP_MS);
    });
    return answer;
  };
}
