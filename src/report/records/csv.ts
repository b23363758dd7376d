import { cpuEfficiency, memoryEfficiency, queueWait } from '../../record/efficiency';
import { BRACKET, FIELD_NAMES, FIELDS, type FieldName } from '../../record/fields';
import { emptyRecord, type JobRecord } from '../../record/record';
import type { NextRequest } from '../advice/next-request';
import { escapeForCsv } from '../format/escape';
import type { Account } from './json';

export type Cell = string | number | boolean | null;
type Cells = readonly (readonly [column: string, cell: Cell])[];

/** A value that is one cell. */
function plainCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.join(' ') : JSON.stringify(value);
}

const memberCells = (prefix: string, members: object, value: object | null): Cells =>
  Object.keys(members).map((member) => [
    `${prefix}_${member}`,
    value === null ? null : plainCell((value as Readonly<Record<string, unknown>>)[member]),
  ]);

/** Fields that are no one cell and no object of cells. Columns are a contract: none may be renamed. */
const OTHERS: Readonly<Partial<Record<FieldName, (record: JobRecord) => Cell>>> = {
  requests: ({ requests }) =>
    Object.entries(requests)
      .map(([complex, { limit_bytes: limit }]) => `${complex}=${limit ?? 'unlimited'}`)
      .join(' '),
  notes: ({ notes }) => notes.join(' '),
  metrics: ({ metrics }) =>
    Object.entries(metrics)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
  granted_hosts: ({ granted_hosts: hosts }) => hosts?.map(({ host, slots }) => `${host}=${slots}`).join(' ') ?? null,
};

function fieldCells(name: FieldName, record: JobRecord): Cells {
  const { storage } = FIELDS[name];
  const value = record[name];
  const other = OTHERS[name];
  if (other !== undefined) return [[name, other(record)]];
  // A chart has no place in a row.
  if (storage.as === 'series') return [];
  if (storage.as === 'bracket') return memberCells(name, BRACKET, value as object | null);
  if (storage.as === 'members') return memberCells(storage.prefix ?? name, storage.of, value as object | null);
  return [[name, plainCell(value)]];
}

/** Columns in this order. */
const NEXT_TIME = [
  'kind',
  'complex',
  'request_bytes',
  'risk',
  'runs',
] as const satisfies readonly (keyof NextRequest)[];

function cellsOf({ record, attempt, next_time: next }: Account): Cells {
  const efficiencies: Cells = [
    ['cpu_efficiency', cpuEfficiency(record)],
    ['memory_efficiency', memoryEfficiency(record)],
    ['queue_wait_seconds', queueWait(record)],
  ];
  const cells = FIELD_NAMES.flatMap((name) => [
    ...fieldCells(name, record),
    ...(name === 'cpu_seconds' ? efficiencies : []),
  ]);
  return [
    ...cells,
    ['attempt', attempt],
    ...NEXT_TIME.map((name) => [`next_time_${name}`, next?.[name] ?? null] as const),
  ];
}

const cellText = (cell: Cell): string => (typeof cell === 'string' ? escapeForCsv(cell) : String(cell ?? ''));

const NO_KEY = { cluster: '', job_id: 0, task_id: null, pe_task_id: null, host: '', run_id: '' };
const HEAD = cellsOf({ record: emptyRecord(NO_KEY, 'finished', 'root', 0), attempt: 1, next_time: null }).map(
  ([name]) => name,
);

/** Lines of cells, each of them safe for a spreadsheet. */
export function renderCsvRows(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(',')}\n`).join('');
}

/** One line per record under stable column names, the head always. */
export function* csvPieces(accounts: Iterable<Account>): Generator<string, void> {
  yield renderCsvRows([HEAD]);
  for (const account of accounts) yield renderCsvRows([cellsOf(account).map(([, cell]) => cell)]);
}

/** The same as a whole. */
export const renderCsv = (accounts: Iterable<Account>): string => [...csvPieces(accounts)].join('');
