import type { Result } from '../base/result';
import { check, checkJson, object } from '../base/shape';
import { FIELD_NAMES, FIELDS, type JobRecord, type RecordStatus, type Trust } from './fields';

export type {
  Bracket,
  BracketSource,
  GrantedSlots,
  GridEngineAccount,
  JobRecord,
  MemoryRequest,
  MemorySeries,
  OpenReason,
  RecordStatus,
  SamplerCost,
  Trust,
} from './fields';

/** Number of the published form of records in JSON. */
export const RECORD_SCHEMA = 1;

/** What identifies a record: one start of a job (task, PE task) on one host. */
export type RecordKey = Pick<JobRecord, 'cluster' | 'job_id' | 'task_id' | 'pe_task_id' | 'host' | 'run_id'>;

const EMPTY = Object.fromEntries(FIELD_NAMES.map((name) => [name, FIELDS[name].empty])) as unknown as JobRecord;

/** All fields unknown: the base that every producer fills. */
export function emptyRecord(key: RecordKey, status: RecordStatus, trust: Trust, revision: number): JobRecord {
  const { cluster, job_id, task_id, pe_task_id, host, run_id } = key;
  return { ...EMPTY, cluster, job_id, task_id, pe_task_id, host, run_id, status, trust, revision };
}

/** Text form of the key: unique per record, stable. */
export function recordKeyText(key: RecordKey): string {
  return [key.cluster, key.job_id, key.task_id ?? '', key.pe_task_id ?? '', key.host, key.run_id].join('/');
}

/** A whole record. */
export const recordShape = object(
  Object.fromEntries(FIELD_NAMES.map((name) => [name, FIELDS[name].shape])) as {
    readonly [Name in keyof typeof FIELDS]: (typeof FIELDS)[Name]['shape'];
  },
);

/** A record from untrusted JSON, with every field checked and normalised; unknown fields are dropped. Never throws. */
export function parseRecord(value: unknown): Result<JobRecord> {
  return check(recordShape, value, 'the record');
}

/** A record that one of our own programs wrote as JSON; anything else is refused. Never throws. */
export function recordOfJson(json: string): Result<JobRecord> {
  return checkJson(recordShape, json, 'the record');
}

/** As `recordOfJson`; null: there is no record, or it is damaged. */
export function recordOrNull(json: string | null | undefined): JobRecord | null {
  const record = json == null ? null : recordOfJson(json);
  return record?.ok === true ? record.value : null;
}
