import type { Database } from 'better-sqlite3';
import type { AccountingRecord } from '../../../gridengine/accounting-line';
import { USUAL_COLUMNS, USUAL_VALUES, type LineRows } from './line-row';
import type { Cell } from '../../columns';
import { INSERT_RECORD } from '../read/queries';

/** Rows in one statement. More gain nothing. */
const ROWS_AT_ONCE = 10;

/** Inserts the rows of lines, some at a time; inside a write transaction, and flushed before its end. */
interface LineInserter {
  readonly add: (rows: LineRows, line: AccountingRecord) => void;
  /** Makes sure that a record of the line's job and task can be found. */
  readonly settle: (line: AccountingRecord) => void;
  readonly flush: () => void;
  /** After a rollback. */
  readonly forget: () => void;
}

interface Task {
  readonly job: number;
  readonly task: number;
  readonly peTask: string | null;
}

const USUAL_ROW = [...USUAL_COLUMNS.map(() => '?'), ...Object.values(USUAL_VALUES)].join(', ');
const USUAL_NAMES = [...USUAL_COLUMNS, ...Object.keys(USUAL_VALUES)].join(', ');

// OR FAIL: an insert of several rows that might have to be undone alone would copy every page that it changes first.
const usual = (rows: number): string =>
  `INSERT OR FAIL INTO record (${USUAL_NAMES}) VALUES ${Array<string>(rows).fill(`(${USUAL_ROW})`).join(', ')}`;

export function lineInserter(db: Database): LineInserter {
  const insertMany = db.prepare(usual(ROWS_AT_ONCE));
  const insertOne = db.prepare(usual(1));
  const insertAny = db.prepare<Cell[]>(INSERT_RECORD);
  let values: Cell[] = [];
  /** Whose rows are in `values`. */
  let waiting: Task[] = [];

  const forget = (): void => {
    values = [];
    waiting = [];
  };
  const flush = (): void => {
    for (let at = 0; at < values.length; at += USUAL_COLUMNS.length)
      insertOne.run(...values.slice(at, at + USUAL_COLUMNS.length));
    forget();
  };
  return {
    add(rows, line) {
      if (!rows.push(values, line)) {
        insertAny.run(...rows.any(line));
        return;
      }
      waiting.push({ job: line.jobId, task: line.task, peTask: line.peTaskId });
      if (waiting.length < ROWS_AT_ONCE) return;
      // As arguments: an array's members are fetched one by one at a third of the statement's cost.
      insertMany.run(...values);
      forget();
    },
    settle({ jobId, task, peTaskId }) {
      for (const other of waiting)
        if (other.job === jobId && other.task === task && other.peTask === peTaskId) {
          flush();
          return;
        }
    },
    flush,
    forget,
  };
}
