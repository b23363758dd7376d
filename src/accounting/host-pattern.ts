/** "alice,bob*" as its parts, without blanks around them and without empty ones. */
export function parsePatterns(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/**
 * Whether the host of a filter may be several: names and patterns (`*`, `?`) with commas between them. One without a dot
 * also means hosts whose first label it matches: `ge*`, `node0?`, `node01,node02.cluster.example`.
 */
export function isHostPattern(host: string): boolean {
  return /[*?,]/.test(host);
}
