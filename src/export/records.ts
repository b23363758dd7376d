import type { AccountingReader, PagesQuery, RecordPage, Shown } from '../accounting/store';
import { OTHER_SERIES, type FieldName } from '../record/fields';
import type { StoredRecord } from '../record/merge';
import { PLAIN_COLUMNS, type ColumnFacts, type PlainColumn } from '../record/plain-columns';
import { recordKeyText, type JobRecord } from '../record/record';
import type { Row } from './format';
import type { RowPage, Table } from './table';

/** Which run it is, and whose. */
export const KEY = PLAIN_COLUMNS.filter(({ name }) =>
  ['cluster', 'job_id', 'task_id', 'pe_task_id', 'host', 'run_id', 'owner'].includes(name),
);

interface FoundPage extends RecordPage {
  /** Records of all stores so far. */
  readonly done: number;
}

/** Those of a page that none of the stores before has. */
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

/**
 * The pages of several stores, one after the other, each record once. `onShown`: what of others' jobs the site shows,
 * where that is not all.
 */
export async function* pagesOf(
  query: PagesQuery,
  readers: readonly AccountingReader[],
  onShown: (shown: Shown) => void,
): AsyncGenerator<FoundPage> {
  let before = 0;
  for (const [index, reader] of readers.entries()) {
    let done = 0;
    for await (const page of reader.pages(query)) {
      done += page.records.length;
      if (page.shown !== undefined) onShown(page.shown);
      const records = await withoutKnown(page.records, readers.slice(0, index));
      yield { ...page, records, done: before + done, of: before + page.of };
    }
    before += done;
  }
}

async function* rowPages(
  query: PagesQuery,
  readers: readonly AccountingReader[],
  rowsOf: (record: JobRecord) => readonly Row[],
  onShown: (shown: Shown) => void,
): AsyncGenerator<RowPage> {
  for await (const { records, done, of } of pagesOf(query, readers, onShown))
    yield { rows: records.flatMap(({ record }) => rowsOf(record)), done, of };
}

const fieldsOf = (columns: readonly PlainColumn[]): readonly FieldName[] => [
  ...new Set([...KEY, ...columns].flatMap(({ fields }) => fields)),
];

/** One row per record. `onShown` as `pagesOf` says. */
export function recordTable(
  query: PagesQuery,
  columns: readonly PlainColumn[],
  readers: readonly AccountingReader[],
  onShown: (shown: Shown) => void,
): Table {
  const rowsOf = (record: JobRecord): readonly Row[] => [columns.map(({ value }) => value(record))];
  return { columns, pages: rowPages({ ...query, fields: fieldsOf(columns) }, readers, rowsOf, onShown) };
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

function seriesRows(record: JobRecord): readonly Row[] {
  const { series } = record;
  if (series === null) return [];
  const key = KEY.map(({ value }) => value(record));
  const start = Date.parse(series.start);
  return series.rss_bytes.map((bytes, index) => [
    ...key,
    new Date(start + (index + 1) * series.step_seconds * 1000).toISOString(),
    series.step_seconds,
    bytes,
    ...Object.keys(OTHER_SERIES).map((name) => series.others[name]?.[index] ?? null),
  ]);
}

/** One row per step of each record's chart: its memory over time. */
export function seriesTable(
  query: PagesQuery,
  readers: readonly AccountingReader[],
  onShown: (shown: Shown) => void,
): Table {
  const fields = [...fieldsOf(KEY), 'series'] as const;
  return { columns: SERIES_COLUMNS, pages: rowPages({ ...query, fields }, readers, seriesRows, onShown) };
}
