import type { Reading } from '../../sources/source';

interface NodeEnergy {
  /** All packages of the node; null: a counter is missing or restarted, so that a sum would be too small. */
  readonly packageJoules: number | null;
  readonly dramJoules: number | null;
}

/** Domains as the RAPL sources name them; cores and uncore are inside the package, psys counts the whole machine once more. */
const PACKAGE = /^package-\d+(?:-die-\d+)?$/;
const DRAM = /^package-\d+(?:-die-\d+)?\/dram$/;

type Counters = ReadonlyMap<string, number>;

/** What the counters that match `domain` gained in all; null: there are none, or one is missing or went back. */
function gained(before: Counters, after: Counters, domain: RegExp): number | null {
  const names = new Set([...before.keys(), ...after.keys()].filter((name) => domain.test(name)));
  let sum: number | null = null;
  for (const name of names) {
    const [from, to] = [before.get(name), after.get(name)];
    if (from === undefined || to === undefined || to < from) return null;
    sum = (sum ?? 0) + to - from;
  }
  return sum;
}

/** Energy of the node between two readings of one RAPL source (`rapl` or `raplperf`), in joules. */
export function energyBetween(before: readonly Reading[], after: readonly Reading[]): NodeEnergy {
  const counters = (readings: readonly Reading[]): Counters =>
    new Map(
      readings
        .filter(({ metric }) => /^rapl(?:perf)?_energy_joules$/.test(metric))
        .map(({ instance, value }) => [instance, value]),
    );
  const [from, to] = [counters(before), counters(after)];
  return { packageJoules: gained(from, to, PACKAGE), dramJoules: gained(from, to, DRAM) };
}
