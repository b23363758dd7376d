import type * as Crypto from 'node:crypto';
import { nameClass } from '../../record/name-class';
import type { Dictionary } from '../cell-codec';
import { DIMENSIONS, type Dimension } from '../summary';

/** An owner, a project, a queue, a host, a class of job names; null: the record has none. */
export type GroupKey = string | null;

/** All that days are summed up by, the narrowest dimension last; stores number them by position: append only. */
export const GROUPING_SETS: readonly (readonly Dimension[])[] = [
  // All of a cluster.
  [],
  ...DIMENSIONS.map((name) => [name]),
  // A user's name classes, a project's users, and the name classes of a project's user.
  ['owner', 'job_name'],
  ['project', 'owner'],
  ['project', 'owner', 'job_name'],
];

/** The separator of keys of several dimensions, what stands for it within a key, and the next character after it. */
const SEPARATOR = '\n';
const IN_KEY = '\u0001';
const AFTER_SEPARATOR = '\u000b';

const PLACES = GROUPING_SETS.map((set) => set.map((name) => DIMENSIONS.indexOf(name)));

const BINNED = GROUPING_SETS.map((set) => set.length < 2 || set.at(-1) !== 'job_name');

/** Whether bins are kept of a set: no query filters by the last of several dimensions if that is the job name. */
export const hasBins = (set: number): boolean => BINNED[set] ?? false;

/** Most bytes of a name, and of any other key: a name and two keys fit into one row of PostgreSQL's indexes. */
const MOST_OF_NAME = 1400;
const MOST = 450;
const DIGEST = 16;
/** Before the digest of a key that was cut. */
export const CUT = '…';

/** A text as a group's key: of a job name its class; a key that is too long is cut and gets a digest of the whole. */
export function groupKey(dimension: Dimension, text: string): string {
  const key = dimension === 'job_name' ? nameClass(text) : text;
  const most = dimension === 'job_name' ? MOST_OF_NAME : MOST;
  if (3 * key.length <= most || Buffer.byteLength(key) <= most) return key;
  // Loaded only where needed: it would cost every delivery 3 ms.
  const { createHash } = require('node:crypto') as typeof Crypto;
  const digest = createHash('sha256').update(key).digest('hex').slice(0, DIGEST);
  // The cut may leave a part of a character, which becomes U+FFFD, of three bytes.
  const kept = Buffer.from(key).subarray(0, most - DIGEST - 6);
  return `${kept.toString()}${CUT}${digest}`;
}

/** A record's key in a dimension; null: it has none, or an empty name. */
export function recordKey(dimension: Dimension, word: string | null): GroupKey {
  return word === null || word === '' ? null : groupKey(dimension, word);
}

/** The number of the grouping set of these dimensions, with `last` as the narrowest; null: there is none. */
export function groupingSet(names: ReadonlySet<Dimension>, last?: Dimension): number | null {
  const found = GROUPING_SETS.findIndex(
    (set) =>
      set.length === names.size && set.every((name) => names.has(name)) && (last === undefined || set.at(-1) === last),
  );
  return found < 0 ? null : found;
}

/** A dimension's key as a part of a key of several dimensions. */
export const keyPart = (key: string): string => (key.includes(SEPARATOR) ? key.replaceAll(SEPARATOR, IN_KEY) : key);

/** A key of several dimensions and another one within it. */
const within = (wider: string, key: string): string => wider + SEPARATOR + keyPart(key);

/** Keys of several dimensions that are made once and found again: the jobs of a day have few. */
export class KnownKeys {
  private readonly known = new Map<string, Map<string, string>>();

  readonly within = (wider: string, key: string): string => {
    let inside = this.known.get(wider);
    if (inside === undefined) this.known.set(wider, (inside = new Map<string, string>()));
    let found = inside.get(key);
    if (found === undefined) inside.set(key, (found = within(wider, key)));
    return found;
  };
}

/** The key in a grouping set of a record with these keys, in the order of DIMENSIONS. */
export function keyOf(set: number, keys: readonly GroupKey[], join = within): GroupKey {
  const places = PLACES[set] ?? [];
  const [first] = places;
  if (first === undefined) return null;
  const key = keys[first] ?? null;
  if (places.length === 1) return key;
  let all = keyPart(key ?? '');
  for (let at = 1; at < places.length; at++) all = join(all, keys[places[at] ?? 0] ?? '');
  return all;
}

/** The narrowest dimension's part of a key. */
export function narrowest(set: number, key: GroupKey): GroupKey {
  if (key === null || (PLACES[set]?.length ?? 0) < 2) return key;
  return key.slice(key.lastIndexOf(SEPARATOR) + SEPARATOR.length).replaceAll(IN_KEY, SEPARATOR) || null;
}

/** The range of texts, its end excluded, of all keys within a wider key. */
export function rangeWithin(wider: string): readonly [string, string] {
  return [wider + SEPARATOR, wider + AFTER_SEPARATOR];
}

/** The key of all dimensions but the narrowest. */
export const widerKey = (key: string): string => key.slice(0, Math.max(0, key.lastIndexOf(SEPARATOR)));

/** The dictionary of a dimension's keys. */
export function dictionaryOf(name: Dimension): Dictionary {
  return name === 'job_name' ? 'name_class' : name;
}
