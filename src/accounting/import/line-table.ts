import type { PlacedLine } from './line-place';

/** The columns that hold numbers; NaN: null. */
const NUMBER_COLUMNS = [
  'jobId',
  'task',
  'slots',
  'submissionTimeMs',
  'startTimeMs',
  'endTimeMs',
  'failed',
  'exitStatus',
  'wallclockSeconds',
  'cpuSeconds',
  'userSeconds',
  'systemSeconds',
  'memGibSeconds',
  'ioGib',
  'maxvmemBytes',
  'maxrssBytes',
  'jobMaxrssBytes',
] as const;
const NUMBERS = NUMBER_COLUMNS.length;
const END_TIME = NUMBER_COLUMNS.indexOf('endTimeMs');

/** The columns that hold texts, as indexes into `words`; 0: null. */
export const TEXT_COLUMNS = [
  'host',
  'owner',
  'jobName',
  'account',
  'queue',
  'project',
  'pe',
  'peTaskId',
  'category',
  'submitCommand',
  'deletedBy',
  'place',
] as const;
const TEXTS = TEXT_COLUMNS.length;

/** Lines packed into arrays, which can be transferred between threads without a copy. */
export interface PackedLines {
  readonly length: number;
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly texts: Int32Array<ArrayBuffer>;
  /** The texts themselves, each once; the first has no meaning. */
  readonly words: readonly string[];
}

/** Packs lines into tables of `most` lines. */
export class LinePacker {
  private numbers = new Float64Array(0);
  private texts = new Int32Array(0);
  private words: string[] = [''];
  private known = new Map<string, number>();
  private length = 0;

  constructor(private readonly most: number) {}

  add(line: PlacedLine): void {
    if (this.numbers.length === 0) {
      this.numbers = new Float64Array(this.most * NUMBERS);
      this.texts = new Int32Array(this.most * TEXTS);
    }
    const { numbers, texts } = this;
    let at = this.length * NUMBERS;
    for (const name of NUMBER_COLUMNS) numbers[at++] = line[name] ?? NaN;
    at = this.length * TEXTS;
    for (const name of TEXT_COLUMNS) texts[at++] = this.number(line[name] ?? null);
    this.length++;
  }

  /** What was added since; the packer begins anew. */
  take(): PackedLines {
    const { length, numbers, texts, words } = this;
    this.numbers = new Float64Array(0);
    this.texts = new Int32Array(0);
    this.words = [''];
    this.known = new Map();
    this.length = 0;
    return { length, numbers, texts, words };
  }

  private number(text: string | null): number {
    if (text === null) return 0;
    const present = this.known.get(text);
    if (present !== undefined) return present;
    this.known.set(text, this.words.length);
    return this.words.push(text) - 1;
  }
}

/** When the first and the last of some jobs ended (ms). */
export interface Ended {
  readonly first: number;
  readonly last: number;
}

/** When the jobs of a table ended; null: no line tells. */
export function endedIn({ length, numbers }: PackedLines): Ended | null {
  let first = Infinity;
  let last = -Infinity;
  for (let index = 0; index < length; index++) {
    const at = numbers[index * NUMBERS + END_TIME] ?? NaN;
    if (at < first) first = at;
    if (at > last) last = at;
  }
  return first <= last ? { first, last } : null;
}

/** A line of a table, read where it lies. */
export class LineAt {
  constructor(
    readonly table: PackedLines,
    readonly index: number,
  ) {}

  /** The index of a text (its column's index in TEXT_COLUMNS) in the table's `words`; 0: null. */
  word(column: number): number {
    return this.table.texts[this.index * TEXTS + column] ?? 0;
  }
}

for (const [column, name] of NUMBER_COLUMNS.entries())
  Object.defineProperty(LineAt.prototype, name, {
    get(this: LineAt): number | null {
      const number = this.table.numbers[this.index * NUMBERS + column] ?? NaN;
      return Number.isNaN(number) ? null : number;
    },
  });
for (const [column, name] of TEXT_COLUMNS.entries())
  Object.defineProperty(LineAt.prototype, name, {
    get(this: LineAt): string | null {
      const word = this.word(column);
      return word === 0 ? null : (this.table.words[word] ?? null);
    },
  });

type ColumnName = (typeof NUMBER_COLUMNS)[number] | (typeof TEXT_COLUMNS)[number];
export type TableLine = LineAt & Required<Pick<PlacedLine, ColumnName>>;

/** The lines of a table, one after the other. */
export function* linesOf(table: PackedLines): Generator<TableLine, void> {
  for (let index = 0; index < table.length; index++) yield new LineAt(table, index) as TableLine;
}
