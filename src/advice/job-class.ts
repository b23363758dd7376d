import { SortedWindow } from './sorted-window';

/** Older runs of a class say little about its next one. */
const RUNS_KEPT = 200;

/** From which number of known runs on a group of classes begins. */
const RUNS_FROM = [1, 2, 3, 6, 11, 21, 51, 101] as const;

/** A class whose largest peak is above e^0.3 = 1.35 times its median varies. */
const STEADY_SPREAD = 0.3;

/** How many groups there are: by number of runs, steady and varying. */
export const GROUPS = RUNS_FROM.length * 2;

/** The peaks (bytes) of a job class: runs that are likely to need alike. */
export class JobClass {
  private readonly peaks = new SortedWindow(RUNS_KEPT);

  add(peakBytes: number): void {
    this.peaks.add(peakBytes);
  }

  /** Known runs, 200 at most. */
  get runs(): number {
    return this.peaks.size;
  }

  /** The last `count` peaks, oldest first. */
  last(count: number): readonly number[] {
    return this.peaks.last(count);
  }

  /** The peak that about a share `risk` of the known runs exceeded; the largest where there are few. */
  base(risk: number): number {
    const { sorted } = this.peaks;
    return sorted[Math.min(sorted.length, Math.ceil((sorted.length + 1) * (1 - risk))) - 1] ?? 0;
  }

  /** Classes of one group are compared with each other: as many runs, as much variation. */
  group(): number {
    const { sorted } = this.peaks;
    const byRuns = RUNS_FROM.findLastIndex((from) => this.runs >= from);
    const largest = sorted.at(-1) ?? 0;
    const median = sorted[(sorted.length - 1) >> 1] ?? 0;
    const varies = Math.log(largest / median) > STEADY_SPREAD;
    return Math.max(0, byRuns) * 2 + (varies ? 1 : 0);
  }
}
