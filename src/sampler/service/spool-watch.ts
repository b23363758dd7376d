import { readdirSync, watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';

/** A directory of execd's for a job (`JOB.TASK`), or for one of its `qrsh -inherit` tasks (`JOB.TASK/SEQ.HOST`). */
export interface SpoolEntry {
  readonly path: string;
  readonly job: number;
  /** As in the directory's name: 1 for a job that is no array, too. */
  readonly task: number;
  readonly peTask: string | null;
}

export interface SpoolWatch {
  /** Looks at everything: for what inotify did not tell. */
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

/**
 * Follows `active_jobs`: `changed` is called for every directory that is new or in which something has changed, and again
 * with each rescan, as long as it is there.
 */
export function watchSpools(directory: string, changed: (entry: SpoolEntry) => void): SpoolWatch {
  const watchers = new Map<string, FSWatcher | null>();

  function listen(path: string, heard: (name: string | null) => void): void {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) => heard(name));
      watcher.on('error', () => forget(path));
      watchers.set(path, watcher);
    } catch {
      // No more watches, or gone again: rescans find what there is.
      watchers.set(path, null);
    }
  }

  function forget(path: string): void {
    watchers.get(path)?.close();
    watchers.delete(path);
  }

  function lookAt(entry: SpoolEntry): void {
    if (!watchers.has(entry.path))
      listen(entry.path, (name) => {
        if (entry.peTask === null && name !== null && TASK_DIRECTORY.test(name))
          lookAt({ ...entry, path: join(entry.path, name), peTask: name });
        else changed(entry);
      });
    changed(entry);
    if (entry.peTask !== null) return;
    for (const name of subdirectories(entry.path, TASK_DIRECTORY) ?? [])
      lookAt({ ...entry, path: join(entry.path, name), peTask: name });
  }

  function lookAtName(name: string): void {
    const [, job, task] = JOB_DIRECTORY.exec(name) ?? [];
    if (job !== undefined) lookAt({ path: join(directory, name), job: Number(job), task: Number(task), peTask: null });
  }

  function rescan(): void {
    const names = subdirectories(directory, JOB_DIRECTORY);
    // Unreadable for now: what is followed is followed on.
    if (names === null) return;
    const there = new Set(names.map((name) => join(directory, name)));
    for (const path of [...watchers.keys()])
      if (path !== directory && ![...parentsOf(path)].some((one) => there.has(one))) forget(path);
    for (const [path, watcher] of [...watchers]) if (watcher === null) watchers.delete(path);
    if (!watchers.has(directory)) listenToAll();
    names.forEach(lookAtName);
  }

  function* parentsOf(path: string): Generator<string> {
    yield path;
    yield join(path, '..');
  }

  function listenToAll(): void {
    listen(directory, (name) => {
      if (name === null) rescan();
      else lookAtName(name);
    });
  }

  rescan();
  return {
    rescan,
    close: () => {
      for (const path of [...watchers.keys()]) forget(path);
    },
  };
}
