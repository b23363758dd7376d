import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { watchDirectory } from '../../sampler/job/watch-directory';

/** Polling is for network file systems: the kernel does not report what other hosts write there. */
const POLL_MS = 10_000;
/** The wait after the first change, so that the lines of a burst of jobs come in one transaction. */
const LULL_MS = 500;

/**
 * Waits for a change to one of the files or their directories, and LULL_MS longer; POLL_MS at most. Resolves at once
 * when `signal` is aborted.
 */
export function waitForChange(paths: readonly string[], signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const directories = [...new Set(paths.map((path) => dirname(path)))].filter((path) => existsSync(path));
  const names = new Set(paths.map((path) => basename(path)));
  return new Promise((resolve) => {
    let lull: NodeJS.Timeout | null = null;
    const end = (): void => {
      clearTimeout(poll);
      if (lull !== null) clearTimeout(lull);
      signal.removeEventListener('abort', end);
      for (const watch of watches) watch?.close();
      resolve();
    };
    const poll = setTimeout(end, POLL_MS);
    signal.addEventListener('abort', end);
    const watches = directories.map((directory) =>
      watchDirectory(directory, {
        heard: (name) => {
          if (name !== null && !names.has(name) && !name.startsWith('accounting')) return;
          lull ??= setTimeout(end, LULL_MS);
        },
      }),
    );
  });
}
