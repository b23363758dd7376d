import { list } from '../../base/shape';
import type { MemoryReading } from '../peaks/peaks';
import { OPEN_IMAGE, type OpenImage } from '../series/series';

/** What is kept of images whose fate never becomes known, at most. */
const MOST_KEPT = 20_000;

/** What a successor process gets. */
export const SAVED_IMAGES = list(OPEN_IMAGE, MOST_KEPT + 1);

/** What was said of pids since the tick before the last one: later a number may be another process's. */
class Recent<T> {
  private now = new Map<number, T>();
  private before = new Map<number, T>();

  set(pid: number, value: T): void {
    this.now.set(pid, value);
  }

  take(pid: number): T | undefined {
    const value = this.now.get(pid) ?? this.before.get(pid);
    this.now.delete(pid);
    this.before.delete(pid);
    return value;
  }

  age(): void {
    this.before = this.now;
    this.now = new Map();
  }
}

/**
 * Forked images of which it is not known whether they run another program, and what they held over time: it counts when
 * they never do. An image that has worked is counted by its own sums from then on, and is none of these any more.
 */
export class ForkedImages {
  /** Bytes times ms. */
  private readonly byteMs: Map<string, number>;
  private before: readonly OpenImage[] = [];
  /** Images that have gone, and the fates of processes that have ended, by pid until the one meets the other. */
  private readonly departed = new Recent<string>();
  private readonly executed = new Recent<boolean>();

  constructor(saved: readonly OpenImage[] = []) {
    this.byteMs = new Map(saved.map(({ image, bytes }) => [image, bytes]));
  }

  /** Takes a tick. Returns its images; the same array as before where nothing has changed, since many steps keep it. */
  see(readings: readonly MemoryReading[], workers: ReadonlySet<string>, gapMs: number): readonly OpenImage[] {
    const now: OpenImage[] = [];
    for (const { id, pending, rss } of readings)
      if (pending && rss > 0 && !workers.has(id)) now.push({ image: id, bytes: rss });
    if (now.length > 0 && this.before.length > 0) {
      const known = new Set(this.before.map(({ image }) => image));
      for (const { image, bytes } of now)
        if (known.has(image)) this.byteMs.set(image, (this.byteMs.get(image) ?? 0) + bytes * gapMs);
    }
    for (const image of this.byteMs.keys()) {
      if (this.byteMs.size <= MOST_KEPT) break;
      this.byteMs.delete(image);
    }
    const same =
      now.length === this.before.length &&
      now.every(({ image, bytes }, index) => this.before[index]?.image === image && this.before[index].bytes === bytes);
    if (!same) this.before = now;
    return this.before;
  }

  /** The image has gone (by a tick). Returns whether it counts; null: its process is not known to have ended yet. */
  imageGone(pid: number, image: string): boolean | null {
    const executed = this.executed.take(pid);
    if (executed !== undefined) return !executed;
    this.departed.set(pid, image);
    return null;
  }

  /** The process has ended (by an event). Returns its image, if that is known to have gone. */
  processEnded(pid: number, executed: boolean): string | null {
    const image = this.departed.take(pid);
    if (image === undefined) this.executed.set(pid, executed);
    return image ?? null;
  }

  /** After each tick: the next one finds out who has gone, and by then the event of each end has come. */
  dropOldFates(): void {
    this.departed.age();
    this.executed.age();
  }

  /** Bytes times ms of those whose memory was their own; all of them are forgotten. */
  settle(fates: ReadonlyMap<string, boolean>): number {
    let sum = 0;
    for (const [image, counts] of fates) {
      if (counts) sum += this.byteMs.get(image) ?? 0;
      this.byteMs.delete(image);
    }
    return sum;
  }

  /** The same, and nothing is forgotten. */
  heldBy(images: Iterable<string>): number {
    let sum = 0;
    for (const image of images) sum += this.byteMs.get(image) ?? 0;
    return sum;
  }

  save(): readonly OpenImage[] {
    return [...this.byteMs].map(([image, bytes]) => ({ image, bytes }));
  }
}
