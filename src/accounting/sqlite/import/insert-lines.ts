import type { Database, Statement } from 'better-sqlite3';
import type { Cell } from '../../columns';
import type { PlacedLine } from '../../import/line-place';
import { USUAL_COLUMNS, USUAL_VALUES, type LineRows } from '../../import/line-rows';
import { INSERT_RECORD } from '../read/queries';

/** Rows in one statement. More gain nothing. */
const ROWS_AT_ONCE = 10;

const USUAL_ROW = [...USUAL_COLUMNS.map(() => '?'), ...Object.values(USUAL_VALUES)].join(', ');
const USUAL_NAMES = [...USUAL_COLUMNS, ...Object.keys(USUAL_VALUES)].join(', ');

// OR FAIL: an insert of several rows that might have to be undone alone would copy every page that it changes first.
const usual = (rows: number): string =>
  `INSERT OR FAIL INTO record (${USUAL_NAMES}) VALUES ${Array<string>(rows).fill(`(${USUAL_ROW})`).join(', ')}`;

/** Inserts the rows of lines, some at a time; inside a write transaction, and flushed before its end. */
export class LineInserter {
  private readonly insertMany: Statement<Cell[]>;
  private readonly insertOne: Statement<Cell[]>;
  private readonly insertAny: Statement<Cell[]>;
  private values: Cell[] = [];
  /** Whose rows are in `values`. */
  private waiting: PlacedLine[] = [];

  constructor(db: Database) {
    this.insertMany = db.prepare(usual(ROWS_AT_ONCE));
    this.insertOne = db.prepare(usual(1));
    this.insertAny = db.prepare(INSERT_RECORD);
  }

  add(rows: LineRows, line: PlacedLine): void {
    if (!rows.push(this.values, line)) {
      this.insertAny.run(...rows.any(line));
      return;
    }
    if (this.waiting.push(line) < ROWS_AT_ONCE) return;
    // As arguments: an array's members are fetched one by one at a third of the statement's cost.
    this.insertMany.run(...this.values);
    this.forget();
  }

  /** Makes sure that a record of the line's job and task can be found. */
  settle({ jobId, task, peTaskId }: PlacedLine): void {
    if (this.waiting.some((other) => other.jobId === jobId && other.task === task && other.peTaskId === peTaskId))
      this.flush();
  }

  flush(): void {
    for (let at = 0; at < this.values.length; at += USUAL_COLUMNS.length)
      this.insertOne.run(...this.values.slice(at, at + USUAL_COLUMNS.length));
    this.forget();
  }

  /** After a rollback. */
  forget(): void {
    this.values = [];
    this.waiting = [];
  }
}
