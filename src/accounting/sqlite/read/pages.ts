import type { Database } from 'better-sqlite3';
import type { Cell } from '../../cell-codec';
import { fromRow, rowPlan } from '../../row';
import type { PagesQuery, RecordFilter, RecordPage, RecordTables } from '../../store';
import { TablePlan } from '../../table-plan';
import type { Words } from '../database/dictionary';
import { asPromise, inStore, stepError } from '../database/faults';
import { prepared } from '../database/prepared';
import { cellsOf, idsQuery, pageQuery } from './queries';
import { conditionOf } from './record-filter';
import { daysOfKey } from './spans';

/** Small enough that most of a page is garbage by the time the garbage collector runs. */
const PAGE = 500;

/** All ids at once (8 bytes each): a reader with an open statement would keep writers waiting. */
function selectIds(db: Database, words: Words, query: RecordFilter): readonly number[] {
  const condition = conditionOf(query, words);
  if (condition === null) return [];
  const statement = prepared<object, number>(db, idsQuery(condition), 'pluck');
  const ids: number[] = [];
  for (const { since, until } of daysOfKey(db, condition, query))
    for (const id of statement.all({ ...condition.parameters, since, until })) ids.push(id);
  return ids;
}

type Rows = readonly (readonly Cell[])[];

/** Reads rows page by page and yields what `page` makes of them; `sql`: as `pageQuery`. Throws StoreError. */
async function* pagesOf<Page>(
  db: Database,
  ids: readonly number[],
  sql: string,
  page: (rows: Rows) => Page,
): AsyncGenerator<Page> {
  try {
    const statement = prepared<[string], string>(db, sql, 'pluck');
    // In one transaction: reading a dictionary's string in its own transaction takes 40 times as long.
    const read = db.transaction((some: readonly number[]) => page(statement.all(JSON.stringify(some)).map(cellsOf)));
    for (let at = 0; at < ids.length; at += PAGE) {
      yield read(ids.slice(at, at + PAGE));
      // Lets signals and timers have their turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
  } catch (error) {
    throw stepError(db, error);
  }
}

const select = (db: Database, words: Words, query: RecordFilter): readonly number[] =>
  db.transaction(() => selectIds(db, words, query))();

/** As `AccountingReader.pages`. Throws StoreError. */
export async function* recordPages(db: Database, words: Words, query: PagesQuery): AsyncGenerator<RecordPage> {
  const plan = rowPlan(query.fields);
  const ids = inStore(db, () => select(db, words, query));
  yield* pagesOf(db, ids, pageQuery(plan.columns, query.fields?.includes('series') ?? false), (rows) => ({
    records: rows.map((row) => fromRow(row, 0, words, plan)),
    of: ids.length,
  }));
}

/** As `AccountingReader.tables`. Methods reject with StoreError. */
export const recordTables = (db: Database, words: Words): RecordTables => ({
  location: db.name,
  credentials: '',
  page: PAGE,
  select: (query) => asPromise(db, () => ({ waiting: [], ids: select(db, words, query) })),
  read: (ids, columns) => {
    const plan = new TablePlan(columns);
    return pagesOf(db, ids, pageQuery(plan.columns, false), (rows) => ({
      columns: plan.read(rows, words),
      rows: rows.length,
    }));
  },
});
