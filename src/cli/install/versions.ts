import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { commandLineOf, otherCommandLines } from '../../base/command-lines';

const VERSION_NAME = /^\d+\.\d+\.\d+[\w.+-]*-[0-9a-f]{10}$/;

/** Name of the version whose hooks are in use; null: none. */
export function currentVersion(prefix: string): string | null {
  try {
    return basename(readlinkSync(join(prefix, 'current')));
  } catch {
    return null;
  }
}

/** Names of the versions under a prefix. */
export function installedVersions(prefix: string): readonly string[] {
  return namesIn(prefix).filter((name) => VERSION_NAME.test(name));
}

function namesIn(prefix: string): readonly string[] {
  try {
    return readdirSync(prefix);
  } catch {
    return [];
  }
}

/** Points PREFIX/current to another version in one step, so that a hook finds either the old or the new one. */
export function switchCurrent(prefix: string, name: string): void {
  const current = join(prefix, 'current');
  const there = lstatSync(current, { throwIfNoEntry: false });
  if (there !== undefined && !there.isSymbolicLink())
    throw new Error(`${current}: is not a symbolic link; it is not ours, so move it away or give another --prefix`);
  const fresh = join(prefix, `.current.${randomBytes(6).toString('hex')}`);
  symlinkSync(name, fresh);
  renameSync(fresh, current);
}

/** Names of the versions from which processes on this host run. */
export function runningVersions(prefix: string, procRoot = '/proc'): ReadonlySet<string> {
  const running = new Set<string>();
  for (const words of otherCommandLines(procRoot))
    for (const word of words)
      if (word.startsWith(`${prefix}/`)) running.add(word.slice(prefix.length + 1).split('/')[0] ?? '');
  return running;
}

/** Whether a process runs from the current version; after an interrupted upgrade it may run from the previous one. */
export function runsCurrent(pid: number, prefix: string): boolean {
  const current = currentVersion(prefix);
  const words = commandLineOf(pid) ?? [];
  return current !== null && words.some((word) => word.startsWith(`${join(prefix, current)}/`));
}

/** Versions that nothing runs from, except those to keep. */
export function idleVersions(prefix: string, keep: readonly (string | null)[]): readonly string[] {
  const running = runningVersions(prefix);
  return installedVersions(prefix).filter((name) => !keep.includes(name) && !running.has(name));
}

const LEFTOVER = /^\.(?:current|uninstalled|\d+\.\d+\.\d+[\w.+-]*-[0-9a-f]{10})\.[0-9a-f]{12}(?:\.damaged)?$/;
/** Younger ones may belong to an installation in progress. */
const LEFTOVER_AFTER_MS = 600_000;

/** Names of what killed installations left under a prefix. */
export function leftovers(prefix: string): readonly string[] {
  return namesIn(prefix).filter((name) => {
    if (!LEFTOVER.test(name)) return false;
    const found = lstatSync(join(prefix, name), { throwIfNoEntry: false });
    return found !== undefined && Date.now() - found.mtimeMs > LEFTOVER_AFTER_MS;
  });
}

export function removeVersions(prefix: string, names: readonly string[]): void {
  for (const name of names) rmSync(join(prefix, name), { recursive: true, force: true });
}
