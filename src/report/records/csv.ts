import { PLAIN_COLUMNS, type PlainValue } from '../../record/plain-columns';
import type { JobRecord } from '../../record/record';
import type { NextRequest } from '../advice/next-request';
import { escapeForCsv } from '../format/escape';
import type { Account, AccountWriter } from './json';

export type Cell = string | number | boolean | null;

interface CsvColumn {
  readonly name: string;
  readonly cell: (account: Account) => Cell;
}

const cellOf = (value: PlainValue): Cell =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value;

/** Columns that hold several values, as text. Columns are a contract: none may be renamed. */
const TEXTS: Readonly<Record<string, (record: JobRecord) => Cell>> = {
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

/** Columns of the advice, in this order. */
const NEXT_TIME = [
  'kind',
  'complex',
  'request_bytes',
  'risk',
  'runs',
] as const satisfies readonly (keyof NextRequest)[];

const COLUMNS: readonly CsvColumn[] = [
  ...PLAIN_COLUMNS.map(({ name, value }): CsvColumn => {
    const text = TEXTS[name];
    return { name, cell: ({ record }) => (text === undefined ? cellOf(value(record)) : text(record)) };
  }),
  { name: 'attempt', cell: ({ attempt }) => attempt },
  ...NEXT_TIME.map((name): CsvColumn => ({
    name: `next_time_${name}`,
    cell: ({ next_time: next }) => next?.[name] ?? null,
  })),
  { name: 'classes', cell: ({ classes }) => classes?.found.map((finding) => finding.class).join(' ') ?? null },
];

/** A cell as it stands in a line, safe for a spreadsheet. */
export const cellText = (cell: Cell): string => (typeof cell === 'string' ? escapeForCsv(cell) : String(cell ?? ''));

/** Lines of cells, each of them safe for a spreadsheet. */
export function renderCsvRows(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(',')}\n`).join('');
}

/** One line per record under stable column names; the header is always written. */
export class CsvWriter implements AccountWriter {
  private head = renderCsvRows([COLUMNS.map(({ name }) => name)]);

  *some(accounts: Iterable<Account>): Generator<string, void> {
    yield* this.end();
    for (const account of accounts) yield renderCsvRows([COLUMNS.map(({ cell }) => cell(account))]);
  }

  *end(): Generator<string, void> {
    yield this.head;
    this.head = '';
  }
}

/** CSV of accounts as one text. */
export const renderCsv = (accounts: Iterable<Account>): string => [...new CsvWriter().some(accounts)].join('');
