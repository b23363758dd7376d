import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MIB } from './units';
import { textOfUntrusted } from './read-untrusted';

/**
 * Enough for the programs that we look for. A process can make gigabytes of its own memory its command line
 * (PR_SET_MM): then it is ignored.
 */
const MOST_BYTES = MIB;

/** The words of a process's command line, which the process can set to anything; null: it is gone, or too long. */
export function commandLineOf(pid: number | string, procRoot = '/proc'): readonly string[] | null {
  return textOfUntrusted(join(procRoot, String(pid), 'cmdline'), MOST_BYTES)?.split('\0') ?? null;
}

/** Command lines of all other processes, as their words. A process can set its own to anything. */
export function* otherCommandLines(procRoot = '/proc'): Generator<readonly string[]> {
  for (const pid of readdirSync(procRoot)) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const words = commandLineOf(pid, procRoot);
    if (words !== null) yield words;
  }
}
