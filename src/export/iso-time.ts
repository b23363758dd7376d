const MINUTE_MS = 60_000;
const MOST_KNOWN = 10_000;

/** Minutes since the epoch as `2026-11-24T08:13:`. */
const minutes = new Map<number, string>();

const padded = (count: number, digits: number, after: string): readonly string[] =>
  Array.from({ length: count }, (_item, index) => String(index).padStart(digits, '0') + after);
const SECONDS = padded(60, 2, '.');
const MILLISECONDS = padded(1000, 3, 'Z');

function textOfMinute(minute: number): string {
  const before = minutes.get(minute);
  if (before !== undefined) return before;
  if (minutes.size >= MOST_KNOWN) minutes.clear();
  const text = new Date(minute * MINUTE_MS).toISOString().slice(0, -'00.000Z'.length);
  minutes.set(minute, text);
  return text;
}

/** Whole ms since the epoch as Date.toISOString writes them, in a third of its time where many are of the same minutes. */
export function isoTime(ms: number): string {
  const minute = Math.floor(ms / MINUTE_MS);
  const rest = ms - minute * MINUTE_MS;
  return `${textOfMinute(minute)}${SECONDS[Math.floor(rest / 1000)] ?? ''}${MILLISECONDS[rest % 1000] ?? ''}`;
}
