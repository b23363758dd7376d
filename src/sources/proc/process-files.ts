import { closeSync, existsSync, openSync, readSync, readlinkSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { parseIo, type ProcessIo } from './io';
import { parseStat, type Stat } from './stat';
import { parseStatm, type Statm } from './statm';
import { parseStatusMemory, type StatusMemory } from './status';

/**
 * The files of one process. Descriptors are kept: an open /proc/PID file stays bound to that process, so that a
 * re-used pid answers ESRCH instead of someone else's figures, and a read costs no path lookup.
 */
export interface ProcessFiles {
  readonly pid: number;
  statm(): Statm | null;
  stat(): Stat | null;
  memory(): StatusMemory | null;
  /** Runs `test` on the raw status text; null when the process has gone. */
  status<T>(test: (text: Buffer, length: number) => T): T | null;
  io(): ProcessIo | null;
  /**
   * Marks what the first thread has run so far: how long it ran and waited to, and how often it was put on a CPU. Of a
   * process with one thread the same mark twice says that it did nothing in between (the time alone would not: of one
   * that runs the kernel adds it up at its next clock tick). null: gone, or the kernel does not count (CONFIG_SCHED_INFO).
   */
  ran(): string | null;
  /** Pids of the children of the first thread, or of all threads. */
  children(allThreads: boolean): readonly number[];
  /** Base name of the executable; null without the right to see it. */
  executable(): string | null;
  close(): void;
}

/** How many descriptors may be kept in all; beyond that every read opens and closes. */
export interface DescriptorBudget {
  left: number;
}

const buffer = Buffer.allocUnsafe(16384);

type Name = 'statm' | 'stat' | 'status' | 'io' | 'schedstat' | 'children';

/** A read of a list that the kernel makes page by page ends early by at most one entry. */
const FULL_PAGE = 4096 - 16;

const NONE: readonly number[] = [];

const readStart = (fd: number): number => readSync(fd, buffer, 0, buffer.length, 0);

/** A process can have thousands of children, of which one read gives some 700. */
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

/** Opens nothing yet: the first read of each file does. Reads return null once the process has gone. */
export function openProcess(pid: number, budget: DescriptorBudget, procRoot = '/proc'): ProcessFiles {
  const base = `${procRoot}/${pid}`;
  const paths: Readonly<Record<Name, string>> = {
    statm: `${base}/statm`,
    stat: `${base}/stat`,
    status: `${base}/status`,
    io: `${base}/io`,
    schedstat: `${base}/schedstat`,
    children: `${base}/task/${pid}/children`,
  };
  const kept = new Map<Name, number>();
  const refused = new Set<Name>();

  /** What `use` makes of an open file; null: gone or not readable. */
  function withKept<T>(name: Name, use: (fd: number) => T): T | null {
    if (refused.has(name)) return null;
    try {
      const fd = kept.get(name);
      if (fd !== undefined) return use(fd);
      if (budget.left <= 0) return withFile(paths[name], use);
      const opened = openSync(paths[name], 'r');
      kept.set(name, opened);
      budget.left--;
      return use(opened);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EACCES' || code === 'EPERM') refused.add(name);
      if (code === 'EMFILE' || code === 'ENFILE') budget.left = 0;
      return null;
    }
  }

  /** Bytes read into the shared buffer; 0: gone or not readable. */
  const read = (name: Name): number => withKept(name, readStart) ?? 0;

  return {
    pid,
    statm: () => {
      const length = read('statm');
      return length > 0 ? parseStatm(buffer, length) : null;
    },
    stat: () => {
      const length = read('stat');
      return length > 0 ? parseStat(buffer, length) : null;
    },
    memory: () => {
      const length = read('status');
      return length > 0 ? parseStatusMemory(buffer, length) : null;
    },
    status: (test) => {
      const length = read('status');
      return length > 0 ? test(buffer.subarray(0, length), length) : null;
    },
    io: () => {
      const length = read('io');
      return length > 0 ? parseIo(buffer.subarray(0, length), length) : null;
    },
    ran: () => {
      const length = read('schedstat');
      if (length === 0) return null;
      const text = buffer.toString('latin1', 0, length);
      return text.startsWith('0 0 0') ? null : text;
    },
    children: (allThreads) => {
      if (!allThreads) return withKept('children', readPids) ?? [];
      const found: number[] = [];
      try {
        for (const tid of readdirSync(`${base}/task`))
          found.push(...withFile(`${base}/task/${tid}/children`, readPids));
      } catch {
        // The process or one of its threads ended while being listed: what was found stands.
      }
      return found;
    },
    executable: () => {
      try {
        return basename(readlinkSync(`${base}/exe`).replace(/ \(deleted\)$/, ''));
      } catch {
        return null;
      }
    },
    close: () => {
      for (const fd of kept.values()) {
        closeSync(fd);
        budget.left++;
      }
      kept.clear();
    },
  };
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
