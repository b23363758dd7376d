import { wallClockOfTicks } from '../../sources/proc/clock';
import { readText } from '../../sources/files';
import { parseAddressSpaceLimit } from '../../sources/proc/limits';
import { ProcessFiles } from '../../sources/proc/process-files';
import { realUid } from '../../sources/proc/status';
import { readJobPid } from './job-description';
import type { RunDescription } from './run-description';

/** By how much a start differs that two samplers have made of clock ticks: the clock may have been set meanwhile. */
const SAME_START_MS = 60_000;

/** A job's first process, by Grid Engine's `job_pid`: what holds for all of the job is read from it. */
export class FirstProcess {
  /** null: not seen alive yet. */
  pid: number | null = null;
  /** Who it runs as; null: not known. Until it has executed a program that may still be root. */
  uid: number | null = null;
  private limit: number | null = null;
  private startTicks: number | null = null;

  constructor(private readonly run: RunDescription) {}

  /** Looks for it. Returns when it started (ms since the epoch); null: it is not there (yet). */
  find(): number | null {
    const pid = readJobPid(this.run.spool);
    if (pid === null) return null;
    const files = new ProcessFiles(pid, { left: 0 });
    const stat = files.stat();
    if (stat === null || (!this.run.attached && stat.startTicks < this.run.shepherdStart)) return null;
    this.pid = pid;
    this.startTicks = stat.startTicks;
    this.uid = files.status(realUid);
    return wallClockOfTicks(stat.startTicks);
  }

  /** The job was begun under another sampler, at `startMs`: its first process may have gone, and another have its pid. */
  resume(startMs: number): void {
    const pid = readJobPid(this.run.spool);
    if (pid === null) return;
    const files = new ProcessFiles(pid, { left: 0 });
    const stat = files.stat();
    if (stat !== null && Math.abs(wallClockOfTicks(stat.startTicks) - startMs) > SAME_START_MS) return;
    this.pid = pid;
    this.startTicks = stat?.startTicks ?? null;
    this.uid = files.status(realUid);
  }

  /**
   * Address space limit of the job's processes, in bytes; Infinity: none that is known. It holds for every program of the
   * job as soon as its first process has executed one; root could lift it again.
   */
  addressSpaceLimit(): number {
    return this.limit ?? Infinity;
  }

  /** Reads the limit as soon as it can be read. */
  readLimit(): void {
    if (this.limit !== null || this.pid === null) return;
    const files = new ProcessFiles(this.pid, { left: 0 });
    const stat = files.stat();
    if (stat?.startTicks !== this.startTicks || stat.forkedNoExec) return;
    this.uid = files.status(realUid) ?? this.uid;
    this.limit = this.uid === 0 ? Infinity : parseAddressSpaceLimit(readText(`/proc/${this.pid}/limits`) ?? '');
  }
}
