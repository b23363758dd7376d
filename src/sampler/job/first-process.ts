import { wallClockOfTicks } from '../../sources/proc/clock';
import { readText } from '../../sources/files';
import { parseAddressSpaceLimit } from '../../sources/proc/limits';
import { ProcessFiles } from '../../sources/proc/process-files';
import { realUid } from '../../sources/proc/status';
import { readJobPid } from './job-description';
import type { RunDescription } from './run-description';

/** Two samplers may convert the same clock ticks to times this far apart: the clock may have been set in between. */
const SAME_START_MS = 60_000;

/** A job's first process, which Grid Engine's `job_pid` names: it shows the whole job's uid and address space limit. */
export class FirstProcess {
  /** null: not seen alive yet. */
  pid: number | null = null;
  /** Uid it runs as; null: unknown. This may be root's until the process has executed a program. */
  uid: number | null = null;
  private limit: number | null = null;
  private startTicks: number | null = null;

  constructor(private readonly run: RunDescription) {}

  /** Looks for the process. Returns when it started (ms since the epoch); null: it is not there (yet). */
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

  /** For a job that began under another sampler, at `startMs`: its first process may have gone, its pid be re-used. */
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
   * Address space limit of the job's processes, in bytes; Infinity: none known, or the job runs as root, who could lift
   * it. Once the first process has executed a program, the limit holds for every program of the job.
   */
  addressSpaceLimit(): number {
    return this.limit ?? Infinity;
  }

  /** Reads the limit, unless it is known or the first process has not executed a program yet. */
  readLimit(): void {
    if (this.limit !== null || this.pid === null) return;
    const files = new ProcessFiles(this.pid, { left: 0 });
    const stat = files.stat();
    if (stat?.startTicks !== this.startTicks || stat.forkedNoExec) return;
    this.uid = files.status(realUid) ?? this.uid;
    this.limit = this.uid === 0 ? Infinity : parseAddressSpaceLimit(readText(`/proc/${this.pid}/limits`) ?? '');
  }
}
