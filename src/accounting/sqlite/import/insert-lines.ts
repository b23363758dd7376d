import type { Database, Statement } from 'better-sqlite3';
import type { Cell } from '../../cell-codec';
import { USUAL_COLUMNS, USUAL_VALUES, type LineRows } from '../../import/line-rows';
import type { TableLine } from '../../import/line-table';
import { INSERT_RECORD } from '../read/queries';

/** Rows in one statement; more gain nothing. */
const ROWS_AT_ONCE = 10;

const USUAL_ROW = [...USUAL_COLUMNS.map(() => '?'), ...Object.values(USUAL_VALUES)].join(', ');
const USUAL_NAMES = [...USUAL_COLUMNS, ...Object.keys(USUAL_VALUES)].join(', ');

// OR FAIL: an insert of several rows that might have to be undone alone would copy every page that it changes first.
const usual = (rows: number): string =>
  `INSERT OR FAIL INTO record (${USUAL_NAMES}) VALUES ${Array<string>(rows).fill(`(${USUAL_ROW})`).join(', ')}`;

/** Inserts the rows of lines, several at a time. Use it inside a write transaction, and flush it before the end. */
export class LineInserter {
  private readonly insertMany: Statement<Cell[]>;
  private readonly insertOne: Statement<Cell[]>;
  private readonly insertAny: Statement<Cell[]>;
  private values: Cell[] = [];
  /** The lines whose rows are in `values`. */
  private waiting: TableLine[] = [];

  constructor(db: Database) {
    this.insertMany = db.prepare(usual(ROWS_AT_ONCE));
    this.insertOne = db.prepare(usual(1));
    this.insertAny = db.prepare(INSERT_RECORD);
  }

  add(rows: LineRows, line: TableLine): void {
    if (!rows.push(this.values, line)) {
      this.insertAny.run(...rows.any(line));
      return;
    }
    if (this.waiting.push(line) < ROWS_AT_ONCE) return;
    // As separate arguments: fetching an array's members one by one takes a third of the statement's time.
    this.insertMany.run(...this.values);
    this.forget();
  }

  /** Flushes if a row of the line's job, task and pe task is waiting, so that a query finds it. */
  settle({ jobId, task, peTaskId }: TableLine): void {
    if (this.waiting.some((other) => other.jobId === jobId && other.task === task && other.peTaskId === peTaskId))
      this.flush();
  }

  flush(): void {
    for (let at = 0; at < this.values.length; at += USUAL_COLUMNS.length)
      this.insertOne.run(...this.values.slice(at, at + USUAL_COLUMNS.length));
    this.forget();
  }

  /** Drops waiting rows, as after a rollback. */
  forget(): void {
    this.values = [];
    this.waiting = [];
  }
}
