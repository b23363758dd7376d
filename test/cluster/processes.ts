import { readFileSync, readdirSync, readlinkSync, statSync, statfsSync } from 'node:fs';

/** A process; its start time (clock ticks since boot) distinguishes it from a later one with the same pid. */
export interface ProcessId {
  readonly pid: number;
  readonly startTime: string;
}

export interface CellProcess extends ProcessId {
  /** Command line, or the name in brackets where there is none. */
  readonly command: string;
}

const nsfsMagic = 0x6e736673;
const namespaceTypes = ['mnt', 'net', 'uts'] as const;

/** The process's start time; null if there is no such process, or only a zombie. */
export function startTimeOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

export function isAlive(id: ProcessId): boolean {
  return startTimeOf(id.pid) === id.startTime;
}

/** Bytes that the process holds in RAM; 0 if it has ended. */
export function rssOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** The namespace as /proc/PID/ns shows it (`net:[4026531840]`); null if no namespace is bound to the file. */
export function namespaceOf(file: string, type: string): string | null {
  try {
    return statfsSync(file).type === nsfsMagic ? `${type}:[${statSync(file).ino}]` : null;
  } catch {
    return null;
  }
}

/** Every process in one of these namespaces (mnt, net or uts), without zombies. */
export function processesIn(namespaces: ReadonlySet<string>): CellProcess[] {
  const found: CellProcess[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || !livesIn(pid, namespaces)) continue;
    const startTime = startTimeOf(pid);
    if (startTime !== null) found.push({ pid, startTime, command: commandOf(pid) });
  }
  return found;
}

/** Kills the process if it is still the same one and still in one of these namespaces. */
export function killIn(namespaces: ReadonlySet<string>, id: ProcessId): void {
  if (id.pid === process.pid || !isAlive(id) || !livesIn(id.pid, namespaces)) return;
  try {
    process.kill(id.pid, 'SIGKILL');
  } catch {
    // Ended meanwhile.
  }
}

function livesIn(pid: number, namespaces: ReadonlySet<string>): boolean {
  return namespaceTypes.some((type) => {
    try {
      return namespaces.has(readlinkSync(`/proc/${pid}/ns/${type}`));
    } catch {
      return false;
    }
  });
}

function commandOf(pid: number): string {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return line === '' ? `[${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()}]` : line;
  } catch {
    return '[ended]';
  }
}
