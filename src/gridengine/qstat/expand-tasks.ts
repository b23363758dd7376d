export interface TaskSet {
  /** How many tasks the text names, however many; exact below 2^53. */
  readonly count: number;
  /** The task numbers in the order of the text, at most `most` of them: a text of 20 letters can name four thousand million. */
  readonly numbers: Iterable<number>;
}

/** What an array job may have by default is 75,000 (`max_aj_tasks`); no screen shows more. */
const mostByDefault = 100_000;

/** Task numbers are unsigned 32-bit. */
const highest = 0xffff_ffff;

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

/**
 * The tasks of qstat's `tasks`: `3`, `1-100:1`, `1-5:2,8`, `1-5`. Parts that are no range are left out. Grid Engine 6.0
 * lost the colon (`1-12001` is 1 to 1200 by 1, or 1 to 12001): what it printed is taken at its word.
 */
export function expandTasks(text: string, most = mostByDefault): TaskSet {
  const ranges = text.split(',').flatMap(readRange);
  const count = ranges.reduce((sum, range) => sum + lengthOf(range), 0);
  return { count, numbers: { [Symbol.iterator]: () => numbersOf(ranges, most) } };
}

/** Whether qstat's `tasks` name this one. */
export function hasTask(text: string, task: number): boolean {
  return text
    .split(',')
    .flatMap(readRange)
    .some(({ first, last, step }) => task >= first && task <= last && (task - first) % step === 0);
}

function readRange(part: string): readonly Range[] {
  const match = /^\s*(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?\s*$/.exec(part);
  if (match === null) return [];
  const first = Number(match[1]);
  const last = Number(match[2] ?? first);
  const step = Number(match[3] ?? 1);
  return last < first || last > highest || step === 0 ? [] : [{ first, last, step }];
}

function lengthOf({ first, last, step }: Range): number {
  return Math.floor((last - first) / step) + 1;
}

function* numbersOf(ranges: readonly Range[], most: number): Generator<number, void> {
  let left = most;
  for (const { first, last, step } of ranges) {
    for (let task = first; task <= last; task += step) {
      if (left <= 0) return;
      left -= 1;
      yield task;
    }
  }
}
