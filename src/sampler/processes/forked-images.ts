import { list } from '../../base/shape';
import type { MemoryReading } from '../peaks/peaks';
import { OPEN_IMAGE, type OpenImage } from '../series/series';

/** At most this many images are kept: the fate of some never becomes known. */
const MOST_KEPT = 20_000;

/** What a successor process gets. */
export const SAVED_IMAGES = list(OPEN_IMAGE, MOST_KEPT + 1);

/** Values by pid of the last two ticks: later the pid may be another process's. */
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
 * Forked images that may yet execute a program, and the memory that they held over time, which counts only if they
 * never do. An image that has worked counts in the job's sums from then on, and is no longer one of these.
 */
export class ForkedImages {
  /** Memory held so far by each image, in bytes times ms. */
  private readonly byteMs: Map<string, number>;
  private before: readonly OpenImage[] = [];
  /** By pid, until both are known: images that a tick found gone, and whether ended processes executed a program. */
  private readonly departed = new Recent<string>();
  private readonly executed = new Recent<boolean>();

  constructor(saved: readonly OpenImage[] = []) {
    this.byteMs = new Map(saved.map(({ image, bytes }) => [image, bytes]));
  }

  /** Takes a tick. Returns its images: the same array as before if nothing has changed, since many steps keep it. */
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

  /** A tick found the image gone. Returns whether it counts; null: the exit event of its process has not come yet. */
  imageGone(pid: number, image: string): boolean | null {
    const executed = this.executed.take(pid);
    if (executed !== undefined) return !executed;
    this.departed.set(pid, image);
    return null;
  }

  /** An event said that the process has ended. Returns its image, if a tick has found that gone. */
  processEnded(pid: number, executed: boolean): string | null {
    const image = this.departed.take(pid);
    if (image === undefined) this.executed.set(pid, executed);
    return image ?? null;
  }

  /** To be called after each tick: the next one shows which images have gone, and by then all exit events have come. */
  dropOldFates(): void {
    this.departed.age();
    this.executed.age();
  }

  /** Memory of those images whose fate is to count, in bytes times ms; all images in `fates` are forgotten. */
  settle(fates: ReadonlyMap<string, boolean>): number {
    let sum = 0;
    for (const [image, counts] of fates) {
      if (counts) sum += this.byteMs.get(image) ?? 0;
      this.byteMs.delete(image);
    }
    return sum;
  }

  /** Memory of these images, in bytes times ms; nothing is forgotten. */
  heldBy(images: Iterable<string>): number {
    let sum = 0;
    for (const image of images) sum += this.byteMs.get(image) ?? 0;
    return sum;
  }

  save(): readonly OpenImage[] {
    return [...this.byteMs].map(([image, bytes]) => ({ image, bytes }));
  }
}
