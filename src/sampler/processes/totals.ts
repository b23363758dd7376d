/**
 * CPU time, faults and I/O of a whole job from readings of its living processes.
 *
 * The kernel adds a process's figures to its parent when the parent waits for it (utime to cutime, I/O to I/O). So the
 * sum over living processes of own + waited-for figures keeps everything, except what a process took with it that no
 * process of the job waited for: its last reading is carried here. Who was waited for is not told; so of a process that
 * may have been, only that is carried which its ancestors' gain does not explain. The total is a lower end, too.
 */

/** Figures of one living process: own plus waited-for children. CPU in clock ticks, I/O in bytes. */
export interface Counters {
  readonly parent: string | null;
  readonly cpu: number;
  /** Of waited-for children alone. */
  readonly childCpu: number;
  /** Minor faults, own plus children; children's alone show who was waited for. */
  readonly faults: number;
  readonly childFaults: number;
  readonly readChars: number;
  readonly writtenChars: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
}

export interface Sums {
  readonly cpu: number;
  readonly readChars: number;
  readonly writtenChars: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
}

export const NO_SUMS: Sums = { cpu: 0, readChars: 0, writtenChars: 0, readBytes: 0, writtenBytes: 0 };

function plus(a: Sums, b: Sums): Sums {
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

/** `id`'s living ancestors, the nearest first: one of them, if anyone in the job, has waited for it. */
function heirsOf(id: string, before: Readings, now: Readings): readonly string[] {
  const heirs: string[] = [];
  for (
    let heir = livingAncestor(id, before, now);
    heir !== null && !heirs.includes(heir);
    heir = livingAncestor(heir, before, now)
  )
    heirs.push(heir);
  return heirs;
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
 * What is lost to the living sum by the processes that are in `before` and no longer in `now`. `heirs`: their ancestors
 * as read after it was known that they have gone.
 */
export function carriedAway(before: Readings, now: Readings, heirs: Readings): Sums {
  const latest = (id: string): Counters | undefined => heirs.get(id) ?? now.get(id);
  const gainedFaults = (id: string): number => (latest(id)?.childFaults ?? 0) - (before.get(id)?.childFaults ?? 0);
  let carried = NO_SUMS;
  /** Of processes that may have been waited for: sums by the nearest of those who may have done so. */
  const claims = new Map<string, Sums>();
  const depth = new Map<string, number>();
  for (const [id, counters] of before) {
    if (now.has(id)) continue;
    const ancestors = heirsOf(id, before, now);
    const [nearest] = ancestors;
    // Whoever waits for a process gains its page faults.
    const gained = ancestors.reduce((sum, ancestor) => sum + gainedFaults(ancestor), 0);
    if (nearest === undefined || counters.faults > gained) {
      carried = plus(carried, counters);
      continue;
    }
    claims.set(nearest, plus(claims.get(nearest) ?? NO_SUMS, counters));
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
    if (next === null) carried = plus(carried, unexplained);
    else claims.set(next, plus(claims.get(next) ?? NO_SUMS, unexplained));
  }
  return carried;
}

/** Sum over the living processes plus what was carried away before. */
export function totals(carried: Sums, now: ReadonlyMap<string, Counters>): Sums {
  let sum = carried;
  for (const counters of now.values()) sum = plus(sum, counters);
  return sum;
}

/** The larger of each: a total never falls, even where one reading missed what another process was just taking over. */
export function largest(a: Sums, b: Sums): Sums {
  return plus(a, difference(b, a));
}

export { plus as addSums };
