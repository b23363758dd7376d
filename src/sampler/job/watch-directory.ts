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

/** What belongs to the job's owner in a spool directory: written at will, and never believed. */
export const OWNERS_FILES: ReadonlySet<string> = new Set(['trace', 'error', 'exit_status']);

/** Grid Engine never causes so many; an owner who writes to their own files in a loop does. */
const MOST_IN_A_WINDOW = 300;
const WINDOW_MS = 1000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Listens to a directory. Who makes too much noise there is not listened to for a while, and then longer and longer.
 * null: it can't be listened to (gone, or no more watches). Keeps no process alive.
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
      // A window without noise makes up for an earlier one.
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
      // The kernel's word of the directory itself: it has gone, and another one of its name may have come.
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
