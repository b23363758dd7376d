import { nullable, number, object, text, type ValueOf } from '../../base/shape';

/**
 * CPU time, faults and I/O of a whole job from readings of its living processes.
 *
 * The kernel adds a process's figures to its parent when the parent waits for it (utime to cutime, I/O to I/O). So the
 * sum over living processes of own + waited-for figures keeps everything, except what went with a process that no process
 * of the job waited for: its last reading is kept here. The kernel doesn't say who was waited for; so of a process that
 * may have been, only that is kept which its ancestors' gain does not explain. The total is a lower end, too.
 */

const SUMS = {
  cpu: number(0),
  readChars: number(0),
  writtenChars: number(0),
  readBytes: number(0),
  writtenBytes: number(0),
};
export const SAVED_SUMS = object(SUMS);
export type Sums = ValueOf<typeof SAVED_SUMS>;

export const SAVED_COUNTERS = object({
  ...SUMS,
  parent: nullable(text(64)),
  /** Of waited-for children alone. */
  childCpu: number(0),
  /** Minor faults, own plus children; children's alone show who was waited for. */
  faults: number(0),
  childFaults: number(0),
});
/** Figures of one living process: own plus waited-for children. CPU in clock ticks, I/O in bytes. */
export type Counters = ValueOf<typeof SAVED_COUNTERS>;

export const NO_SUMS: Sums = { cpu: 0, readChars: 0, writtenChars: 0, readBytes: 0, writtenBytes: 0 };

export function addSums(a: Sums, b: Sums): Sums {
  return {
    cpu: a.cpu + b.cpu,
    readChars: a.readChars + b.readChars,
    writtenChars: a.writtenChars + b.writtenChars,
    readBytes: a.readBytes + b.readBytes,
    writtenBytes: a.writtenBytes + b.writtenBytes,
  };
}

type Readings = ReadonlyMap<string, Counters>;

/** Nearest ancestor of `id` that still lives, along the parents of the last reading; null: none in the job. */
function livingAncestor(id: string, before: Readings, now: Readings): string | null {
  const seen = new Set<string>();
  let current = before.get(id)?.parent ?? null;
  while (current !== null && !now.has(current)) {
    if (seen.has(current)) return null;
    seen.add(current);
    current = before.get(current)?.parent ?? null;
  }
  return current;
}

/** The living ancestors of `id`, the nearest first: one of them, if any process of the job, has waited for it. */
function livingAncestors(id: string, before: Readings, now: Readings): readonly string[] {
  const ancestors: string[] = [];
  let next = livingAncestor(id, before, now);
  while (next !== null && !ancestors.includes(next)) {
    ancestors.push(next);
    next = livingAncestor(next, before, now);
  }
  return ancestors;
}

function difference(a: Sums, b: Sums): Sums {
  return {
    cpu: Math.max(0, a.cpu - b.cpu),
    readChars: Math.max(0, a.readChars - b.readChars),
    writtenChars: Math.max(0, a.writtenChars - b.writtenChars),
    readBytes: Math.max(0, a.readBytes - b.readBytes),
    writtenBytes: Math.max(0, a.writtenBytes - b.writtenBytes),
  };
}

/**
 * What the living sum lacks of the processes that are in `before` and no longer in `now`. `reread`: their ancestors as
 * read after it was known that they have gone.
 */
export function sumsOfGone(before: Readings, now: Readings, reread: Readings): Sums {
  const latest = (id: string): Counters | undefined => reread.get(id) ?? now.get(id);
  const gainedFaults = (id: string): number => (latest(id)?.childFaults ?? 0) - (before.get(id)?.childFaults ?? 0);
  let lacking = NO_SUMS;
  /** Of processes that may have been waited for: sums by the nearest ancestor that may have done so. */
  const claims = new Map<string, Sums>();
  const depth = new Map<string, number>();
  for (const [id, counters] of before) {
    if (now.has(id)) continue;
    const ancestors = livingAncestors(id, before, now);
    const [nearest] = ancestors;
    // A process that waits for another gains its page faults.
    const gained = ancestors.reduce((sum, ancestor) => sum + gainedFaults(ancestor), 0);
    if (nearest === undefined || counters.faults > gained) {
      lacking = addSums(lacking, counters);
      continue;
    }
    claims.set(nearest, addSums(claims.get(nearest) ?? NO_SUMS, counters));
    for (const [index, ancestor] of ancestors.entries()) depth.set(ancestor, ancestors.length - index);
  }
  for (const [id] of [...depth].sort(([, a], [, b]) => b - a)) {
    const claim = claims.get(id);
    const last = latest(id);
    if (claim === undefined || last === undefined) continue;
    const start = before.get(id);
    const gain = difference(
      { ...last, cpu: last.childCpu },
      start === undefined ? NO_SUMS : { ...start, cpu: start.childCpu },
    );
    const unexplained = difference(claim, gain);
    const next = livingAncestor(id, before, now);
    if (next === null) lacking = addSums(lacking, unexplained);
    else claims.set(next, addSums(claims.get(next) ?? NO_SUMS, unexplained));
  }
  return lacking;
}

/** Sum over the living processes plus what went with those that have gone. */
export function totals(gone: Sums, now: ReadonlyMap<string, Counters>): Sums {
  const sum = { ...gone };
  for (const counters of now.values()) {
    sum.cpu += counters.cpu;
    sum.readChars += counters.readChars;
    sum.writtenChars += counters.writtenChars;
    sum.readBytes += counters.readBytes;
    sum.writtenBytes += counters.writtenBytes;
  }
  return sum;
}

/** The larger of each: a total never falls, even where one reading missed what another process was just taking over. */
export function largest(a: Sums, b: Sums): Sums {
  return addSums(a, difference(b, a));
}
