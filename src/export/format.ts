import type { ColumnFacts } from '../record/plain-columns';
import type { OutputFile } from './output-file';
import type { Columns, Part, Table } from './table';

/** Where bytes are written to; they need to be valid only until `write` returns. */
export interface Sink {
  readonly write: (bytes: Uint8Array) => void;
  /** The output file, for a format whose library writes the file itself. */
  readonly file?: OutputFile;
}

/** Encodes rows as a part of a file, in any thread; `memory`: the buffer of an earlier part, for reuse. */
type Encoder = (pages: readonly Columns[], memory?: ArrayBuffer) => Part;

/** Writes rows to a file, in bounded memory. */
export interface RowFormat {
  /** Takes rows, by column, and may keep them for a later call. */
  readonly rows: (page: Columns) => void;
  /** Like `rows`, for rows that this format's encoder, if it has one, has encoded. */
  readonly part?: (part: Part) => void;
  /** Writes what is left. */
  readonly end: () => void;
  /** To be called instead of `end` after a failure. */
  readonly abandon?: () => void;
}

/** A format whose files are joined from encoded parts. */
export interface PartFormat {
  readonly encode: Encoder;
  readonly head: Uint8Array;
  /** A part's bytes for the place behind the parts joined before. */
  readonly join: (part: Part) => Uint8Array;
  readonly end: () => Uint8Array;
}

type Described = Omit<Table, 'pages'>;

/** A file format for rows. */
type Format = {
  /** The suffix of its files' names. */
  readonly suffix: string;
  /** Not to be written to a terminal or a pipe. */
  readonly binary: boolean;
} & (
  | {
      /** The least rows of a part. */
      readonly least: number;
      readonly parts: (columns: readonly ColumnFacts[]) => Promise<PartFormat>;
    }
  /** Written in one piece, by a library. */
  | { readonly open: (table: Described, output: OutputFile) => Promise<RowFormat> }
);

/** The formats; each one's code is loaded when it is used. */
const FORMATS = {
  csv: {
    suffix: 'csv',
    binary: false,
    least: 1,
    parts: async (columns) => (await import('./csv.js')).csvFormat(columns),
  },
  jsonl: {
    suffix: 'jsonl',
    binary: false,
    least: 1,
    parts: async (columns) => (await import('./jsonl.js')).jsonLinesFormat(columns),
  },
  parquet: {
    suffix: 'parquet',
    binary: true,
    // A part is a row group, which readers read as a whole.
    least: 10_000,
    parts: async (columns) => (await import('./parquet.js')).openParquetFormat(columns),
  },
  hdf5: {
    suffix: 'h5',
    binary: true,
    open: async (table, output) => (await import('./hdf5.js')).openHdf5Format(table, output),
  },
  sqlite: {
    suffix: 'db',
    binary: true,
    open: async (table, output) => (await import('./sqlite.js')).openSqliteFormat(table, output),
  },
} as const satisfies Readonly<Record<string, Format>>;

export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[];

const formatOf = (name: FormatName): Format => FORMATS[name];

export const isBinary = (name: FormatName): boolean => formatOf(name).binary;

export const suffixOf = (name: FormatName): string => formatOf(name).suffix;

/** The least rows of a part; undefined: this format has no parts. */
export function leastPart(name: FormatName): number | undefined {
  const format = formatOf(name);
  return 'parts' in format ? format.least : undefined;
}

/** Writes rows as parts of `least` rows or more, each encoded in the memory of the one before. */
function inParts({ encode, head, join, end }: PartFormat, least: number, sink: Sink): RowFormat {
  let isBegun = false;
  let pages: Columns[] = [];
  let waiting = 0;
  let memory: ArrayBuffer | undefined;
  const write = (bytes: Uint8Array): void => {
    if (!isBegun) sink.write(head);
    isBegun = true;
    sink.write(bytes);
  };
  const writeWaiting = (): void => {
    if (waiting === 0) return;
    const part = encode(pages, memory);
    write(join(part));
    memory = part.bytes.buffer;
    pages = [];
    waiting = 0;
  };
  return {
    rows: (page) => {
      pages.push(page);
      waiting += page.rows;
      if (waiting >= least) writeWaiting();
    },
    part: (part) => {
      writeWaiting();
      write(join(part));
    },
    end: () => {
      writeWaiting();
      write(end());
    },
  };
}

/** Rejects with UserError if a format needs a package that is not installed. */
export async function openFormat(name: FormatName, table: Described, sink: Sink): Promise<RowFormat> {
  const format = formatOf(name);
  if ('parts' in format) return inParts(await format.parts(table.columns), format.least, sink);
  if (sink.file === undefined) throw new TypeError('this format is written to a file');
  return format.open(table, sink.file);
}

/** Resolves to undefined if this format has no parts. */
export async function openEncoder(name: FormatName, columns: readonly ColumnFacts[]): Promise<Encoder | undefined> {
  const format = formatOf(name);
  return 'parts' in format ? (await format.parts(columns)).encode : undefined;
}
