import { watch, type FSWatcher } from 'node:fs';
import { basename } from 'node:path';
import { monotonicMs } from '../../base/monotonic';

export interface DirectoryWatch {
  close(): void;
}

interface DirectoryEars {
  /** Something has happened to this name in the directory; null: anything may have. */
  readonly heard: (name: string | null) => void;
  /** The directory is no longer there; nothing more will be heard. */
  readonly gone?: () => void;
  /** Names that are of no interest. */
  readonly deafTo?: ReadonlySet<string>;
}

/** Files in a spool directory that the job's owner can write at will; they are never trusted. */
export const OWNERS_FILES: ReadonlySet<string> = new Set(['trace', 'error', 'exit_status']);

/** More events than Grid Engine ever causes; an owner who writes to their own files in a loop does. */
const MOST_IN_A_WINDOW = 300;
const WINDOW_MS = 1000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Watches a directory. After too many events it is not watched for a while, each time longer. null: it can't be watched
 * (it has gone, or the kernel allows no more watches). Does not keep the process alive.
 */
export function watchDirectory(path: string, { heard, gone, deafTo }: DirectoryEars): DirectoryWatch | null {
  const own = basename(path);
  let watcher: FSWatcher | null = null;
  let pausing: NodeJS.Timeout | null = null;
  let closed = false;
  let pauseMs = FIRST_PAUSE_MS;
  let windowEndsMs = 0;
  let inWindow = 0;

  function isNoise(): boolean {
    const nowMs = monotonicMs();
    if (nowMs > windowEndsMs) {
      // After a calm time as long as the next pause, pauses are short again.
      if (nowMs > windowEndsMs + pauseMs) pauseMs = FIRST_PAUSE_MS;
      windowEndsMs = nowMs + WINDOW_MS;
      inWindow = 0;
    }
    return ++inWindow > MOST_IN_A_WINDOW;
  }

  function pause(): void {
    watcher?.close();
    watcher = null;
    pausing = setTimeout(() => {
      pausing = null;
      listenAgain();
    }, pauseMs).unref();
    windowEndsMs = monotonicMs() + pauseMs;
    inWindow = 0;
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
  }

  function listenAgain(): void {
    if (listen()) heard(null);
    else end();
  }

  function end(): void {
    if (closed) return;
    close();
    gone?.();
  }

  function close(): void {
    closed = true;
    watcher?.close();
    watcher = null;
    if (pausing !== null) clearTimeout(pausing);
    pausing = null;
  }

  function take(name: string | null): void {
    if (closed || watcher === null) return;
    if (isNoise()) pause();
    else if (name === own) {
      // An event of the directory itself: it has gone, and another one of its name may have come.
      watcher.close();
      listenAgain();
    } else if (name === null || deafTo?.has(name) !== true) heard(name);
  }

  function listen(): boolean {
    try {
      watcher = watch(path, { persistent: false }, (_, name) => take(name));
      watcher.on('error', end);
      return true;
    } catch {
      return false;
    }
  }

  return listen() ? { close } : null;
}
