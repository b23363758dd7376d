import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../base/replace-file';
import { bootId } from '../../sources/proc/clock';
import { parseStat } from '../../sources/proc/stat';

/** key=value lines; later keys win, lines without "=" are ignored. */
export function keyValues(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split('\n')) {
    const equals = line.indexOf('=');
    if (equals > 0) values.set(line.slice(0, equals), line.slice(equals + 1));
  }
  return values;
}

/** Start of a process in clock ticks after boot; null: no such process, or only its zombie. */
export function startTicksOf(pid: number, procRoot = '/proc'): number | null {
  try {
    const text = readFileSync(`${procRoot}/${pid}/stat`);
    const stat = parseStat(text, text.length);
    return stat === null || stat.state === 'Z' || stat.state === 'X' ? null : stat.startTicks;
  } catch {
    return null;
  }
}

/** Writes this process's `pid` file atomically; `more`: further lines. Throws if it can't be written. */
export function writePidFile(directory: string, boot: string, more: Readonly<Record<string, string>> = {}): void {
  const start = startTicksOf(process.pid) ?? 0;
  const lines = Object.entries({ version: 1, pid: process.pid, start, boot, ...more, end: 1 });
  replaceFile(join(directory, 'pid'), lines.map(([key, value]) => `${key}=${value}\n`).join(''), 0o600);
}

/** The `pid` file, if the process that it names is alive; null: it is not, or no file can be read. */
export function livingPidFile(directory: string): ReadonlyMap<string, string> | null {
  try {
    const values = keyValues(readFileSync(join(directory, 'pid'), 'utf8'));
    const lives =
      values.get('boot') === bootId() && startTicksOf(Number(values.get('pid'))) === Number(values.get('start'));
    return lives ? values : null;
  } catch {
    return null;
  }
}
