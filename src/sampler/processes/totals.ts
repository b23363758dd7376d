import { nullable, number, object, text, type ValueOf } from '../../base/shape';

/**
 * CPU time, faults and I/O of a whole job from readings of its living processes.
 *
 * The kernel adds a process's figures to its parent when the parent waits for it (utime to cutime, I/O to I/O). So the
 * sum over living processes of own + waited-for figures keeps everything, except the figures of a process that no
 * process of the job waited for: its last reading is kept here. The kernel doesn't say who was waited for; so if a
 * process may have been, only the part that its ancestors' gain does not explain is kept. The total is a lower bound.
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
  /** CPU time of waited-for children alone. */
  childCpu: number(0),
  /** Minor faults, own plus waited-for children's; the children's alone show who was waited for. */
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

/**
 * Finds the nearest ancestor of a process that still lives, along the parents of the last reading; null: none in the job.
 * What was found is remembered: trees may be thousands deep.
 */
function livingAncestorFinder(before: Readings, now: Readings): (id: string) => string | null {
  const found = new Map<string, string | null>();
  return (id) => {
    const passed = [id];
    let ancestor = before.get(id)?.parent ?? null;
    while (ancestor !== null && !now.has(ancestor)) {
      const known = found.get(ancestor);
      if (known !== undefined) {
        ancestor = known;
        break;
      }
      passed.push(ancestor);
      // Parents may go in a circle.
      found.set(ancestor, null);
      ancestor = before.get(ancestor)?.parent ?? null;
    }
    for (const one of passed) found.set(one, ancestor);
    return ancestor;
  };
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

/** A living process with its living ancestors: if any process of the job waited for one below, one of these did. */
interface Line {
  /** Number of processes in the line. */
  readonly depth: number;
  /** Minor faults that they gained from processes they waited for. */
  readonly gained: number;
}

const NO_LINE: Line = { depth: 0, gained: 0 };

/**
 * Figures of the processes that are in `before` and no longer in `now`, as far as the sum over living processes lacks
 * them. `reread`: their ancestors, read after they were found gone.
 */
export function sumsOfGone(before: Readings, now: Readings, reread: Readings): Sums {
  const livingAncestor = livingAncestorFinder(before, now);
  const latest = (id: string): Counters | undefined => reread.get(id) ?? now.get(id);
  const gainedFaults = (id: string): number => (latest(id)?.childFaults ?? 0) - (before.get(id)?.childFaults ?? 0);
  const lines = new Map<string, Line>();
  function lineOf(id: string): Line {
    const path: string[] = [];
    for (let next: string | null = id; next !== null && !lines.has(next); next = livingAncestor(next)) {
      path.push(next);
      lines.set(next, NO_LINE);
    }
    for (const one of path.reverse()) {
      const { depth, gained } = lines.get(livingAncestor(one) ?? '') ?? NO_LINE;
      lines.set(one, { depth: depth + 1, gained: gained + gainedFaults(one) });
    }
    return lines.get(id) ?? NO_LINE;
  }

  let lacking = NO_SUMS;
  /** Sums of the processes that may have been waited for, by the nearest ancestor that may have done so. */
  const claims = new Map<string, Sums>();
  for (const [id, counters] of before) {
    if (now.has(id)) continue;
    const nearest = livingAncestor(id);
    // A process that waits for another gains its minor faults.
    if (nearest === null || counters.faults > lineOf(nearest).gained) lacking = addSums(lacking, counters);
    else claims.set(nearest, addSums(claims.get(nearest) ?? NO_SUMS, counters));
  }
  for (const [id] of [...lines].sort(([, a], [, b]) => b.depth - a.depth)) {
    const claim = claims.get(id);
    const last = latest(id);
    if (claim === undefined || last === undefined) continue;
    const start = before.get(id);
    const gain = difference(
      { ...last, cpu: last.childCpu },
      start === undefined ? NO_SUMS : { ...start, cpu: start.childCpu },
    );
    const unexplained = difference(claim, gain);
    const next = livingAncestor(id);
    if (next === null) lacking = addSums(lacking, unexplained);
    else claims.set(next, addSums(claims.get(next) ?? NO_SUMS, unexplained));
  }
  return lacking;
}

/** Sum over the living processes plus `gone`, the figures of those that have gone. */
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

/** The larger of each figure: totals never fall, even if a reading missed what a process was just taking over. */
export function largest(a: Sums, b: Sums): Sums {
  return addSums(a, difference(b, a));
}
