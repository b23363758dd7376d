import type * as Crypto from 'node:crypto';
import { nameClass } from '../../record/name-class';
import type { Dictionary } from '../columns';
import { DIMENSIONS, type Dimension } from '../summary';

/** An owner, a project, a queue, a host, a class of job names; null: the record has none. */
export type GroupKey = string | null;

/** All that days are summed up by, the narrower dimension last; stores number them by position: append only. */
export const GROUPING_SETS: readonly (readonly Dimension[])[] = [
  // All of a cluster.
  [],
  ...DIMENSIONS.map((name) => [name]),
  // A user's kinds of jobs, a project's users, and what kinds of jobs a project's user has.
  ['owner', 'job_name'],
  ['project', 'owner'],
  ['project', 'owner', 'job_name'],
];

/** Between the keys of several dimensions, and what stands for it in a key. */
const SEPARATOR = '\n';
const IN_KEY = '\u0001';
const AFTER_SEPARATOR = '\u000b';

const PLACES = GROUPING_SETS.map((set) => set.map((name) => DIMENSIONS.indexOf(name)));

const BINNED = GROUPING_SETS.map((set) => set.length < 2 || set.at(-1) !== 'job_name');

/** Whether bins are kept of it: nothing is filtered by the last of several dimensions where that is the name. */
export const hasBins = (set: number): boolean => BINNED[set] ?? false;

/** Bytes of a name, and of any other key: of three together so much fits into a row of PostgreSQL's indexes. */
const MOST_OF_NAME = 1400;
const MOST = 450;
const DIGEST = 16;
/** Before the digest of a key that was cut. */
export const CUT = '…';

/** As a group's key: of a name its class; what is too long is cut and has a digest of all of it. */
export function groupKey(dimension: Dimension, text: string): string {
  const key = dimension === 'job_name' ? nameClass(text) : text;
  const most = dimension === 'job_name' ? MOST_OF_NAME : MOST;
  if (3 * key.length <= most || Buffer.byteLength(key) <= most) return key;
  // Loaded for the few that need it: it would cost every delivery 3 ms.
  const { createHash } = require('node:crypto') as typeof Crypto;
  const digest = createHash('sha256').update(key).digest('hex').slice(0, DIGEST);
  // The cut may leave a part of a character, which becomes one of three bytes.
  const kept = Buffer.from(key).subarray(0, most - DIGEST - 6);
  return `${kept.toString()}${CUT}${digest}`;
}

/** The key of what a record says; an empty name is none. */
export function recordKey(dimension: Dimension, word: string | null): GroupKey {
  return word === null || word === '' ? null : groupKey(dimension, word);
}

/** The number of the grouping set of these dimensions, with `last` the narrowest; null: there is none. */
export function groupingSet(names: ReadonlySet<Dimension>, last?: Dimension): number | null {
  const found = GROUPING_SETS.findIndex(
    (set) =>
      set.length === names.size && set.every((name) => names.has(name)) && (last === undefined || set.at(-1) === last),
  );
  return found < 0 ? null : found;
}

/** A dimension's key as it stands in one of several dimensions. */
export const keyPart = (key: string): string => key.replaceAll(SEPARATOR, IN_KEY);

const joined = (keys: readonly string[]): string => keys.map(keyPart).join(SEPARATOR);

/** The key in a grouping set of what has these keys of DIMENSIONS. */
export function keyOf(set: number, keys: readonly GroupKey[]): GroupKey {
  const places = PLACES[set] ?? [];
  const [first] = places;
  if (first === undefined) return null;
  return places.length === 1 ? (keys[first] ?? null) : joined(places.map((place) => keys[place] ?? ''));
}

/** The narrowest dimension's part of a key. */
export function narrowest(set: number, key: GroupKey): GroupKey {
  if (key === null || (PLACES[set]?.length ?? 0) < 2) return key;
  return key.slice(key.lastIndexOf(SEPARATOR) + SEPARATOR.length).replaceAll(IN_KEY, SEPARATOR) || null;
}

/** Between which texts, the second one excluded, the keys within a wider one are. */
export function rangeWithin(wider: string): readonly [string, string] {
  return [wider + SEPARATOR, wider + AFTER_SEPARATOR];
}

/** The key of all dimensions but the narrowest. */
export const widerKey = (key: string): string => key.slice(0, Math.max(0, key.lastIndexOf(SEPARATOR)));

/** The dictionary that a dimension's keys are numbers of. */
export function dictionaryOf(name: Dimension): Dictionary {
  return name === 'job_name' ? 'name_class' : name;
}
