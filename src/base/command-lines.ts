import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MIB } from './units';
import { textOfUntrusted } from './read-untrusted';

/**
 * What the programs that we look for are started with fits; a process can lay its command line over gigabytes of its own
 * memory (PR_SET_MM), and is not looked at then.
 */
const MOST_BYTES = MIB;

/** Command lines of all other processes, as their words. Theirs to say: they can be anything. */
export function* otherCommandLines(procRoot = '/proc'): Generator<readonly string[]> {
  for (const pid of readdirSync(procRoot)) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const text = textOfUntrusted(join(procRoot, pid, 'cmdline'), MOST_BYTES);
    if (text !== null) yield text.split('\0');
  }
}
