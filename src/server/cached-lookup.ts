import { Latest } from '../base/latest';

const KEEP_MS = 300_000;
/** Short, since what was not found may appear soon. */
const KEEP_NOTHING_MS = 10_000;
const MOST_KEPT = 10_000;

interface Keeping<K> {
  readonly keepMs?: number;
  readonly keepNothingMs?: number;
  /** The identity by which keys are compared; left out: the key itself. */
  readonly nameOf?: (key: K) => unknown;
}

/**
 * Remembers answers for five minutes and null for 10 s, unless the options say otherwise. Calls for a key whose lookup
 * is under way share its answer. A rejection is not remembered.
 */
export function cachedLookup<K, V>(
  find: (key: K) => Promise<V | null>,
  now: () => number,
  { keepMs = KEEP_MS, keepNothingMs = KEEP_NOTHING_MS, nameOf = (key) => key }: Keeping<K> = {},
): (key: K) => Promise<V | null> {
  const kept = new Latest<unknown, { readonly holds: () => boolean; readonly answer: Promise<V | null> }>(MOST_KEPT);
  return (key) => {
    const name = nameOf(key);
    const known = kept.get(name);
    if (known?.holds() === true) return known.answer;
    const since = now();
    let until = Infinity;
    // If the clock was set back, the answer's age is unknown: it no longer holds.
    const holds = (): boolean => since <= now() && now() < until;
    const answer = find(key);
    kept.set(name, { holds, answer });
    answer.then(
      (value) => (until = now() + (value === null ? keepNothingMs : keepMs)),
      () => (until = -Infinity),
    );
    return answer;
  };
}
