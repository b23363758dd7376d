/**
 * CPU time, faults and I/O of a whole job from readings of its living processes.
 *
 * The kernel adds a process's figures to its parent when the parent waits for it (utime to cutime, I/O to I/O). So the
 * sum over living processes of own + waited-for figures keeps everything, except what a process took with it that no
 * process of the job waited for: its last reading is carried here.
 */

/** Figures of one living process: own plus waited-for children. CPU in clock ticks, I/O in bytes. */
export interface Counters {
  readonly parent: string | null;
  readonly cpu: number;
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

/** Nearest ancestor of `id` that still lives, along the parents of the last reading; null: none in the job. */
function livingAncestor(
  id: string,
  before: ReadonlyMap<string, Counters>,
  now: ReadonlyMap<string, Counters>,
): string | null {
  const seen = new Set<string>();
  let current = before.get(id)?.parent ?? null;
  while (current !== null && !now.has(current)) {
    if (seen.has(current)) return null;
    seen.add(current);
    current = before.get(current)?.parent ?? null;
  }
  return current;
}

/** What is lost to the living sum by the processes that are in `before` and no longer in `now`. */
export function carriedAway(before: ReadonlyMap<string, Counters>, now: ReadonlyMap<string, Counters>): Sums {
  const orphans = new Map<string | null, Counters[]>();
  for (const [id, counters] of before) {
    if (now.has(id)) continue;
    const heir = livingAncestor(id, before, now);
    const group = orphans.get(heir);
    if (group) group.push(counters);
    else orphans.set(heir, [counters]);
  }
  let carried = NO_SUMS;
  for (const [heir, group] of orphans) {
    const grown = heir === null ? 0 : (now.get(heir)?.childFaults ?? 0) - (before.get(heir)?.childFaults ?? 0);
    let unexplained = grown;
    for (const gone of [...group].sort((a, b) => b.faults - a.faults)) {
      if (heir !== null && gone.faults <= unexplained) unexplained -= gone.faults;
      else carried = plus(carried, gone);
    }
  }
  return carried;
}

/** Sum over the living processes plus what was carried away before. */
export function totals(carried: Sums, now: ReadonlyMap<string, Counters>): Sums {
  let sum = carried;
  for (const counters of now.values()) sum = plus(sum, counters);
  return sum;
}

export { plus as addSums };
