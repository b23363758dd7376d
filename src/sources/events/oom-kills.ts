import { closeSync, constants, openSync, readSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { monotonicMs } from '../../base/monotonic';
import { seekToEnd } from '../../native/libc';

/** What the kernel's OOM killer ended a process for: the limit of a control group, or lack of memory on the node. */
export type OomKill = 'cgroup' | 'node';

const KERNEL_LOG = '/dev/kmsg';
const RECORD_BYTES = 8192;
/** A victim that waits for a disk ends late; after that long its number may be another process's. */
const KEPT_MS = 600_000;

/**
 * "Memory cgroup out of memory: Killed process 4711 (a.out) ..."; before Linux 5.1 that line says "Kill process" of the
 * one that was chosen, and "Killed process 4712 (a.out) ..." follows, which may be a child of it.
 */
const OF_KILLER = /^(?:(Memory cgroup o|O)ut of memory[^:]*: )?Kill(ed)? process (\d+) \(/;

/** The victims of the OOM killer, by the kernel's log (/dev/kmsg). Process ids are those of the initial PID namespace. */
export class OomKills {
  private readonly file: number | null;
  private readonly victims = new Map<number, { readonly kill: OomKill; readonly atMs: number }>();
  private latest: OomKill = 'node';

  /** Sees what is logged from now on; nothing where the log can't be read (no CAP_SYSLOG, a container). */
  constructor(path = KERNEL_LOG) {
    this.file = opened(path);
  }

  /** Reads what has been logged: a victim is named there before its exit event is sent. */
  read(): void {
    if (this.file === null) return;
    const record = Buffer.allocUnsafe(RECORD_BYTES);
    for (;;) {
      try {
        const length = readSync(this.file, record);
        if (length === 0) return;
        this.take(record.toString('utf8', 0, length));
      } catch (error) {
        // Some were overwritten before they were read: the next one comes.
        if (codeOf(error) !== 'EPIPE') return;
      }
    }
  }

  /** Takes one record of the log: "6,1234,5678,-;the message", and lines of its own below. */
  take(record: string): void {
    const [, where, killed, pid] = OF_KILLER.exec(record.slice(record.indexOf(';') + 1)) ?? [];
    if (pid === undefined) return;
    if (where !== undefined) this.latest = where === 'O' ? 'node' : 'cgroup';
    if (killed !== undefined) this.victims.set(Number(pid), { kill: this.latest, atMs: monotonicMs() });
  }

  /** What a process that has ended was killed for; null: not by the OOM killer. */
  ended(pid: number): OomKill | null {
    const victim = this.victims.get(pid);
    if (victim === undefined) return null;
    this.victims.delete(pid);
    return monotonicMs() - victim.atMs < KEPT_MS ? victim.kill : null;
  }

  close(): void {
    if (this.file !== null) closeSync(this.file);
  }
}

function opened(path: string): number | null {
  let file: number | null = null;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    seekToEnd(file);
    return file;
  } catch {
    if (file !== null) closeSync(file);
    return null;
  }
}
