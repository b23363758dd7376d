import { seededRandom } from '../accounting/realistic-record';

/** Memory of jobs over time, made in typical shapes: few series are kept of sites where jobs reach their limits. */

interface MemorySample {
  /** ms since the job's start. */
  readonly at: number;
  readonly bytes: number;
}

/** Memory of one job until it ended, or until it needed more than its limit. */
export interface MemoryCourse {
  readonly shape: string;
  readonly samples: readonly MemorySample[];
  /** Bytes. */
  readonly limit: number;
  /** End of the job, ms since its start; `overran`: for lack of memory. */
  readonly endMs: number;
  readonly overran: boolean;
}

type Between = (least: number, most: number) => number;
/** Memory as a share of the limit, given the share of the run that has passed. */
type Curve = (done: number) => number;

const straight = (from: number, to: number, done: number): number => from + (to - from) * done;

/** In shapes with a need of up to 1.6 times the limit about half of the jobs overrun it. */
const SHAPES: Readonly<Record<string, (between: Between) => Curve>> = {
  constant: (between) => {
    const level = between(0.1, 0.85);
    return () => level;
  },
  'constant near the limit': (between) => {
    const [level, loaded] = [between(0.86, 0.99), between(0.005, 0.05)];
    return (done) => level * Math.min(1, done / loaded);
  },
  'loads, then constant': (between) => {
    const [level, loaded] = [between(0.3, 0.97), between(0.05, 0.6)];
    return (done) => level * Math.min(1, done / loaded);
  },
  'levels off': (between) => {
    const [level, rate] = [between(0.3, 1.2), between(2, 8)];
    return (done) => level * (1 - Math.exp(-rate * done));
  },
  'steady growth': (between) => {
    const [from, to] = [between(0.05, 0.3), between(0.3, 1.6)];
    return (done) => straight(from, to, done);
  },
  stairs: (between) => {
    const [from, to, steps] = [between(0.05, 0.3), between(0.3, 1.6), Math.round(between(3, 15))];
    return (done) => straight(from, to, Math.floor(done * steps) / (steps - 1));
  },
  'saw-tooth': (between) => {
    const [low, high, teeth] = [between(0.1, 0.4), between(0.45, 0.98), between(3, 40)];
    return (done) => straight(low, high, (done * teeth) % 1);
  },
  'saw-tooth on a leak': (between) => {
    const [from, to] = [between(0.05, 0.3), between(0.2, 1.5)];
    const [height, teeth] = [between(0.05, 0.3), between(5, 40)];
    return (done) => straight(from, to, done) + height * ((done * teeth) % 1);
  },
  exponential: (between) => {
    const [to, doublings] = [between(0.3, 1.6), between(2, 6)];
    return (done) => to * 2 ** (doublings * (done - 1));
  },
  'late growth': (between) => {
    const [from, to, begins] = [between(0.1, 0.4), between(0.4, 1.6), between(0.4, 0.9)];
    return (done) => straight(from, to, Math.max(0, (done - begins) / (1 - begins)));
  },
  'late spike': (between) => {
    const [level, top, begins] = [between(0.1, 0.6), between(0.5, 1.6), between(0.4, 0.95)];
    return (done) => (done >= begins && done < begins + 0.02 ? Math.max(level, top) : level);
  },
  phases: (between) => {
    const levels = Array.from({ length: Math.round(between(3, 8)) }, () => between(0.1, 1.08));
    return (done) => levels[Math.min(levels.length - 1, Math.floor(done * levels.length))] ?? 0;
  },
};

const MINUTE_MS = 60_000;
const SHORTEST_MS = 10 * MINUTE_MS;
const LONGEST_MS = 24 * 60 * MINUTE_MS;
const SAMPLES = 1000;
const LEAST_LIMIT = 2 ** 29;
/** Largest random change from sample to sample, as a share. */
const MOST_NOISE = 0.02;

/** The course under this limit: its samples end before the first one above the limit. */
export function courseUnder(
  limit: number,
  { shape, samples, endMs }: Pick<MemoryCourse, 'shape' | 'samples' | 'endMs'>,
): MemoryCourse {
  const over = samples.findIndex(({ bytes }) => bytes > limit);
  if (over === -1) return { shape, samples, limit, endMs, overran: false };
  return { shape, samples: samples.slice(0, over), limit, endMs: samples[over]?.at ?? endMs, overran: true };
}

/** `each` jobs of each shape, of ten minutes to a day and 0.5 to 128 GiB. */
export function madeCourses(each: number, seed = 1): readonly MemoryCourse[] {
  const random = seededRandom(seed);
  const between: Between = (least, most) => least + random() * (most - least);
  return Object.entries(SHAPES).flatMap(([shape, curveOf]) =>
    Array.from({ length: each }, () => {
      const endMs = SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** random();
      const limit = LEAST_LIMIT * 2 ** between(0, 8);
      const [noise, curve] = [between(0, MOST_NOISE), curveOf(between)];
      const samples = Array.from({ length: SAMPLES }, (_, index) => {
        const done = index / SAMPLES;
        return { at: done * endMs, bytes: limit * curve(done) * (1 - noise * random()) };
      });
      return courseUnder(limit, { shape, samples, endMs });
    }),
  );
}
