import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../../native/libc';
import type { Settings } from '../../record/settings';
import { retireListener } from './retire';
import { listenerPaths } from './socket-path';

const TRY_EVERY_MS = 20;
const TAKE_OVER_WITHIN_MS = 10_000;

/** Whether descriptor 3 is the file at `path`: who started us has locked it. */
function isInherited(path: string): boolean {
  try {
    const inherited = fstatSync(3);
    const { dev, ino } = statSync(path);
    return inherited.dev === dev && inherited.ino === ino;
  } catch {
    return false;
  }
}

/** The descriptor that holds the lock of this node's listener; null: another one has it. */
export function takeLock(path: string): number | null {
  if (isInherited(path)) return 3;
  const descriptor = openSync(path, 'a', 0o600);
  if (tryLock(descriptor)) return descriptor;
  closeSync(descriptor);
  return null;
}

/** The same, after asking the listener that has it to retire; null: it did not within ten seconds. */
export async function takeOverLock(settings: Pick<Settings, 'run_dir'>): Promise<number | null> {
  const { lock } = listenerPaths(settings);
  const deadline = performance.now() + TAKE_OVER_WITHIN_MS;
  for (;;) {
    const descriptor = takeLock(lock);
    if (descriptor !== null || performance.now() > deadline) return descriptor;
    await retireListener(settings);
    await sleep(TRY_EVERY_MS);
  }
}
