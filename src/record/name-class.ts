import { createHash } from 'node:crypto';

/** So long may a name be that records are grouped by: it fits into a row of PostgreSQL's indexes. */
const MOST = 800;
const DIGEST = 16;

/** A name as records are grouped by it: a long one shortened, with a digest of all of it. */
export function groupName(name: string, most = MOST): string {
  if (name.length <= most) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST);
  // Half of a character that is two units long is no text.
  return Buffer.from(`${name.slice(0, most - DIGEST - 1)}…${digest}`).toString();
}

/** What names that differ in their digits only have in common: "step_12_of_40" is "step_#_of_#". */
export function nameClass(name: string): string {
  return name.replace(/\d+/g, '#');
}
