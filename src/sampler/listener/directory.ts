import { existsSync, fstatSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../base/monotonic';
import { lockFile } from '../../native/libc';
import type { Settings } from '../../record/settings';
import type { Request } from './protocol';

/** RUN_DIR/listener: the socket, and the lock that the one listener of this node holds. */
export function listenerPaths({ run_dir: runDirectory }: Pick<Settings, 'run_dir'>): {
  readonly directory: string;
  readonly socket: string;
  readonly lock: string;
} {
  const directory = join(runDirectory, 'listener');
  return { directory, socket: join(directory, 'socket'), lock: join(directory, 'lock') };
}

const TRY_EVERY_MS = 20;
const TAKE_OVER_WITHIN_MS = 10_000;
const RETIRE_WITHIN_MS = 1000;

/** Whether descriptor 3 is the file at `path`: the process that started us has locked it. */
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
  return isInherited(path) ? 3 : lockFile(path);
}

/** The same, after asking the listener that has it to retire; null: it did not within ten seconds. */
export async function takeOverLock(settings: Pick<Settings, 'run_dir'>): Promise<number | null> {
  const { lock } = listenerPaths(settings);
  const deadline = monotonicMs() + TAKE_OVER_WITHIN_MS;
  for (;;) {
    const descriptor = takeLock(lock);
    if (descriptor !== null || monotonicMs() > deadline) return descriptor;
    await retireListener(settings);
    await sleep(TRY_EVERY_MS);
  }
}

/**
 * Asks the node's listener to make way for another one: it gives up its place, and ends as soon as the samplers that it
 * has are gone. Resolves when it has been asked, or none runs.
 */
export function retireListener(settings: Pick<Settings, 'run_dir'>): Promise<void> {
  const { socket: path } = listenerPaths(settings);
  if (!existsSync(path)) return Promise.resolve();
  return new Promise((resolve) => {
    const socket = connect(path);
    const timer = setTimeout(() => socket.destroy(), RETIRE_WITHIN_MS);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve();
    });
    const request: Request = { kind: 'retire' };
    // The listener's greeting must be read, but is of no interest.
    socket.resume();
    socket.end(`${JSON.stringify(request)}\n`);
  });
}
