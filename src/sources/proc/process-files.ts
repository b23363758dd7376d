import { closeSync, existsSync, openSync, readSync, readlinkSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { codeOf } from '../../base/error-code';
import { parseIo, type ProcessIo } from './io';
import { parseStat, type Stat } from './stat';
import { parseStatm, type Statm } from './statm';
import { parseStatusMemory, type StatusMemory } from './status';

/** How many descriptors may be kept in all; beyond that every read opens and closes. */
export interface DescriptorBudget {
  left: number;
}

const buffer = Buffer.allocUnsafe(16384);

type Name = 'statm' | 'stat' | 'status' | 'io' | 'schedstat' | 'children';

/** A read of a list that the kernel writes page by page falls short of a page by at most one entry. */
const FULL_PAGE = 4096 - 16;

const NONE: readonly number[] = [];

const readStart = (fd: number): number => readSync(fd, buffer, 0, buffer.length, 0);

/** Reads until the end: a process can have thousands of children, and one read gives some 700. */
function readPids(fd: number): readonly number[] {
  let length = readStart(fd);
  if (length === 0) return NONE;
  let text = buffer.toString('latin1', 0, length);
  while (length >= FULL_PAGE) {
    length = readSync(fd, buffer, 0, buffer.length, text.length);
    text += buffer.toString('latin1', 0, length);
  }
  return text.split(' ').flatMap((word) => (word === '' ? [] : Number(word)));
}

function withFile<T>(path: string, use: (fd: number) => T): T {
  const fd = openSync(path, 'r');
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * The files of one process. Descriptors are kept: an open /proc/PID file stays bound to that process, so that a
 * re-used pid answers ESRCH instead of someone else's figures, and a read costs no path lookup. Nothing is opened yet:
 * the first read of each file does. Reads return null once the process has gone.
 */
export class ProcessFiles {
  private readonly base: string;
  private readonly kept = new Map<Name, number>();

  constructor(
    readonly pid: number,
    private readonly budget: DescriptorBudget,
    procRoot = '/proc',
  ) {
    this.base = `${procRoot}/${pid}`;
  }

  statm(): Statm | null {
    const length = this.read('statm');
    return length > 0 ? parseStatm(buffer, length) : null;
  }

  stat(): Stat | null {
    const length = this.read('stat');
    return length > 0 ? parseStat(buffer, length) : null;
  }

  memory(): StatusMemory | null {
    const length = this.read('status');
    return length > 0 ? parseStatusMemory(buffer, length) : null;
  }

  /** Runs `test` on the raw status text; null when the process has gone. */
  status<T>(test: (text: Buffer, length: number) => T): T | null {
    const length = this.read('status');
    return length > 0 ? test(buffer.subarray(0, length), length) : null;
  }

  io(): ProcessIo | null {
    const length = this.read('io');
    return length > 0 ? parseIo(buffer.subarray(0, length), length) : null;
  }

  /**
   * A mark of what the first thread has run so far: how long it ran, how long it waited for a CPU, and how often it got
   * one. If a process with one thread shows the same mark twice, it did nothing in between (the time alone would not
   * tell: the kernel adds that of a running thread up at the next tick). null: gone, or not counted
   * (CONFIG_SCHED_INFO).
   */
  ran(): string | null {
    const length = this.read('schedstat');
    if (length === 0) return null;
    const text = buffer.toString('latin1', 0, length);
    return text.startsWith('0 0 0') ? null : text;
  }

  /** Pids of the children of the first thread, or of all threads. */
  children(allThreads: boolean): readonly number[] {
    if (!allThreads) return this.withKept('children', readPids) ?? [];
    const found: number[] = [];
    try {
      for (const tid of readdirSync(`${this.base}/task`))
        found.push(...withFile(`${this.base}/task/${tid}/children`, readPids));
    } catch {
      // The process or one of its threads ended while being listed: what was found stands.
    }
    return found;
  }

  /** Base name of the executable; null without the right to see it. */
  executable(): string | null {
    try {
      return basename(readlinkSync(`${this.base}/exe`).replace(/ \(deleted\)$/, ''));
    } catch {
      return null;
    }
  }

  /**
   * Opens each file anew at its next read: the pid may be another process's by now, or there was no descriptor left.
   */
  reopen(): this {
    this.close();
    return this;
  }

  /** Whether there is a process with this pid; takes no descriptor. */
  exists(): boolean {
    return existsSync(this.base);
  }

  close(): void {
    for (const fd of this.kept.values()) {
      closeSync(fd);
      this.budget.left++;
    }
    this.kept.clear();
  }

  private pathOf(name: Name): string {
    return name === 'children' ? `${this.base}/task/${this.pid}/children` : `${this.base}/${name}`;
  }

  /** Bytes read into the shared buffer; 0: gone or not readable. */
  private read(name: Name): number {
    return this.withKept(name, readStart) ?? 0;
  }

  /** What `use` makes of an open file; null: gone or not readable. */
  private withKept<T>(name: Name, use: (fd: number) => T): T | null {
    try {
      const fd = this.kept.get(name);
      if (fd !== undefined) return use(fd);
      if (this.budget.left <= 0) return withFile(this.pathOf(name), use);
      const opened = openSync(this.pathOf(name), 'r');
      this.kept.set(name, opened);
      this.budget.left--;
      return use(opened);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EMFILE' || code === 'ENFILE') this.budget.left = 0;
      return null;
    }
  }
}

/** Memory lines of a process whose first thread has exited, from any living thread. */
export function memoryOfAnyThread(pid: number, procRoot = '/proc'): StatusMemory | null {
  try {
    for (const tid of readdirSync(`${procRoot}/${pid}/task`)) {
      if (Number(tid) === pid) continue;
      const length = withFile(`${procRoot}/${pid}/task/${tid}/status`, readStart);
      const memory = parseStatusMemory(buffer, length);
      if (memory) return memory;
    }
  } catch {
    return null;
  }
  return null;
}

/** Whether this kernel lists children in /proc (CONFIG_PROC_CHILDREN). */
export function listsChildren(procRoot = '/proc'): boolean {
  return existsSync(`${procRoot}/1/task/1/children`);
}

/** All pids of the machine. */
export function allPids(procRoot = '/proc'): readonly number[] {
  const pids: number[] = [];
  for (const name of readdirSync(procRoot)) {
    const first = name.charCodeAt(0);
    if (first >= 0x31 && first <= 0x39) pids.push(Number(name));
  }
  return pids;
}

/** Threads of every process that has more than one, as they are now. */
export function threadsOfAll(): ReadonlyMap<number, readonly number[]> {
  const threads = new Map<number, readonly number[]>();
  for (const pid of allPids()) {
    try {
      const tids = readdirSync(`/proc/${pid}/task`).map(Number);
      if (tids.length > 1) threads.set(pid, tids);
    } catch {
      // It has just ended.
    }
  }
  return threads;
}
