import type { ColumnFacts, TableColumn } from '../record/plain-columns';

/** Rows of some columns as the bytes of a file, in bounded memory. */
export interface RowFormat {
  /** What is to be written next, given some rows by column; rows of which nothing is written yet are kept for later. */
  readonly rows: (columns: readonly TableColumn[], rows: number) => string | Uint8Array;
  /** The rest. */
  readonly end: () => string | Uint8Array;
}

/** What rows can be written as; each kind is loaded when it is used. `binary`: nothing for a terminal or a pipe. */
const FORMATS = {
  csv: {
    binary: false,
    open: async (columns: readonly ColumnFacts[]) => (await import('./csv.js')).csvFormat(columns),
  },
  jsonl: {
    binary: false,
    open: async (columns: readonly ColumnFacts[]) => (await import('./jsonl.js')).jsonLinesFormat(columns),
  },
  parquet: {
    binary: true,
    open: async (columns: readonly ColumnFacts[]) => (await import('./parquet.js')).openParquetFormat(columns),
  },
} as const;

export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = ['csv', 'jsonl', 'parquet'] as const satisfies readonly FormatName[];

export const isBinary = (name: FormatName): boolean => FORMATS[name].binary;

export const openFormat = (name: FormatName, columns: readonly ColumnFacts[]): Promise<RowFormat> =>
  FORMATS[name].open(columns);
