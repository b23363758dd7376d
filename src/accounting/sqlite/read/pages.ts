import type { Database } from 'better-sqlite3';
import type { Cell } from '../../columns';
import { fromRow, rowPlan, SERIES_CELLS } from '../../row';
import type { PlainColumn } from '../../../record/plain-columns';
import type { PagesQuery, RecordFilter, RecordPage, TablePage } from '../../store';
import { TablePlan } from '../../table-plan';
import type { Words } from '../database/dictionary';
import { storeError } from '../database/faults';
import { prepared } from '../database/prepared';
import { idsQuery, pageQuery } from './queries';
import { conditionOf } from './record-filter';
import { daysOfKey } from './spans';

/** Small enough that most of a page is gone before the garbage collector looks. */
const PAGE = 500;

function selectIds(db: Database, words: Words, query: RecordFilter): readonly number[] {
  const condition = conditionOf(query, words);
  if (condition === null) return [];
  const statement = prepared<object, number>(db, idsQuery(condition), 'pluck');
  const ids: number[] = [];
  for (const { since, until } of daysOfKey(db, condition, query).toReversed())
    for (const id of statement.all({ ...condition.parameters, since, until })) ids.push(id);
  return ids;
}

/** How rows are read. */
interface Reading<Page> {
  /** As `pageQuery`. */
  readonly sql: string;
  readonly page: (rows: readonly (readonly Cell[])[], of: number) => Page;
}

/**
 * The numbers of the records are chosen at once (8 bytes each) and their rows read page by page: a reader that held its
 * place in the table would keep writers waiting. Throws StoreError.
 */
async function* pagesOf<Page>(
  db: Database,
  words: Words,
  query: RecordFilter,
  { sql, page }: Reading<Page>,
): AsyncGenerator<Page> {
  try {
    const ids = db.transaction(() => selectIds(db, words, query))();
    const statement = prepared<[string], string>(db, sql, 'pluck');
    for (let at = 0; at < ids.length; at += PAGE) {
      const rows = statement.all(JSON.stringify(ids.slice(at, at + PAGE)));
      yield page(
        rows.map((row) => JSON.parse(row) as readonly Cell[]),
        ids.length,
      );
      // Others have their turn: signals, timers.
      await new Promise((resolve) => setImmediate(resolve));
    }
  } catch (error) {
    throw storeError(db.name, error, 'read');
  }
}

/** As AccountingReader's. Throws StoreError. */
export function recordPages(db: Database, words: Words, query: PagesQuery): AsyncGenerator<RecordPage> {
  const plan = rowPlan(query.fields);
  return pagesOf(db, words, query, {
    sql: pageQuery(plan.columns, query.fields?.includes('series') ?? false),
    page: (rows, of) => ({ records: rows.map((row) => fromRow(row, SERIES_CELLS, 0, words, plan)), of }),
  });
}

/** As AccountingReader's. Throws StoreError. */
export function tablePages(
  db: Database,
  words: Words,
  query: RecordFilter,
  columns: readonly PlainColumn[],
): AsyncGenerator<TablePage> {
  const plan = new TablePlan(columns);
  return pagesOf(db, words, query, {
    sql: pageQuery(plan.columns, false),
    page: (rows, of) => ({ columns: plan.read(rows, SERIES_CELLS, words), rows: rows.length, of }),
  });
}
