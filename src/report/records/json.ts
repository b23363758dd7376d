import { withEfficiencies } from '../../record/efficiency';
import type { JobSum } from '../../accounting/job-sum';
import { RECORD_SCHEMA, type JobRecord } from '../../record/record';
import type { NextRequest } from '../advice/next-request';
import type { UnfinishedJob } from '../../live/unfinished-job';
import type { ArrayProgress } from '../job/array-progress';
import { unfinishedAccount } from '../job/unfinished';
import { escapeJson } from '../format/escape';
import type { Classes } from '../rules/judge';
import type { CauseAccount } from '../why/causes';

/** What the machine formats print: a record, which run of its job it is (1: the first), what to request next time. */
export interface Account {
  readonly record: JobRecord;
  readonly attempt: number;
  readonly next_time: NextRequest | null;
  /** Left out: it was not judged. */
  readonly classes?: Classes;
}

function* list(items: Iterable<object>): Generator<string, void> {
  let before = '[\n';
  for (const item of items) {
    yield `${before}${escapeJson(JSON.stringify(item))}`;
    before = ',\n';
  }
  yield before === '[\n' ? '[]' : '\n]';
}

function* recordObjects(accounts: Iterable<Account>): Generator<object, void> {
  for (const { record, attempt, next_time, classes = null } of accounts)
    yield { ...withEfficiencies(record), attempt, next_time, classes };
}

/**
 * The published contract (schema 1), one record a line: `{"schema":1,"records":[...]}`. Where there are parallel jobs
 * among them, `"sums":[...]` follows: each of their runs as a whole (accounting/job-sum.ts); where runs ended badly,
 * `"causes":[...]`: why; where array jobs are, `"arrays":[...]`: how far each is; where jobs wait, or run without a record,
 * `"unfinished":[...]`: what Grid Engine says of them.
 */
export function* jsonPieces(
  accounts: Iterable<Account>,
  sums: readonly JobSum[] = [],
  causes: readonly CauseAccount[] = [],
  arrays: readonly ArrayProgress[] = [],
  unfinished: readonly UnfinishedJob[] = [],
): Generator<string, void> {
  yield `{"schema":${RECORD_SCHEMA},"records":`;
  yield* list(recordObjects(accounts));
  for (const [name, items] of Object.entries({
    sums,
    causes,
    arrays,
    unfinished: unfinished.map(unfinishedAccount),
  })) {
    if (items.length === 0) continue;
    yield `,"${name}":`;
    yield* list(items);
  }
  yield '}\n';
}

/** The same as a whole. */
export const renderJson = (...parts: Parameters<typeof jsonPieces>): string => [...jsonPieces(...parts)].join('');
