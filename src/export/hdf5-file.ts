import { truncateSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from '../base/error-code';
import { packageRoot } from '../base/package-root';
import { UserError } from '../base/user-error';
import type { ColumnFacts, ColumnType, TableColumn, TableValue } from '../record/plain-columns';
import type { OutputFile } from './output-file';

/** HDF5 files with tables like those of colmet and PyTables: compound types, texts of fixed length. */

/** Size of a chunk, which is compressed as a whole, and in memory as a whole while it is written. */
const CHUNK_BYTES = 256 * 1024;
const COMPRESSION = 1;
/** Characters of a long text per row of /long_texts. */
const PIECE = 1000;

/** The values that stand for null; for integers the least possible one, as -1 may be a value (exit status). */
const MISSING = 'integers -9223372036854775808, booleans -1, reals and times NaN, texts (UTF-8) empty';

interface Cells {
  readonly dtype: string;
  readonly width: number;
  /** Writes a value; false: a text was cut. */
  readonly put: (bytes: Buffer, at: number, value: TableValue) => boolean;
}

const WORD = 2 ** 32;

function putInteger(bytes: Buffer, at: number, value: TableValue): boolean {
  const [high, low] = typeof value === 'number' ? [Math.floor(value / WORD), value] : [-(2 ** 31), 0];
  bytes.writeUInt32LE(low - Math.floor(low / WORD) * WORD, at);
  bytes.writeInt32LE(high, at + 4);
  return true;
}

const real = (divisor: number): Cells => ({
  dtype: '<d',
  width: 8,
  put: (bytes, at, value) => bytes.writeDoubleLE(typeof value === 'number' ? value / divisor : NaN, at) > 0,
});

const text = (width: number): Cells => ({
  dtype: `A${width}`,
  width,
  // The last byte is the terminating NUL.
  put: (bytes, at, value) =>
    typeof value !== 'string' || bytes.write(value, at, width - 1) === Buffer.byteLength(value),
});

const CELLS: Readonly<Record<ColumnType, (width: number) => Cells>> = {
  integer: () => ({ dtype: '<q', width: 8, put: putInteger }),
  boolean: () => ({
    dtype: '<b',
    width: 1,
    put: (bytes, at, value) => bytes.writeInt8(value === null ? -1 : Number(value), at) > 0,
  }),
  real: () => real(1),
  time: () => real(1000),
  text,
  json: text,
};

/** Twice the length of a column's longest text, to leave room for longer ones. */
function widthFor(values: TableColumn): number {
  const longest = values.reduce<number>(
    (most, value) => (typeof value === 'string' ? Math.max(most, Buffer.byteLength(value)) : most),
    0,
  );
  return Math.max(16, 2 * Math.ceil((longest + 1) / 8) * 8);
}

/** Error codes by the texts of musl, which is inside the library. */
const CODES = new Map([
  ['No space left on device', 'ENOSPC'],
  ['Quota exceeded', 'EDQUOT'],
]);

/** Turns the library's error, a text of some thirty lines, into a one-line error with the system's code. */
function systemError(error: unknown): unknown {
  const { message } = error as Error;
  const reason = /error message = '([^']*)'/.exec(message)?.[1] ?? /\(\): (.*)/.exec(message)?.[1];
  if (reason === undefined) return error;
  return Object.assign(new Error(`HDF5: ${reason}`, { cause: error }), { code: CODES.get(reason) });
}

async function loadLibrary() {
  try {
    const { File, ready } = await import('h5wasm/node');
    const module = await ready;
    module.activate_throwing_error_handler();
    return { File, module };
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UserError('--format hdf5 needs the package h5wasm, which is not installed', {
      hint: `run "npm install --no-save h5wasm" in ${packageRoot()}, or write --format parquet`,
      cause: error,
    });
  }
}

type Library = Awaited<ReturnType<typeof loadLibrary>>;

const textAttribute = (values: readonly string[]): string =>
  `A${Math.max(...values.map((value) => Buffer.byteLength(value))) + 1}`;

/** A file that the HDF5 library writes itself, page by page. Methods throw OutputError. */
export class Hdf5File {
  private readonly file: InstanceType<Library['File']>;
  private readonly groups = new Set<string>();
  private longTexts: Hdf5Table | null = null;

  private constructor(
    private readonly output: OutputFile,
    private readonly library: Library,
  ) {
    const path = resolve(output.temporary);
    this.file = this.trying(() => new library.File(path, 'w'));
    this.trying(() => {
      for (const [name, value] of Object.entries({ created_by: 'qmemacct', missing: MISSING }))
        this.file.create_attribute(name, [value], [1], textAttribute([value]));
    });
  }

  /** Rejects with UserError if the library is not installed. */
  static async open(output: OutputFile): Promise<Hdf5File> {
    return new Hdf5File(output, await loadLibrary());
  }

  /** Makes a table at `/name` or `/group/name`; the values in `first` determine the length of its texts. */
  table(path: string, columns: readonly ColumnFacts[], first: readonly TableColumn[]): Hdf5Table {
    const group = /^\/([^/]+)\//.exec(path)?.[1];
    const cells = columns.map(({ type }, index) => CELLS[type](widthFor(first[index] ?? [])));
    const width = cells.reduce((sum, { width: bytes }) => sum + bytes, 0);
    const chunk = Math.max(1, Math.floor(CHUNK_BYTES / width));
    this.trying(() => {
      if (group !== undefined && !this.groups.has(group)) this.file.create_group(group);
      if (group !== undefined) this.groups.add(group);
      const table = this.file.create_dataset({
        name: path.slice(1),
        data: new Map(columns.map((column) => [column.name, []])),
        dtype: columns.map((column, index) => [column.name, cells[index]?.dtype ?? '']),
        shape: [0],
        maxshape: [null],
        chunks: [chunk],
        compression: 'gzip',
        compression_opts: [COMPRESSION],
      });
      const units = columns.map(({ type, unit }) => (type === 'time' ? 'seconds since the epoch' : (unit ?? '')));
      table.create_attribute('units', units, null, textAttribute(units));
      const meanings = columns.map(({ help }) => help);
      table.create_attribute('meanings', meanings, null, textAttribute(meanings));
    });
    return new Hdf5Table(this, path, cells, chunk);
  }

  /** Appends rows to a table. */
  write(path: string, bytes: Buffer, from: number, rows: number): void {
    const { module } = this.library;
    this.trying(() => {
      module.resize_dataset(this.file.file_id, path, [BigInt(from + rows)]);
      const place = module._malloc(bytes.length);
      try {
        module.HEAPU8.set(bytes, place);
        module.set_dataset_data(this.file.file_id, path, [BigInt(rows)], [BigInt(from)], [1n], BigInt(place));
      } finally {
        module._free(place);
      }
    });
  }

  /** Stores the whole of a text that was too long for its column. */
  keepLongText(path: string, row: number, column: number, long: string): void {
    const characters = Array.from(long);
    const pieces = Array.from({ length: Math.ceil(characters.length / PIECE) }, (_item, index) =>
      characters.slice(index * PIECE, (index + 1) * PIECE).join(''),
    );
    const facts = LONG_TEXT_COLUMNS;
    const rows = [
      pieces.map(() => path),
      pieces.map(() => row),
      pieces.map(() => column),
      pieces.map((_p, n) => n),
      pieces,
    ];
    this.longTexts ??= this.table('/long_texts', facts, [['x'.repeat(100)], [], [], [], ['x'.repeat(2 * PIECE)]]);
    this.longTexts.append(rows, pieces.length);
  }

  close(): void {
    this.trying(() => this.file.close());
  }

  /** Closes a file that will be removed. */
  abandon(): void {
    try {
      // On a full disk this frees the space that closing needs.
      truncateSync(this.output.temporary);
      this.file.close();
    } catch {
      // The file is removed, whatever is in it.
    }
  }

  private trying<T>(step: () => T): T {
    try {
      return step();
    } catch (error) {
      throw this.output.failed(systemError(error));
    }
  }
}

const fact = (name: string, type: ColumnType, help: string): ColumnFacts => ({ name, type, unit: null, help });

/** The table of texts that are cut in their own tables, whole, in pieces. */
const LONG_TEXT_COLUMNS = [
  fact('table', 'text', 'where it is cut'),
  fact('row', 'integer', 'its row there, from 0'),
  fact('column', 'integer', 'its column there, from 0'),
  fact('piece', 'integer', 'part of the text, from 0'),
  fact('text', 'text', 'the piece'),
];

/** A table of an HDF5 file. Methods throw OutputError. */
export class Hdf5Table {
  private rows = 0;
  private readonly width: number;

  constructor(
    private readonly file: Hdf5File,
    private readonly path: string,
    private readonly cells: readonly Cells[],
    private readonly chunk: number,
  ) {
    this.width = cells.reduce((sum, { width }) => sum + width, 0);
  }

  append(columns: readonly TableColumn[], rows: number): void {
    for (let at = 0; at < rows;) {
      // Fill up the last chunk first, so that each chunk is compressed only once.
      const some = Math.min(rows - at, this.chunk - (this.rows % this.chunk));
      this.file.write(this.path, this.encode(columns, at, some), this.rows, some);
      this.rows += some;
      at += some;
    }
  }

  private encode(columns: readonly TableColumn[], from: number, rows: number): Buffer {
    const bytes = Buffer.alloc(rows * this.width);
    let offset = 0;
    for (const [index, { width, put }] of this.cells.entries()) {
      const values = columns[index] ?? [];
      for (let row = 0; row < rows; row++) {
        const value = values[from + row] ?? null;
        if (!put(bytes, row * this.width + offset, value))
          this.file.keepLongText(this.path, this.rows + row, index, String(value));
      }
      offset += width;
    }
    return bytes;
  }
}
