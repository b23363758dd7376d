import type { ImportLines } from '../history-store';
import type { PlacedLine } from './line-place';
import type { AccountingLayout } from '../../gridengine/accounting-line';

/** Columns of numbers; NaN: null. The last is the layout, 0 for `json`. */
const NUMBERS = 27;
/** Columns of texts, as numbers in the table's list of them; 0: null. */
const TEXTS = 13;

/** Lines packed into arrays, that go from thread to thread for nothing. */
export interface PackedLines {
  readonly length: number;
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly texts: Int32Array<ArrayBuffer>;
  /** The texts themselves, each once; the first is of no meaning. */
  readonly words: readonly string[];
}

/** Packs lines into tables of `most` lines. */
interface LinePacker {
  readonly add: (line: PlacedLine) => void;
  /** What was added since; the packer begins anew. */
  readonly take: () => PackedLines;
}

const LAYOUT_JSON = 0;

export function linePacker(most: number): LinePacker {
  let numbers = new Float64Array(0);
  let texts = new Int32Array(0);
  let words: string[] = [''];
  let known = new Map<string, number>();
  let length = 0;

  const number = (text: string | null): number => {
    if (text === null) return 0;
    const present = known.get(text);
    if (present !== undefined) return present;
    known.set(text, words.length);
    return words.push(text) - 1;
  };

  return {
    add(line) {
      if (numbers.length === 0) {
        numbers = new Float64Array(most * NUMBERS);
        texts = new Int32Array(most * TEXTS);
      }
      let at = length * NUMBERS;
      numbers[at++] = line.jobId;
      numbers[at++] = line.priority;
      numbers[at++] = line.submissionTimeMs ?? NaN;
      numbers[at++] = line.startTimeMs ?? NaN;
      numbers[at++] = line.endTimeMs ?? NaN;
      numbers[at++] = line.failed;
      numbers[at++] = line.exitStatus;
      numbers[at++] = line.wallclockSeconds;
      numbers[at++] = line.userSeconds;
      numbers[at++] = line.systemSeconds;
      numbers[at++] = line.maxrssBytes;
      numbers[at++] = line.minorFaults;
      numbers[at++] = line.majorFaults;
      numbers[at++] = line.blocksIn;
      numbers[at++] = line.blocksOut;
      numbers[at++] = line.voluntarySwitches;
      numbers[at++] = line.involuntarySwitches;
      numbers[at++] = line.slots;
      numbers[at++] = line.task;
      numbers[at++] = line.cpuSeconds;
      numbers[at++] = line.memGibSeconds;
      numbers[at++] = line.ioGib;
      numbers[at++] = line.iowSeconds;
      numbers[at++] = line.maxvmemBytes ?? NaN;
      numbers[at++] = line.arId ?? NaN;
      numbers[at++] = line.jobMaxrssBytes ?? NaN;
      numbers[at] = line.layout === 'json' ? LAYOUT_JSON : line.layout;
      at = length * TEXTS;
      texts[at++] = number(line.queue);
      texts[at++] = number(line.host);
      texts[at++] = number(line.group);
      texts[at++] = number(line.owner);
      texts[at++] = number(line.jobName);
      texts[at++] = number(line.account);
      texts[at++] = number(line.project);
      texts[at++] = number(line.department);
      texts[at++] = number(line.pe);
      texts[at++] = number(line.category);
      texts[at++] = number(line.peTaskId);
      texts[at++] = number(line.deletedBy);
      texts[at] = number(line.place ?? null);
      length++;
    },
    take() {
      const taken = { length, numbers, texts, words };
      numbers = new Float64Array(0);
      texts = new Int32Array(0);
      words = [''];
      known = new Map();
      length = 0;
      return taken;
    },
  };
}

/** A view of a table's lines, one at a time. */
function lineView({ numbers, texts, words }: PackedLines): {
  readonly line: PlacedLine;
  readonly go: (to: number) => void;
} {
  let at = 0;
  let textAt = 0;
  const number = (column: number): number => numbers[at + column] as number;
  const orNull = (column: number): number | null => {
    const value = numbers[at + column] as number;
    return Number.isNaN(value) ? null : value;
  };
  const text = (column: number): string => words[texts[textAt + column] as number] as string;
  const textOrNull = (column: number): string | null => {
    const index = texts[textAt + column] as number;
    return index === 0 ? null : (words[index] as string);
  };
  const line: PlacedLine = {
    get queue() {
      return text(0);
    },
    get host() {
      return text(1);
    },
    get group() {
      return text(2);
    },
    get owner() {
      return text(3);
    },
    get jobName() {
      return text(4);
    },
    get account() {
      return text(5);
    },
    get project() {
      return textOrNull(6);
    },
    get department() {
      return textOrNull(7);
    },
    get pe() {
      return textOrNull(8);
    },
    get category() {
      return textOrNull(9);
    },
    get peTaskId() {
      return textOrNull(10);
    },
    get deletedBy() {
      return textOrNull(11);
    },
    get place() {
      return textOrNull(12);
    },
    get jobId() {
      return number(0);
    },
    get priority() {
      return number(1);
    },
    get submissionTimeMs() {
      return orNull(2);
    },
    get startTimeMs() {
      return orNull(3);
    },
    get endTimeMs() {
      return orNull(4);
    },
    get failed() {
      return number(5);
    },
    get exitStatus() {
      return number(6);
    },
    get wallclockSeconds() {
      return number(7);
    },
    get userSeconds() {
      return number(8);
    },
    get systemSeconds() {
      return number(9);
    },
    get maxrssBytes() {
      return number(10);
    },
    get minorFaults() {
      return number(11);
    },
    get majorFaults() {
      return number(12);
    },
    get blocksIn() {
      return number(13);
    },
    get blocksOut() {
      return number(14);
    },
    get voluntarySwitches() {
      return number(15);
    },
    get involuntarySwitches() {
      return number(16);
    },
    get slots() {
      return number(17);
    },
    get task() {
      return number(18);
    },
    get cpuSeconds() {
      return number(19);
    },
    get memGibSeconds() {
      return number(20);
    },
    get ioGib() {
      return number(21);
    },
    get iowSeconds() {
      return number(22);
    },
    get maxvmemBytes() {
      return orNull(23);
    },
    get arId() {
      return orNull(24);
    },
    get jobMaxrssBytes() {
      return orNull(25);
    },
    get layout() {
      const layout = number(26);
      return layout === LAYOUT_JSON ? 'json' : (layout as AccountingLayout);
    },
  };
  return {
    line,
    go: (to) => {
      at = to * NUMBERS;
      textAt = to * TEXTS;
    },
  };
}

export function lineTable(packed: PackedLines): Required<ImportLines> {
  function* each<T>(make: (line: PlacedLine) => T): Generator<T, void> {
    const { line, go } = lineView(packed);
    for (let index = 0; index < packed.length; index++) {
      go(index);
      yield make(line);
    }
  }
  return {
    length: packed.length,
    // Getters become values.
    [Symbol.iterator]: () => each((line) => ({ ...line })),
    passing: () => each((line) => line),
  };
}
