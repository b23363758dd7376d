import type { Database } from 'better-sqlite3';
import type { Cell } from '../../columns';
import { fromRow, rowPlan, SERIES_CELLS } from '../../row';
import type { PagesQuery, RecordPage } from '../../store';
import type { Words } from '../database/dictionary';
import { storeError } from '../database/faults';
import { prepared } from '../database/prepared';
import { idsQuery, pageQuery } from './queries';
import { conditionOf } from './record-filter';
import { daysOfKey } from './spans';

const PAGE = 1000;

function selectIds(db: Database, words: Words, query: PagesQuery): readonly number[] {
  const condition = conditionOf(query, words);
  if (condition === null) return [];
  const statement = prepared<object, number>(db, idsQuery(condition), 'pluck');
  const ids: number[] = [];
  for (const { since, until } of daysOfKey(db, condition, query).toReversed())
    for (const id of statement.all({ ...condition.parameters, since, until })) ids.push(id);
  return ids;
}

/**
 * As AccountingReader's. The numbers of the records are chosen at once (8 bytes each) and their rows read page by page:
 * a reader that held its place in the table would keep writers waiting. Throws StoreError.
 */
export async function* recordPages(db: Database, words: Words, query: PagesQuery): AsyncGenerator<RecordPage> {
  try {
    const ids = db.transaction(() => selectIds(db, words, query))();
    const plan = rowPlan(query.fields);
    const sql = pageQuery(plan.columns, query.fields?.includes('series') ?? false);
    const statement = prepared<[string], readonly Cell[]>(db, sql, 'raw');
    for (let at = 0; at < ids.length; at += PAGE) {
      const rows = statement.all(JSON.stringify(ids.slice(at, at + PAGE)));
      yield { records: rows.map((row) => fromRow(row, SERIES_CELLS, 0, words, plan)), of: ids.length };
      // Others have their turn: signals, timers.
      await new Promise((resolve) => setImmediate(resolve));
    }
  } catch (error) {
    throw storeError(db.name, error, 'read');
  }
}
