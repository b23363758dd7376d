import { emptyRecord } from './record';
import type { JobRecord, MemoryRequest } from './record';
import { MERGED_FIELDS, METRIC_PREFIX, REQUEST_PREFIX } from './merge';
import type { Slot, Stamp, StoredRecord } from './merge';

interface Part {
  readonly stamp: Stamp;
  readonly fields: [string, unknown][];
  readonly requests: [string, MemoryRequest][];
  readonly metrics: [string, number][];
}

/**
 * The accounts that a stored record was merged from, as far as they still stand: merged again under the same key, in any
 * order, they are that record, each value with the rank of who said it.
 */
export function partsOf({ record, ended, provenance }: StoredRecord): readonly JobRecord[] {
  const parts = new Map<string, Part>();
  const own: Stamp = { trust: record.trust, revision: record.revision, ended };
  const partOf = (stamp: Stamp): Part => {
    const name = `${stamp.trust} ${stamp.revision} ${stamp.ended}`;
    const known = parts.get(name);
    if (known !== undefined) return known;
    const made: Part = { stamp, fields: [], requests: [], metrics: [] };
    parts.set(name, made);
    return made;
  };
  const partWith = (slot: Slot): Part => partOf(provenance[slot] ?? own);
  partOf(own);
  partWith('status').fields.push(['status', record.status], ['notes', record.notes]);
  for (const field of MERGED_FIELDS) if (record[field] !== null) partWith(field).fields.push([field, record[field]]);
  for (const [name, request] of Object.entries(record.requests))
    partWith(`${REQUEST_PREFIX}${name}` as Slot).requests.push([name, request]);
  for (const [name, value] of Object.entries(record.metrics))
    partWith(`${METRIC_PREFIX}${name}` as Slot).metrics.push([name, value]);
  return [...parts.values()].map(({ stamp, fields, requests, metrics }) => ({
    // The status that any other of the same rank overrides.
    ...emptyRecord(record, stamp.ended ? 'unsampled' : 'running', stamp.trust, stamp.revision),
    ...(Object.fromEntries(fields) as Partial<JobRecord>),
    requests: Object.fromEntries(requests),
    metrics: Object.fromEntries(metrics),
  }));
}
