import { RECORD_SCHEMA, type JobRecord } from '../sampler/record';
import { escapeJson } from './escape';

/** What the machine formats print: a record, and which run of its job it is (1: the first). */
export interface Account {
  readonly record: JobRecord;
  readonly attempt: number;
}

/** The published contract (schema 1), one record a line: `{"schema":1,"records":[...]}`. */
export function renderJson(accounts: readonly Account[]): string {
  const lines = accounts.map(({ record, attempt }) => escapeJson(JSON.stringify({ ...record, attempt })));
  const records = lines.length === 0 ? '' : `\n${lines.join(',\n')}\n`;
  return `{"schema":${RECORD_SCHEMA},"records":[${records}]}\n`;
}
