/** The character of `text` at a place may take two. */
const after = (text: string, at: number): number => at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);

/**
 * Whether `text` is what `pattern` says: `*` stands for any characters, `?` for one, everything else for itself. Time
 * grows with the product of the lengths at most, whatever they hold.
 */
export function matchesPattern(text: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  // Where the last star stood, and up to where it reaches so far.
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
