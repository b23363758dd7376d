import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { OWNERS_FILES, watchDirectory, type DirectoryWatch } from '../job/watch-directory';

/** A directory of execd's for a job (`JOB.TASK`), or for one of its `qrsh -inherit` tasks (`JOB.TASK/SEQ.HOST`). */
export interface SpoolEntry {
  readonly path: string;
  readonly job: number;
  /** As in the directory's name: also 1 for a job that is not an array job. */
  readonly task: number;
  readonly peTask: string | null;
}

export interface SpoolWatch {
  /** Looks at everything, for what inotify missed. */
  rescan(): void;
  close(): void;
}

const JOB_DIRECTORY = /^([1-9]\d{0,9})\.([1-9]\d{0,9})$/;
const TASK_DIRECTORY = /^\d{1,9}\.[A-Za-z0-9][\w.-]{0,254}$/;

function subdirectories(path: string, pattern: RegExp): readonly string[] | null {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && pattern.test(entry.name))
      .map(({ name }) => name);
  } catch {
    return null;
  }
}

function isDirectory(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Follows `active_jobs`: `changed` is called for every directory that is new or in which something has changed, and again
 * with each rescan, as long as it is there. `only`: no other job's directory than this one is followed.
 */
export function watchSpools(
  directory: string,
  changed: (entry: SpoolEntry) => void,
  only: string | null = null,
): SpoolWatch {
  const watches = new Map<string, DirectoryWatch>();

  function forget(path: string): void {
    watches.get(path)?.close();
    watches.delete(path);
  }

  /** If there can be no watch (too many, or the directory has gone), rescans find changes, and try to watch again. */
  function listen(path: string, heard: (name: string | null) => void): void {
    if (watches.has(path)) return;
    const gone = (): void => {
      watches.delete(path);
    };
    const watch = watchDirectory(path, { heard, gone, deafTo: OWNERS_FILES });
    if (watch !== null) watches.set(path, watch);
  }

  const taskOf = (entry: SpoolEntry, name: string): SpoolEntry => ({
    ...entry,
    path: join(entry.path, name),
    peTask: name,
  });

  /** Returns the paths that it has found there. */
  function lookAt(entry: SpoolEntry): readonly string[] {
    if (!isDirectory(entry.path)) {
      forget(entry.path);
      return [];
    }
    listen(entry.path, (name) => {
      if (entry.peTask === null && name !== null && TASK_DIRECTORY.test(name)) lookAt(taskOf(entry, name));
      else if (name === null) lookAt(entry);
      else changed(entry);
    });
    changed(entry);
    if (entry.peTask !== null) return [entry.path];
    const tasks = subdirectories(entry.path, TASK_DIRECTORY) ?? [];
    return [entry.path, ...tasks.flatMap((name) => lookAt(taskOf(entry, name)))];
  }

  function lookAtName(name: string): readonly string[] {
    const [, job, task] = JOB_DIRECTORY.exec(name) ?? [];
    return job === undefined
      ? []
      : lookAt({ path: join(directory, name), job: Number(job), task: Number(task), peTask: null });
  }

  function rescan(): void {
    if (only === null)
      listen(directory, (name) => {
        if (name === null) rescan();
        else lookAtName(name);
      });
    const names = only === null ? subdirectories(directory, JOB_DIRECTORY) : [only];
    // Unreadable for now: the watches stay.
    if (names === null) return;
    const there = new Set([directory, ...names.flatMap(lookAtName)]);
    for (const path of [...watches.keys()]) if (!there.has(path)) forget(path);
  }

  rescan();
  return {
    rescan,
    close: () => {
      for (const path of [...watches.keys()]) forget(path);
    },
  };
}
