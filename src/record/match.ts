import { H_VMEM } from '../gridengine/memory-complex';
import { limitForSlots } from '../gridengine/memory-request';
import { isLineOnly } from './coverage';
import { hasAnotherLine, startDifferenceMs } from './join';
import { asStored, mergeRecords, underKeyOf, type StoredRecord } from './merge';
import type { JobRecord, MemoryRequest } from './record';

/** A stored record to which a new account may belong. */
export interface Candidate {
  readonly stored: StoredRecord;
}

/**
 * What becomes of an account: a new record (`base` null), or the new content of `base`. `absorbed`: another record of
 * the same run, which is now part of `stored` and must go.
 */
export interface Merged<C extends Candidate> {
  readonly base: C | null;
  readonly absorbed: C | null;
  readonly stored: StoredRecord;
}

/** The candidates of the same run as `record`, by key or nearest start: the one to merge into, and one to absorb. */
function matchesOf<C extends Candidate>(record: JobRecord, candidates: readonly C[]): readonly [C | null, C | null] {
  const own =
    candidates.find(({ stored }) => stored.record.host === record.host && stored.record.run_id === record.run_id) ??
    null;
  let joined: C | null = null;
  let nearest = Infinity;
  let isJoinedAlready = false;
  for (const candidate of candidates) {
    const apart = candidate === own ? null : startDifferenceMs(record, candidate.stored.record);
    if (apart === null) continue;
    const [ours, line] = isLineOnly(record) ? [candidate, record] : [own, candidate.stored.record];
    if (ours !== null && hasAnotherLine(ours.stored.record, line)) continue;
    // A job that twice fails to start has two equal lines: each is of a run of its own, as far as there are such runs.
    const has = isLineOnly(record) && record.started_at === null && candidate.stored.record.failed !== null;
    if (joined !== null && (has === isJoinedAlready ? apart >= nearest : has)) continue;
    [joined, nearest, isJoinedAlready] = [candidate, apart, has];
  }
  if (own === null || joined === null) return [own ?? joined, null];
  return isLineOnly(record) ? [joined, own] : [own, joined];
}

/** A line's limits for all slots of a parallel job, scaled to the slots of one host. */
function forSlots(stored: StoredRecord, slots: number | null): StoredRecord {
  const { record } = stored;
  if (slots === null || record.host_slots !== null || !isLineOnly(record)) return stored;
  const scaled = (complex: string, asked: MemoryRequest): MemoryRequest =>
    asked.per !== 'slot' || asked.request_bytes === null || asked.limit_bytes === null
      ? asked
      : { ...asked, limit_bytes: limitForSlots(complex, asked.request_bytes, slots) };
  const requests = Object.fromEntries(
    Object.entries(record.requests).map(([name, asked]) => [name, scaled(name, asked)]),
  );
  return { ...stored, record: { ...record, h_vmem: record.h_vmem && scaled(H_VMEM, record.h_vmem), requests } };
}

/**
 * Merges an account into its record, if that is among the candidates: those of its cluster, job, task and pe task. A
 * record of Grid Engine's accounting joins ours of the same run, whichever comes first, under our key. null: nothing
 * changes.
 */
export function mergeAmong<C extends Candidate>(record: JobRecord, candidates: readonly C[]): Merged<C> | null {
  const incoming = asStored(record);
  const [base, absorbed] = matchesOf(record, candidates);
  if (base === null) return { base: null, absorbed: null, stored: incoming };
  const keyed = isLineOnly(base.stored.record) && !isLineOnly(record);
  const slots = [record, base.stored.record].find((one) => !isLineOnly(one))?.host_slots ?? null;
  const before = keyed ? underKeyOf(forSlots(base.stored, slots), record) : base.stored;
  const stored = mergeRecords(
    absorbed === null ? before : mergeRecords(before, underKeyOf(forSlots(absorbed.stored, slots), before.record)),
    forSlots(incoming, slots),
  );
  return stored === base.stored && absorbed === null ? null : { base, absorbed, stored };
}
