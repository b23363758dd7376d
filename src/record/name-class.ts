import { createHash } from 'node:crypto';

/** So long may a name be that records are grouped by: three of them, and a cluster's, fit into a row of an index. */
const MOST = 200;
const DIGEST = 16;

/** A name as records are grouped by it: in one line; a long one shortened, with a digest of the rest. */
export function groupName(name: string): string {
  const line = name.includes('\n') ? name.replaceAll('\n', ' ') : name;
  if (line.length <= MOST) return line;
  const digest = createHash('sha256').update(line).digest('hex').slice(0, DIGEST);
  // Half of a character that is two units long is no text.
  return Buffer.from(`${line.slice(0, MOST - DIGEST - 1)}…${digest}`).toString();
}

/** What names that differ in their digits only have in common: "step_12_of_40" is "step_#_of_#". */
export function nameClass(name: string): string {
  return groupName(name.replace(/\d+/g, '#'));
}
