const KEEP_MS = 300_000;
/** What was not found may be there soon. */
const KEEP_NOTHING_MS = 10_000;
const MOST_KEPT = 10_000;

interface Keeping<K> {
  readonly keepMs?: number;
  readonly keepNothingMs?: number;
  /** What tells keys apart; left out: the keys themselves. */
  readonly nameOf?: (key: K) => unknown;
}

/**
 * Remembers answers for five minutes, no answer (null) for 10 s, where nothing else is said; who asks meanwhile waits for
 * the same one. A rejection is not remembered.
 */
export function cachedLookup<K, V>(
  find: (key: K) => Promise<V | null>,
  now: () => number,
  { keepMs = KEEP_MS, keepNothingMs = KEEP_NOTHING_MS, nameOf = (key) => key }: Keeping<K> = {},
): (key: K) => Promise<V | null> {
  const kept = new Map<unknown, { readonly holds: () => boolean; readonly answer: Promise<V | null> }>();
  return (key) => {
    const name = nameOf(key);
    const known = kept.get(name);
    if (known?.holds() === true) return known.answer;
    const since = now();
    let until = Infinity;
    // Of a clock that was set back nobody knows how old an answer is.
    const holds = (): boolean => since <= now() && now() < until;
    const answer = find(key);
    kept.delete(name);
    kept.set(name, { holds, answer });
    for (const [oldest, one] of kept) {
      if (one.holds() && kept.size <= MOST_KEPT) break;
      kept.delete(oldest);
    }
    answer.then(
      (value) => (until = now() + (value === null ? keepNothingMs : keepMs)),
      () => kept.delete(name),
    );
    return answer;
  };
}
