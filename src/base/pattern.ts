/** The index after the character at `at`, which may take two code units. */
const after = (text: string, at: number): number => at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);

/**
 * Whether `text` matches `pattern`: `*` stands for any characters, `?` for one, everything else for itself. The time
 * grows at most with the product of the lengths, whatever the content.
 */
export function matchesPattern(text: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  // The index of the last star, and how far in the text it reaches so far.
  let star = -1;
  let reached = 0;
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next;
      reached = at;
      next += 1;
    } else if (pattern[next] === '?' || pattern.codePointAt(next) === text.codePointAt(at)) {
      at = after(text, at);
      next = after(pattern, next);
    } else if (star >= 0) {
      reached = after(text, reached);
      at = reached;
      next = star + 1;
    } else return false;
  }
  while (pattern[next] === '*') next += 1;
  return next === pattern.length;
}
