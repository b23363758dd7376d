import { cpuEfficiency, memoryEfficiency, queueWait } from '../../record/efficiency';
import { BRACKET, FIELD_NAMES, FIELDS, type FieldName } from '../../record/fields';
import type { JobRecord } from '../../record/record';
import type { NextRequest } from '../advice/next-request';
import { escapeForCsv } from '../format/escape';
import type { Account } from './json';

export type Cell = string | number | boolean | null;

interface CsvColumn {
  readonly name: string;
  readonly cell: (account: Account) => Cell;
}

/** A value that is one cell. */
function plainCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.join(' ') : JSON.stringify(value);
}

const memberColumns = (field: FieldName, prefix: string, members: object): readonly CsvColumn[] =>
  Object.keys(members).map((member) => ({
    name: `${prefix}_${member}`,
    cell: ({ record }) => {
      const value = record[field] as Readonly<Record<string, unknown>> | null;
      return value === null ? null : plainCell(value[member]);
    },
  }));

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

function fieldColumns(name: FieldName): readonly CsvColumn[] {
  const { storage } = FIELDS[name];
  const other = OTHERS[name];
  if (other !== undefined) return [{ name, cell: ({ record }) => other(record) }];
  // A chart has no place in a row.
  if (storage.as === 'series') return [];
  if (storage.as === 'bracket') return memberColumns(name, name, BRACKET);
  if (storage.as === 'members') return memberColumns(name, storage.prefix ?? name, storage.of);
  return [{ name, cell: ({ record }) => plainCell(record[name]) }];
}

/** Columns in this order. */
const NEXT_TIME = [
  'kind',
  'complex',
  'request_bytes',
  'risk',
  'runs',
] as const satisfies readonly (keyof NextRequest)[];

const EFFICIENCIES: readonly CsvColumn[] = [
  { name: 'cpu_efficiency', cell: ({ record }) => cpuEfficiency(record) },
  { name: 'memory_efficiency', cell: ({ record }) => memoryEfficiency(record) },
  { name: 'queue_wait_seconds', cell: ({ record }) => queueWait(record) },
];

const COLUMNS: readonly CsvColumn[] = [
  ...FIELD_NAMES.flatMap((name) => [...fieldColumns(name), ...(name === 'cpu_seconds' ? EFFICIENCIES : [])]),
  { name: 'attempt', cell: ({ attempt }) => attempt },
  ...NEXT_TIME.map((name): CsvColumn => ({
    name: `next_time_${name}`,
    cell: ({ next_time: next }) => next?.[name] ?? null,
  })),
  { name: 'classes', cell: ({ classes }) => classes?.found.map((finding) => finding.class).join(' ') ?? null },
];

const cellText = (cell: Cell): string => (typeof cell === 'string' ? escapeForCsv(cell) : String(cell ?? ''));

/** Lines of cells, each of them safe for a spreadsheet. */
export function renderCsvRows(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(',')}\n`).join('');
}

/** One line per record under stable column names, the head always. */
export function* csvPieces(accounts: Iterable<Account>): Generator<string, void> {
  yield renderCsvRows([COLUMNS.map(({ name }) => name)]);
  for (const account of accounts) yield renderCsvRows([COLUMNS.map(({ cell }) => cell(account))]);
}

/** The same as a whole. */
export const renderCsv = (accounts: Iterable<Account>): string => [...csvPieces(accounts)].join('');
