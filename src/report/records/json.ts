import { withEfficiencies } from '../../record/efficiency';
import type { JobSum } from '../../accounting/job-sum';
import { RECORD_SCHEMA, type JobRecord } from '../../record/record';
import type { UnfinishedJob } from '../../live/unfinished-job';
import type { ArrayProgress } from '../job/array-progress';
import { unfinishedAccount } from '../job/unfinished';
import { escapeJson } from '../format/escape';
import type { CauseAccount } from '../why/causes';

/** What the machine formats print: a record, and which run of its job it is (1: the first). */
export interface Account {
  readonly record: JobRecord;
  readonly attempt: number;
}

const list = (items: readonly object[]): string =>
  items.length === 0 ? '[]' : `[\n${items.map((item) => escapeJson(JSON.stringify(item))).join(',\n')}\n]`;

/**
 * The published contract (schema 1), one record a line: `{"schema":1,"records":[...]}`. Where there are parallel jobs
 * among them, `"sums":[...]` follows: each of their runs as a whole (accounting/job-sum.ts); where runs ended badly,
 * `"causes":[...]`: why; where array jobs are, `"arrays":[...]`: how far each is; where jobs wait, or run without a record,
 * `"unfinished":[...]`: what Grid Engine says of them.
 */
export function renderJson(
  accounts: readonly Account[],
  sums: readonly JobSum[] = [],
  causes: readonly CauseAccount[] = [],
  arrays: readonly ArrayProgress[] = [],
  unfinished: readonly UnfinishedJob[] = [],
): string {
  const records = list(accounts.map(({ record, attempt }) => ({ ...withEfficiencies(record), attempt })));
  const more = [
    ...(sums.length === 0 ? [] : [`,"sums":${list(sums)}`]),
    ...(causes.length === 0 ? [] : [`,"causes":${list(causes)}`]),
    ...(arrays.length === 0 ? [] : [`,"arrays":${list(arrays)}`]),
    ...(unfinished.length === 0 ? [] : [`,"unfinished":${list(unfinished.map(unfinishedAccount))}`]),
  ];
  return `{"schema":${RECORD_SCHEMA},"records":${records}${more.join('')}}\n`;
}
