import type { ColumnFacts, TableColumn } from '../record/plain-columns';
import type { OutputFile } from './output-file';
import type { Columns, Part, Table } from './table';

/** Where bytes are written to. */
export interface Sink {
  readonly write: (bytes: Uint8Array) => void;
  /** The output file, for a format whose library writes the file itself. */
  readonly file?: OutputFile;
}

/** Encodes rows as a part of a file, in any thread; `memory`: the buffer of an earlier part, for reuse. */
export type Encoder = (pages: readonly Columns[], memory?: ArrayBuffer) => Part;

type Described = Omit<Table, 'pages'>;

/** Encodes rows as the bytes of a file, in bounded memory. */
export interface RowFormat {
  /**
   * Takes rows, by column, and returns the bytes to write next; rows may also be kept for a later call. The bytes are
   * valid until the next call.
   */
  readonly rows: (columns: readonly TableColumn[], rows: number) => Uint8Array;
  /** Like `rows`, for rows that this format's encoder, if it has one, has encoded. */
  readonly part?: (part: Part) => Uint8Array;
  /** Returns the remaining bytes. */
  readonly end: () => Uint8Array;
  /** To be called instead of `end` after a failure. */
  readonly abandon?: () => void;
}

/** A file format for rows. */
interface Format {
  /** The suffix of its files' names. */
  readonly suffix: string;
  /** Not to be written to a terminal or a pipe. */
  readonly binary: boolean;
  readonly open: (table: Described, sink: Sink) => Promise<RowFormat>;
  /** Threads may encode parts of the file, of at least so many rows; left out: the format is written in one piece. */
  readonly parts?: {
    readonly least: number;
    readonly encoder: (columns: readonly ColumnFacts[]) => Promise<Encoder>;
  };
}

function fileOf({ file }: Sink): OutputFile {
  if (file === undefined) throw new TypeError('this format is written to a file');
  return file;
}

/** The formats; each one's code is loaded when it is used. */
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
    // A part is a row group, which readers read as a whole.
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

/** The least rows of a part; undefined: this format has no parts. */
export const leastPart = (name: FormatName): number | undefined => formatOf(name).parts?.least;

/** Rejects with UserError if a format needs a package that is not installed. */
export const openFormat = (name: FormatName, table: Described, sink: Sink): Promise<RowFormat> =>
  formatOf(name).open(table, sink);

/** Resolves to undefined if this format has no parts. */
export const openEncoder = async (name: FormatName, columns: readonly ColumnFacts[]): Promise<Encoder | undefined> =>
  formatOf(name).parts?.encoder(columns);
