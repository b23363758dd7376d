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
  /** The same of rows that the encoder of this format has written, where it has one. */
  readonly part?: (part: Part) => Uint8Array;
  /** The rest. */
  readonly end: () => Uint8Array;
  /** In place of `end`, where something failed. */
  readonly abandon?: () => void;
}

/** What rows can be written as. */
interface Format {
  /** Of the names of its files. */
  readonly suffix: string;
  /** Nothing for a terminal or a pipe. */
  readonly binary: boolean;
  readonly open: (table: Described, sink: Sink) => Promise<RowFormat>;
  /** Threads write parts of the file, of at least so many rows; else the format's library writes it in one. */
  readonly parts?: {
    readonly least: number;
    readonly encoder: (columns: readonly ColumnFacts[]) => Promise<Encoder>;
  };
}

function fileOf({ file }: Sink): OutputFile {
  if (file === undefined) throw new TypeError('this format is written to a file');
  return file;
}

/** Each is loaded when it is used. */
const FORMATS = {
  csv: {
    suffix: 'csv',
    binary: false,
    open: async ({ columns }) => (await import('./csv.js')).csvFormat(columns),
    parts: { least: 1, encoder: async (columns) => (await import('./csv.js')).csvEncoder(columns) },
  },
  jsonl: {
    suffix: 'jsonl',
    binary: false,
    open: async ({ columns }) => (await import('./jsonl.js')).jsonLinesFormat(columns),
    parts: { least: 1, encoder: async (columns) => (await import('./jsonl.js')).jsonLinesEncoder(columns) },
  },
  parquet: {
    suffix: 'parquet',
    binary: true,
    open: async ({ columns }) => (await import('./parquet.js')).openParquetFormat(columns),
    // A part is a group, which is read as a whole.
    parts: { least: 10_000, encoder: async (columns) => (await import('./parquet.js')).openParquetEncoder(columns) },
  },
  hdf5: {
    suffix: 'h5',
    binary: true,
    open: async (table, sink) => (await import('./hdf5.js')).openHdf5Format(table, fileOf(sink)),
  },
  sqlite: {
    suffix: 'db',
    binary: true,
    open: async (table, sink) => (await import('./sqlite.js')).openSqliteFormat(table, fileOf(sink)),
  },
} as const satisfies Readonly<Record<string, Format>>;

export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[];

const formatOf = (name: FormatName): Format => FORMATS[name];

export const isBinary = (name: FormatName): boolean => formatOf(name).binary;

export const suffixOf = (name: FormatName): string => formatOf(name).suffix;

/** Rows of a part at least; undefined: this format has no parts. */
export const leastPart = (name: FormatName): number | undefined => formatOf(name).parts?.least;

/** Rejects with UserError where a format needs what is not installed. */
export const openFormat = (name: FormatName, table: Described, sink: Sink): Promise<RowFormat> =>
  formatOf(name).open(table, sink);

/** Resolves to undefined where this format has no parts. */
export const openEncoder = async (name: FormatName, columns: readonly ColumnFacts[]): Promise<Encoder | undefined> =>
  formatOf(name).parts?.encoder(columns);
