import type { MemoryReading } from '../peaks/peaks';
import type { OpenImage } from './series';

/**
 * Forked images of which it is not known whether they run another program, and what they held over time: it counts when
 * they never do. An image that has worked is counted by its own sums from then on, and is none of these any more.
 */
interface OpenImages {
  /** Those of this tick; the same array as before where nothing has changed, since many steps keep it. */
  see(readings: readonly MemoryReading[], workers: ReadonlySet<string>, gapMs: number): readonly OpenImage[];
  /** Bytes times ms of those whose memory was their own; all of them are forgotten. */
  settle(fates: ReadonlyMap<string, boolean>): number;
  /** The same, and nothing is forgotten. */
  heldBy(images: Iterable<string>): number;
  save(): readonly OpenImage[];
}

/** What is kept of images whose fate is never told, at most. */
const MOST_KEPT = 20_000;

/** `saved`: what a predecessor's `save` gave. */
export function openImages(saved: readonly OpenImage[] = []): OpenImages {
  const byteMs = new Map<string, number>(saved);
  let before: readonly OpenImage[] = [];
  const same = (now: readonly OpenImage[]): boolean =>
    now.length === before.length &&
    now.every(([image, bytes], index) => before[index]?.[0] === image && before[index][1] === bytes);
  return {
    see(readings, workers, gapMs) {
      const now = readings
        .filter(({ id, pending, rss }) => pending && rss > 0 && !workers.has(id))
        .map(({ id, rss }): OpenImage => [id, rss]);
      if (now.length > 0 && before.length > 0) {
        const known = new Set(before.map(([image]) => image));
        for (const [image, bytes] of now)
          if (known.has(image)) byteMs.set(image, (byteMs.get(image) ?? 0) + bytes * gapMs);
      }
      for (const image of byteMs.keys()) {
        if (byteMs.size <= MOST_KEPT) break;
        byteMs.delete(image);
      }
      if (!same(now)) before = now;
      return before;
    },
    settle(fates) {
      let sum = 0;
      for (const [image, own] of fates) {
        if (own) sum += byteMs.get(image) ?? 0;
        byteMs.delete(image);
      }
      return sum;
    },
    heldBy: (images) => [...images].reduce((sum, image) => sum + (byteMs.get(image) ?? 0), 0),
    save: () => [...byteMs],
  };
}
