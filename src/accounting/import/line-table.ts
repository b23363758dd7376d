import type { PlacedLine } from './line-place';

/** How many columns hold numbers; NaN: null. */
const NUMBERS = 17;
const END_TIME = 5;
/** How many columns hold texts, as indexes into `words`; 0: null. */
const TEXTS = 12;

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
    numbers[at++] = line.jobId;
    numbers[at++] = line.task;
    numbers[at++] = line.slots;
    numbers[at++] = line.submissionTimeMs ?? NaN;
    numbers[at++] = line.startTimeMs ?? NaN;
    numbers[at++] = line.endTimeMs ?? NaN;
    numbers[at++] = line.failed;
    numbers[at++] = line.exitStatus;
    numbers[at++] = line.wallclockSeconds;
    numbers[at++] = line.cpuSeconds;
    numbers[at++] = line.userSeconds;
    numbers[at++] = line.systemSeconds;
    numbers[at++] = line.memGibSeconds;
    numbers[at++] = line.ioGib;
    numbers[at++] = line.maxvmemBytes ?? NaN;
    numbers[at++] = line.maxrssBytes;
    numbers[at] = line.jobMaxrssBytes ?? NaN;
    at = this.length * TEXTS;
    texts[at++] = this.number(line.host);
    texts[at++] = this.number(line.owner);
    texts[at++] = this.number(line.jobName);
    texts[at++] = this.number(line.account);
    texts[at++] = this.number(line.queue);
    texts[at++] = this.number(line.project);
    texts[at++] = this.number(line.pe);
    texts[at++] = this.number(line.peTaskId);
    texts[at++] = this.number(line.category);
    texts[at++] = this.number(line.submitCommand);
    texts[at++] = this.number(line.deletedBy);
    texts[at] = this.number(line.place ?? null);
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

/** The lines of a table, one after the other. */
export function* unpacked({ length, numbers, texts, words }: PackedLines): Generator<PlacedLine, void> {
  const number = (at: number): number => numbers[at] ?? NaN;
  const orNull = (at: number): number | null => (Number.isNaN(number(at)) ? null : number(at));
  const text = (at: number): string => words[texts[at] ?? 0] ?? '';
  const textOrNull = (at: number): string | null => (texts[at] === 0 ? null : text(at));
  for (let index = 0; index < length; index++) {
    const n = index * NUMBERS;
    const t = index * TEXTS;
    yield {
      jobId: number(n),
      task: number(n + 1),
      slots: number(n + 2),
      submissionTimeMs: orNull(n + 3),
      startTimeMs: orNull(n + 4),
      endTimeMs: orNull(n + END_TIME),
      failed: number(n + 6),
      exitStatus: number(n + 7),
      wallclockSeconds: number(n + 8),
      cpuSeconds: number(n + 9),
      userSeconds: number(n + 10),
      systemSeconds: number(n + 11),
      memGibSeconds: number(n + 12),
      ioGib: number(n + 13),
      maxvmemBytes: orNull(n + 14),
      maxrssBytes: number(n + 15),
      jobMaxrssBytes: orNull(n + 16),
      host: text(t),
      owner: text(t + 1),
      jobName: text(t + 2),
      account: text(t + 3),
      queue: text(t + 4),
      project: textOrNull(t + 5),
      pe: textOrNull(t + 6),
      peTaskId: textOrNull(t + 7),
      category: textOrNull(t + 8),
      submitCommand: textOrNull(t + 9),
      deletedBy: textOrNull(t + 10),
      place: textOrNull(t + 11),
    };
  }
}
