import { derivedOf } from '../../record/efficiency';
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
  /** Left out: the run was not classified. */
  readonly classes?: Classes;
}

/** Writes accounts, which come some at a time, in a machine format. */
export interface AccountWriter {
  readonly some: (accounts: Iterable<Account>) => Iterable<string>;
  /** The text after all accounts; `more`: what is written besides accounts, where the format has room for it. */
  readonly end: (...more: Parameters<JsonWriter['end']>) => Iterable<string>;
}

/** The items of a JSON list, each on a line of its own, as they come. */
class ListPieces {
  private before = '\n';

  *some(texts: Iterable<string>): Generator<string, void> {
    for (const text of texts) {
      yield `${this.before}${escapeJson(text)}`;
      this.before = ',\n';
    }
  }

  /** The text after the last item. */
  get end(): string {
    return this.before === '\n' ? ']' : '\n]';
  }
}

/** Writes two objects as one: copying a record of a hundred members would cost more than writing it. */
function* recordTexts(accounts: Iterable<Account>): Generator<string, void> {
  for (const { record, attempt, next_time, classes = null } of accounts) {
    const more = { ...derivedOf(record), attempt, next_time, classes };
    yield `${JSON.stringify(record).slice(0, -1)},${JSON.stringify(more).slice(1)}`;
  }
}

/**
 * The published contract (schema 1), one record a line: `{"schema":1,"records":[...]}`. Further lists follow where they
 * have items: `"sums"`, each run of a parallel job as a whole (accounting/job-sum.ts); `"causes"`, why runs ended
 * badly; `"arrays"`, the progress of array jobs; `"unfinished"`, what Grid Engine says of jobs that wait, or run
 * without a record.
 */
export class JsonWriter implements AccountWriter {
  private readonly records = new ListPieces();
  private head = `{"schema":${RECORD_SCHEMA},"records":[`;

  *some(accounts: Iterable<Account>): Generator<string, void> {
    yield this.head;
    this.head = '';
    yield* this.records.some(recordTexts(accounts));
  }

  *end(
    sums: readonly JobSum[] = [],
    causes: readonly CauseAccount[] = [],
    arrays: readonly ArrayProgress[] = [],
    unfinished: readonly UnfinishedJob[] = [],
  ): Generator<string, void> {
    yield this.head + this.records.end;
    for (const [name, items] of Object.entries({
      sums,
      causes,
      arrays,
      unfinished: unfinished.map(unfinishedAccount),
    })) {
      if (items.length === 0) continue;
      const pieces = new ListPieces();
      yield `,"${name}":[`;
      yield* pieces.some(items.map((item) => JSON.stringify(item)));
      yield pieces.end;
    }
    yield '}\n';
  }
}

/** JSON of accounts as one text. */
export function renderJson(accounts: Iterable<Account>, ...more: Parameters<JsonWriter['end']>): string {
  const writer = new JsonWriter();
  return [...writer.some(accounts), ...writer.end(...more)].join('');
}
