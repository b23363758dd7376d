import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MIB } from './units';
import { textOfUntrusted } from './read-untrusted';

/**
 * What the programs that we look for are started with fits; a process can lay its command line over gigabytes of its own
 * memory (PR_SET_MM), and is not looked at then.
 */
const MOST_BYTES = MIB;

/** The command line of a process, as its words; null: it is gone, or not to be looked at. Its own to say. */
export function commandLineOf(pid: number | string, procRoot = '/proc'): readonly string[] | null {
  return textOfUntrusted(join(procRoot, String(pid), 'cmdline'), MOST_BYTES)?.split('\0') ?? null;
}

/** Command lines of all other processes, as their words. Theirs to say: they can be anything. */
export function* otherCommandLines(procRoot = '/proc'): Generator<readonly string[]> {
  for (const pid of readdirSync(procRoot)) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const words = commandLineOf(pid, procRoot);
    if (words !== null) yield words;
  }
}
