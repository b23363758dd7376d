import type { AccountingReader, PagesQuery, RecordPage, RecordTables } from '../accounting/store';
import { OTHER_SERIES, type FieldName } from '../record/fields';
import type { StoredRecord } from '../record/merge';
import { PLAIN_COLUMNS, tableColumns, tableValue, type ColumnFacts, type PlainColumn } from '../record/plain-columns';
import { recordKeyText, type JobRecord } from '../record/record';
import type { FormatName } from './format';
import { readTables, type PartSizes } from './parts';
import { columnsOfRows, type Columns, type Row, type RowPage, type Table } from './table';

/** The columns that identify a run, and its owner. */
export const KEY = PLAIN_COLUMNS.filter(({ name }) =>
  ['cluster', 'job_id', 'task_id', 'pe_task_id', 'host', 'run_id', 'owner'].includes(name),
);

interface FoundPage extends RecordPage {
  /** Records read so far, of all stores. */
  readonly done: number;
}

/** The records of a page that none of the stores in `before` has. */
async function withoutKnown(
  records: readonly StoredRecord[],
  before: readonly AccountingReader[],
): Promise<readonly StoredRecord[]> {
  if (before.length === 0) return records;
  const numbers = [...new Set(records.map(({ record }) => record.job_id))];
  const known = new Set<string>();
  for (const reader of before)
    for (const { record } of await reader.jobs(numbers, fieldsOf(KEY))) known.add(recordKeyText(record));
  return records.filter(({ record }) => !known.has(recordKeyText(record)));
}

/** Counts the progress of reading several stores one after another. */
class StoresRead {
  private before = 0;
  private here = 0;

  /** Counts further records of the present store, which has `of` in all. */
  add(records: number, of: number): { readonly done: number; readonly of: number } {
    this.here += records;
    return { done: this.before + this.here, of: this.before + of };
  }

  next(): void {
    this.before += this.here;
    this.here = 0;
  }
}

async function* pagesOfStore(
  query: PagesQuery,
  [reader, ...before]: readonly [AccountingReader, ...AccountingReader[]],
  read: StoresRead,
): AsyncGenerator<FoundPage> {
  for await (const page of reader.pages(query)) {
    const records = await withoutKnown(page.records, before);
    yield { ...page, records, ...read.add(page.records.length, page.of) };
  }
  read.next();
}

/** The pages of several stores, one after another, each record once. */
export async function* pagesOf(query: PagesQuery, readers: readonly AccountingReader[]): AsyncGenerator<FoundPage> {
  const read = new StoresRead();
  for (const [index, reader] of readers.entries())
    yield* pagesOfStore(query, [reader, ...readers.slice(0, index)], read);
}

const fieldsOf = (columns: readonly PlainColumn[]): readonly FieldName[] => [
  ...new Set([...KEY, ...columns].flatMap(({ fields }) => fields)),
];

/** Which records are wanted, and which columns. */
interface Wanted {
  readonly query: PagesQuery;
  readonly columns: readonly PlainColumn[];
}

const asColumns = (columns: readonly PlainColumn[], stored: readonly StoredRecord[]): Columns => ({
  columns: tableColumns(
    columns,
    stored.map(({ record }) => record),
  ),
  rows: stored.length,
});

async function* pagesOfTables(
  { query, columns }: Wanted,
  tables: RecordTables,
  read: StoresRead,
  [format, sizes]: readonly [FormatName, Partial<PartSizes>],
): AsyncGenerator<RowPage> {
  const { waiting, ids } = await tables.select(query);
  const of = waiting.length + ids.length;
  if (waiting.length > 0) yield { ...asColumns(columns, waiting), ...read.add(waiting.length, of) };
  for await (const { page, read: records } of readTables(tables, ids, columns, format, sizes))
    yield { ...page, ...read.add(records, of) };
  read.next();
}

/** The table with one row per record. */
export function recordTable(
  query: PagesQuery,
  columns: readonly PlainColumn[],
  readers: readonly AccountingReader[],
  sizes: Partial<PartSizes> = {},
): Table {
  const fields = fieldsOf(columns);
  async function* pages(format: FormatName): AsyncGenerator<RowPage> {
    const read = new StoresRead();
    for (const [index, reader] of readers.entries()) {
      const before = readers.slice(0, index);
      // Later stores are read record by record, to leave out what earlier ones have.
      if (before.length === 0 && reader.tables !== undefined)
        yield* pagesOfTables({ query, columns }, reader.tables, read, [format, sizes]);
      else
        for await (const { records, ...page } of pagesOfStore({ ...query, fields }, [reader, ...before], read))
          yield { ...page, ...asColumns(columns, records) };
    }
  }
  return { what: 'records', columns, pages };
}

export const SERIES_COLUMNS: readonly ColumnFacts[] = [
  ...KEY,
  { name: 'at', type: 'time', unit: null, help: 'end of the step' },
  { name: 'step_seconds', type: 'real', unit: 'seconds', help: 'length of the step' },
  { name: 'rss_bytes', type: 'integer', unit: 'bytes', help: 'largest resident memory that was sampled in the step' },
  ...Object.entries(OTHER_SERIES).map(([name, help]) => ({
    name,
    type: 'real' as const,
    unit: name.endsWith('_bytes') ? 'bytes' : null,
    help,
  })),
];

/** The last time that a Date can hold; a self-reported step length may lead beyond it. */
const LAST_MS = 8.64e15;

export const keyValues = (record: JobRecord): Row => KEY.map((column) => tableValue(column, record));

function seriesRows(record: JobRecord): readonly Row[] {
  const { series } = record;
  if (series === null) return [];
  const key = keyValues(record);
  const start = Date.parse(series.start);
  const step = series.step_seconds;
  return series.rss_bytes.map((bytes, index) => {
    const at = Math.round(start + (index + 1) * step * 1000);
    const others = Object.keys(OTHER_SERIES).map((name) => series.others[name]?.[index] ?? null);
    return [...key, at <= LAST_MS ? at : null, step, bytes, ...others];
  });
}

/** The table with one row per step of each record's chart, its memory over time. */
export function seriesTable(query: PagesQuery, readers: readonly AccountingReader[]): Table {
  const fields = [...fieldsOf(KEY), 'series'] as const;
  async function* pages(): AsyncGenerator<RowPage> {
    for await (const { records, ...page } of pagesOf({ ...query, fields }, readers)) {
      const rows = records.flatMap(({ record }) => seriesRows(record));
      yield { ...page, columns: columnsOfRows(rows, SERIES_COLUMNS), rows: rows.length };
    }
  }
  return { what: 'series', columns: SERIES_COLUMNS, pages };
}
