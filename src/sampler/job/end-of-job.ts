import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseSpoolUsage, type SpoolUsage } from '../../gridengine/spool-usage';
import type { RecordStatus } from '../../record/record';
import { changedMs } from '../../sources/files';
import { ProcessFiles } from '../../sources/proc/process-files';
import type { JobClock } from './job-clock';
import { readUsage } from './job-description';
import type { RunDescription } from './run-description';
import type { RunDirectory } from './run-directory';

/** A job's processes may outlive its shepherd for a while; they are followed this long. */
const AFTER_SHEPHERD_MS = 30_000;

export interface JobEnd {
  readonly status: RecordStatus;
  /** When the end was seen, or when the epilog's file was written, by the job's clock (ms). */
  readonly seenMs: number;
}

/**
 * Detects a job's end: by the files that Grid Engine and the epilog write, or by the shepherd's exit. All times by the
 * job's clock.
 */
export class EndOfJob {
  private readonly shepherd: ProcessFiles;
  private foundUsage: SpoolUsage | null = null;
  private shepherdGoneMs: number | null = null;
  private seenMs: number | null = null;

  /** `isContinued`: an earlier sampler followed the job. */
  constructor(
    private readonly run: RunDescription,
    private readonly directory: RunDirectory | null,
    private readonly isContinued: boolean,
    private readonly clock: JobClock,
  ) {
    this.shepherd = new ProcessFiles(run.shepherdPid, { left: 1 });
  }

  /** Looks now. Returns whether a file that marks the job's end has been seen, now or before. */
  look(nowMs: number): boolean {
    this.seenMs ??= this.seenAt(nowMs);
    if (!this.isShepherdAlive()) this.shepherdGoneMs ??= nowMs;
    // Where no epilog reports the end, `usage` alone tells a finished job from a lost one, and execd soon removes it.
    if (this.run.ends === 'epilog') this.usage();
    return this.seenMs !== null;
  }

  /** The end, as of the last `look`; null: the job goes on. `isAlive`: whether processes of the job live. */
  end(nowMs: number, isAlive: () => boolean): JobEnd | null {
    if (this.seenMs !== null) return { status: 'finished', seenMs: this.seenMs };
    const seenMs = this.shepherdGoneMs;
    if (seenMs === null || (isAlive() && nowMs - seenMs <= AFTER_SHEPHERD_MS)) return null;
    return { status: this.foundUsage !== null ? 'finished' : 'lost', seenMs };
  }

  /** Grid Engine removes the file soon after writing it; an epilog that no sampler answered has left a copy. */
  usage(): SpoolUsage | null {
    const { run, directory } = this;
    if (this.foundUsage === null && existsSync(join(run.spool, 'usage'))) this.foundUsage = readUsage(run.spool);
    if (this.foundUsage === null && directory?.hasCopies() === true) {
      const copy = directory.copy('usage');
      this.foundUsage = copy === null ? null : parseSpoolUsage(copy);
    }
    return this.foundUsage;
  }

  /** When the job ended: when that was seen, moved into the whole second that `usage` gives, if there is one. */
  endedMs({ seenMs }: JobEnd): number {
    const end = this.usage()?.endTimeMs ?? null;
    if (end === null) return seenMs;
    const endMs = end - this.clock.setByMs();
    return Math.min(Math.max(seenMs, endMs), endMs + 999);
  }

  close(): void {
    this.shepherd.close();
  }

  private isShepherdAlive(): boolean {
    const stat = this.shepherd.stat();
    return stat !== null && stat.startTicks === this.run.shepherdStart && stat.state !== 'Z';
  }

  private seenAt(nowMs: number): number | null {
    const { run, directory } = this;
    if (run.ends === 'usage') return this.usage() === null ? null : nowMs;
    const writtenMs = directory === null ? changedMs(join(run.spool, 'usage')) : directory.finishedMs();
    if (writtenMs === null) return null;
    // A job may have ended between two samplers.
    return this.isContinued ? Math.min(nowMs, writtenMs - this.clock.setByMs()) : nowMs;
  }
}
