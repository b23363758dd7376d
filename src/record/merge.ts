import { inOrder } from '../base/shape';
import { emptyRecord } from './record';
import { FIELD_NAMES, FIELDS, OPEN_REASONS, type FieldName, type Merge } from './fields';
import { compareValues } from './compare-values';
import { isSampled, NOT_SEEN } from './coverage';
import type { Bracket, JobRecord, RecordKey, RecordStatus, Trust } from './record';

/** Where a value came from: who said it, when, and whether the job had ended by then. */
export interface Stamp {
  readonly trust: Trust;
  readonly revision: number;
  readonly ended: boolean;
}

/**
 * What is merged on its own (no slot of Grid Engine): a field, one complex of `requests`, or one metric. `status`
 * carries the notes along: they explain the end that the status shows.
 */
type Slot = FieldName | `requests.${string}` | `metrics.${string}`;

/** A record made from several: `provenance` says where a slot came from, unless it is the record's own stamp. */
export interface StoredRecord {
  readonly record: JobRecord;
  /** Whether the job had ended by the record's own stamp (trust, revision); its status may be from another account. */
  readonly ended: boolean;
  readonly provenance: Readonly<Partial<Record<Slot, Stamp>>>;
}

const fieldsWith = (...merges: readonly Merge[]): readonly FieldName[] =>
  FIELD_NAMES.filter((name) => merges.includes(FIELDS[name].merge));

/** Fields that are merged one by one. */
export const MERGED_FIELDS = fieldsWith('rank', 'final');

/**
 * Fields that grow until the job ends: an account of the ended job, unless self-reported, beats any of the running job,
 * whatever their ranks (a sampler that died in the first hour must not make a ten-hour job last one hour).
 */
const GROWING: ReadonlySet<string> = new Set(fieldsWith('final'));

const RANK: Readonly<Record<Trust, number>> = { root: 3, usage: 2, accounting: 1, 'self-reported': 0 };

/** At equal rank, an account that saw the end beats one that found that nobody saw it. */
const STATUS_ORDER: Readonly<Record<RecordStatus, number>> = { finished: 3, lost: 2, unsampled: 1, running: 0 };

interface Value {
  readonly value: unknown;
  readonly stamp: Stamp;
}

interface Verdict {
  readonly status: RecordStatus;
  readonly notes: readonly string[];
}

/** An accounting line alone can't say that a sampler missed the end: its `lost` becomes `unsampled`. */
const ofLine = (verdict: Verdict, isLine: boolean): Verdict =>
  isLine && verdict.status === 'lost' ? { ...verdict, status: 'unsampled' } : verdict;

/** A record on its own, as a store first holds it. Only Grid Engine's accounting may set `failed`. */
export function asStored(record: JobRecord): StoredRecord {
  const isLine = record.trust === 'accounting';
  const own = isLine || record.failed === null ? record : { ...record, failed: null };
  const { status } = ofLine(own, isLine);
  return {
    record: status === own.status ? own : { ...own, status },
    ended: record.status !== 'running',
    provenance: {},
  };
}

/** Above 0: `a` is more trusted, whichever account is later. */
export function compareTrust(a: Trust, b: Trust): number {
  return RANK[a] - RANK[b];
}

/** At equal rank, an account of the end beats any heartbeat, even one dated later because the clock was set back. */
function compareStamps(a: Stamp, b: Stamp): number {
  return compareTrust(a.trust, b.trust) || Number(a.ended) - Number(b.ended) || a.revision - b.revision;
}

function compareGrowing(a: Stamp, b: Stamp): number {
  const isFinal = (stamp: Stamp): number => Number(stamp.ended && stamp.trust !== 'self-reported');
  return isFinal(a) - isFinal(b) || compareStamps(a, b);
}

const orderOf = ({ value, stamp }: Value): number =>
  STATUS_ORDER[ofLine(value as Verdict, stamp.trust === 'accounting').status];

function compareVerdicts(a: Value, b: Value): number {
  return (
    Number(a.stamp.ended) - Number(b.stamp.ended) ||
    RANK[a.stamp.trust] - RANK[b.stamp.trust] ||
    orderOf(a) - orderOf(b) ||
    compareStamps(a.stamp, b.stamp)
  );
}

const PEAKS = FIELD_NAMES.filter((name) => FIELDS[name].storage.as === 'bracket');

/** What becomes of a value where only Grid Engine's line reports the job's end (`withEndUnseen`). */
function ifEndUnseen(slot: Slot, { value, stamp }: Value): unknown {
  if (slot === 'status') {
    const { status, notes } = value as Verdict;
    if (stamp.trust !== 'accounting' || status !== 'unsampled') return value;
    return { status: 'lost', notes: notes.filter((note) => note !== NOT_SEEN) } satisfies Verdict;
  }
  if (stamp.ended || !(PEAKS as readonly string[]).includes(slot)) return value;
  const peak = value as Bracket;
  const open = OPEN_REASONS.filter((reason) => reason === 'sampler-lost' || peak.open.includes(reason));
  return { ...peak, upper_bytes: null, proved: false, exact: false, open } satisfies Bracket;
}

/** A total order of values that `ifEndUnseen` does not change. */
function compareSlots(slot: Slot, a: Value, b: Value): number {
  const [ofA, ofB] = [ifEndUnseen(slot, a), ifEndUnseen(slot, b)];
  const is = (value: unknown, other: unknown): number => Number(compareValues(value, other) === 0);
  return compareValues(ofA, ofB) || is(a.value, ofA) - is(b.value, ofB) || compareValues(a.value, b.value);
}

/** The larger of two values in a total order: so merging is idempotent, commutative and associative, slot by slot. */
function larger(slot: Slot, a: Value, b: Value): Value {
  const order =
    slot === 'status'
      ? compareVerdicts(a, b)
      : GROWING.has(slot)
        ? compareGrowing(a.stamp, b.stamp)
        : compareStamps(a.stamp, b.stamp);
  if (order !== 0) return order > 0 ? a : b;
  return compareSlots(slot, a, b) >= 0 ? a : b;
}

function ownStamp(stored: StoredRecord): Stamp {
  return { trust: stored.record.trust, revision: stored.record.revision, ended: stored.ended };
}

/** Every slot that has a value. */
function slotsOf(stored: StoredRecord): Map<Slot, Value> {
  const { record, provenance } = stored;
  const own = ownStamp(stored);
  const slots = new Map<Slot, Value>();
  const put = (slot: Slot, value: unknown): unknown => slots.set(slot, { value, stamp: provenance[slot] ?? own });
  put('status', { status: record.status, notes: record.notes } satisfies Verdict);
  for (const field of MERGED_FIELDS) if (record[field] !== null) put(field, record[field]);
  for (const [complex, request] of Object.entries(record.requests)) put(`requests.${complex}`, request);
  for (const [metric, value] of Object.entries(record.metrics)) put(`metrics.${metric}`, value);
  return slots;
}

export const REQUEST_PREFIX = 'requests.';
export const METRIC_PREFIX = 'metrics.';

/** What a record says in one slot; undefined: nothing. */
function valueIn({ record, provenance }: StoredRecord, own: Stamp, slot: Slot): Value | undefined {
  const stamp = provenance[slot] ?? own;
  if (slot === 'status') return { value: { status: record.status, notes: record.notes } satisfies Verdict, stamp };
  const part = slot.startsWith(REQUEST_PREFIX)
    ? record.requests
    : slot.startsWith(METRIC_PREFIX)
      ? record.metrics
      : null;
  const name = slot.slice(slot.indexOf('.') + 1);
  const value = part === null ? record[slot as FieldName] : Object.hasOwn(part, name) ? part[name] : null;
  return value === null || value === undefined ? undefined : { value, stamp };
}

/** An account with this stamp and no slot filled. */
function empty(key: RecordKey, status: RecordStatus, { trust, revision, ended }: Stamp): StoredRecord {
  return { record: emptyRecord(key, status, trust, revision), ended, provenance: {} };
}

/** `stored` with some slots replaced; its own stamp stays. */
function withSlots(stored: StoredRecord, own: Stamp, changes: Iterable<readonly [Slot, Value]>): StoredRecord {
  const record: Record<string, unknown> = { ...stored.record };
  let requests: Map<string, unknown> | undefined;
  let metrics: Map<string, unknown> | undefined;
  const stamps = new Map<string, Stamp>(Object.entries(stored.provenance as Readonly<Record<string, Stamp>>));
  for (const [slot, { value, stamp }] of changes) {
    if (slot === 'status') Object.assign(record, value);
    else if (slot.startsWith(REQUEST_PREFIX)) {
      requests ??= new Map(Object.entries(stored.record.requests));
      requests.set(slot.slice(REQUEST_PREFIX.length), value);
    } else if (slot.startsWith(METRIC_PREFIX)) {
      metrics ??= new Map(Object.entries(stored.record.metrics));
      metrics.set(slot.slice(METRIC_PREFIX.length), value);
    } else record[slot] = value;
    if (compareStamps(stamp, own) === 0) stamps.delete(slot);
    else stamps.set(slot, stamp);
  }
  if (requests !== undefined) record.requests = inOrder(requests);
  if (metrics !== undefined) record.metrics = inOrder(metrics);
  const provenance: StoredRecord['provenance'] = Object.fromEntries(stamps);
  return { record: record as unknown as JobRecord, ended: stored.ended, provenance };
}

/** `stored` with those values that beat its own; `stored` itself if none does. Its own stamp stays. */
function withLarger(stored: StoredRecord, values: Iterable<readonly [Slot, Value]>): StoredRecord {
  const own = ownStamp(stored);
  const changes = [...values].filter(([slot, value]) => {
    const present = valueIn(stored, own, slot);
    return present === undefined || larger(slot, present, value) !== present;
  });
  return changes.length === 0 ? stored : withSlots(stored, own, changes);
}

/** Under the key of another record of the same run. */
export function underKeyOf(stored: StoredRecord, { host, run_id }: JobRecord): StoredRecord {
  return { ...stored, record: { ...stored.record, host, run_id } };
}

/** `stored` with requests that are known from elsewhere, merged as if from an account with this stamp. */
export function withRequests(stored: StoredRecord, requests: JobRecord['requests'], stamp: Stamp): StoredRecord {
  const values = Object.entries(requests).map(([complex, value]): readonly [Slot, Value] => [
    `requests.${complex}`,
    { value, stamp },
  ]);
  return withLarger(stored, values);
}

/**
 * For an ended job whose sampler reported only figures of the running job: opens the upper bounds, since the job may
 * have held more later, and makes the status `lost` where Grid Engine's line alone would say `unsampled`.
 */
function withEndUnseen(stored: StoredRecord): StoredRecord {
  const { record, provenance } = stored;
  const own = ownStamp(stored);
  const stampOf = (slot: Slot): Stamp => provenance[slot] ?? own;
  if (!stampOf('status').ended) return stored;
  const stamp = stampOf('status');
  const verdict = ofLine({ status: record.status, notes: record.notes }, stamp.trust === 'accounting');
  const seen = PEAKS.filter((name) => record[name] !== null && !stampOf(name).ended);
  if (seen.length === 0 && verdict.status === record.status) return stored;
  const peaks = seen.map((name) => [name, ifEndUnseen(name, { value: record[name], stamp: stampOf(name) })] as const);
  const isSeen = seen.length > 0 && isSampled(record);
  const end = isSeen ? (ifEndUnseen('status', { value: verdict, stamp }) as Verdict) : verdict;
  return { ...stored, record: { ...record, ...Object.fromEntries(peaks), ...end } };
}

/**
 * Merges two accounts of the same job (same key), slot by slot: the better rank wins, then an ended job over a running
 * one, then the later revision, then the greater value (compareValues). For the status and what grows until the end, an
 * ended job wins before rank is asked. No null overrides a value. Returns `stored` itself if nothing changes.
 */
export function mergeRecords(stored: StoredRecord, incoming: StoredRecord): StoredRecord {
  const isOlder = compareStamps(ownStamp(stored), ownStamp(incoming)) < 0;
  const [base, other] = isOlder ? [underKeyOf(incoming, stored.record), stored] : [stored, incoming];
  const merged = withLarger(base, slotsOf(other));
  return merged === stored ? stored : withEndUnseen(merged);
}

/**
 * The accounts that a stored record was merged from, each with the values that were kept of it. Merged again under the
 * same key, in any order, they give that record, each value with its own rank.
 */
export function partsOf(stored: StoredRecord): readonly JobRecord[] {
  const own = ownStamp(stored);
  const nameOf = ({ trust, revision, ended }: Stamp): string => `${trust} ${revision} ${ended}`;
  const parts = new Map([[nameOf(own), { stamp: own, slots: new Map<Slot, Value>() }]]);
  for (const [slot, value] of slotsOf(stored)) {
    const name = nameOf(value.stamp);
    const part = parts.get(name) ?? { stamp: value.stamp, slots: new Map<Slot, Value>() };
    parts.set(name, part);
    part.slots.set(slot, value);
  }
  // A part without a status gets the one that any other of the same rank overrides.
  return [...parts.values()].map(
    ({ stamp, slots }) =>
      withSlots(empty(stored.record, stamp.ended ? 'unsampled' : 'running', stamp), stamp, slots).record,
  );
}
