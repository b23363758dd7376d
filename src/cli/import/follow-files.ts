import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { watchDirectory } from '../../sampler/job/watch-directory';

/** The kernel reports nothing that other hosts write to a network file system. */
const POLL_MS = 10_000;
/** So many lines as a burst of jobs leaves come in one transaction. */
const LULL_MS = 500;

/**
 * Waits until something has happened to one of the files, or to the directories that they are in, and a little longer;
 * at most for the time of a poll. Resolves at once where the work is to end.
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
