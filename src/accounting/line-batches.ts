/** Longest line: a record at its bounds (RECORD_LIMITS) is well below it. */
const LONGEST_LINE = 1 << 20;

/** Stands for a line longer than LONGEST_LINE, whose text is dropped. */
export const TOO_LONG = Symbol('too long');
export type Line = string | typeof TOO_LONG;

/**
 * The lines of a stream in batches: a batch is given once nothing more has come for `lullMs`, or `most` lines are
 * there, so that a burst of rows costs one transaction and a single row hardly waits. A last line without its newline
 * was cut off, and is dropped.
 */
export async function* lineBatches(
  chunks: AsyncIterable<string>,
  most: number,
  lullMs: number,
): AsyncGenerator<readonly Line[], void> {
  const iterator = chunks[Symbol.asyncIterator]();
  let lines: Line[] = [];
  let rest = '';
  let skipping = false;
  const take = (chunk: string): void => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      if (skipping || part.length > LONGEST_LINE) lines.push(TOO_LONG);
      else if (part.trim() !== '') lines.push(part);
      skipping = false;
    }
    if (rest.length > LONGEST_LINE) {
      skipping = true;
      rest = '';
    }
  };
  let next = iterator.next();
  for (;;) {
    const result = lines.length === 0 ? await next : await orLull(next, lullMs);
    if (result !== 'lull' && !result.done) {
      take(result.value);
      next = iterator.next();
    }
    const over = result !== 'lull' && result.done === true;
    while (lines.length >= most || (lines.length > 0 && (over || result === 'lull'))) {
      const batch = lines.slice(0, most);
      lines = lines.slice(most);
      yield batch;
    }
    if (over) return;
  }
}

async function orLull<T>(next: Promise<T>, ms: number): Promise<T | 'lull'> {
  let timer: NodeJS.Timeout | undefined;
  const lull = new Promise<'lull'>((resolve) => (timer = setTimeout(() => resolve('lull'), ms)));
  try {
    return await Promise.race([next, lull]);
  } finally {
    clearTimeout(timer);
  }
}
