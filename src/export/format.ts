import type { ColumnFacts, TableColumn } from '../record/plain-columns';
import type { OutputFile } from './output-file';
import type { Columns, Part, Table } from './table';

/** Where bytes go. */
export interface Sink {
  readonly write: (bytes: Uint8Array) => void;
  /** For a format that writes a file by itself. */
  readonly file?: OutputFile;
}

/** Writes rows as a part of a file, in whatever thread; `memory`: of an earlier part, to be used again. */
export type Encoder = (pages: readonly Columns[], memory?: ArrayBuffer) => Part;

type Described = Omit<Table, 'pages'>;

/** Rows of some columns as the bytes of a file, in bounded memory. */
export interface RowFormat {
  /**
   * What is to be written next, given some rows by column; rows of which nothing is written yet are kept for later. The
   * bytes are gone with the next.
   */
  readonly rows: (columns: readonly TableColumn[], rows: number) => Uint8Array;
  /** The same of rows that the encoder of this format has written. */
  readonly part: (part: Part) => Uint8Array;
  /** The rest. */
  readonly end: () => Uint8Array;
  /** In place of `end`, where something failed. */
  readonly abandon?: () => void;
}

/** What rows can be written as; each kind is loaded when it is used. `binary`: nothing for a terminal or a pipe. */
const FORMATS = {
  csv: {
    binary: false,
    open: async ({ columns }: Described) => (await import('./csv.js')).csvFormat(columns),
    encoder: async (columns: readonly ColumnFacts[]) => (await import('./csv.js')).csvEncoder(columns),
  },
  jsonl: {
    binary: false,
    open: async ({ columns }: Described) => (await import('./jsonl.js')).jsonLinesFormat(columns),
    encoder: async (columns: readonly ColumnFacts[]) => (await import('./jsonl.js')).jsonLinesEncoder(columns),
  },
  parquet: {
    binary: true,
    open: async ({ columns }: Described) => (await import('./parquet.js')).openParquetFormat(columns),
    encoder: async (columns: readonly ColumnFacts[]) => (await import('./parquet.js')).openParquetEncoder(columns),
  },
  hdf5: {
    binary: true,
    open: async (table: Described, { file }: Sink) => {
      if (file === undefined) throw new TypeError('HDF5 is written to a file');
      return (await import('./hdf5.js')).openHdf5Format(table, file);
    },
    // Its library writes the file.
    encoder: () => Promise.resolve(null),
  },
} as const;

export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = ['csv', 'jsonl', 'parquet', 'hdf5'] as const satisfies readonly FormatName[];

export const isBinary = (name: FormatName): boolean => FORMATS[name].binary;

/** Rejects with UserError where a format needs what is not installed. */
export const openFormat = (name: FormatName, table: Described, sink: Sink): Promise<RowFormat> =>
  FORMATS[name].open(table, sink);

/** null: this format has no parts. */
export const openEncoder = (name: FormatName, columns: readonly ColumnFacts[]): Promise<Encoder | null> =>
  FORMATS[name].encoder(columns);
