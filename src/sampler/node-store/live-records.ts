import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type * as Libc from '../../native/libc';
import { listNames } from '../../sources/files';
import { setMode } from '../../base/set-owner';
import { recordOfJson, type JobRecord } from '../../record/record';
import { runDirectoryName, type RunDescription } from '../job/run-description';
import type { Settings } from '../../record/settings';

/**
 * File with the record so far of a running job. It is root's; of all others only the job's owner can read it. node.db
 * is for root only, since a reader could hold its lock and stop every writer.
 */
function livePath(settings: Settings, run: string): string {
  return join(settings.run_dir, 'live', `${run}.json`);
}

/** Makes the directory open to all, whatever the umask: each file in it can be read by its job's owner alone. */
function makeLiveDirectory({ run_dir: runDirectory }: Settings): void {
  const live = join(runDirectory, 'live');
  const made = mkdirSync(live, { recursive: true });
  if (made === undefined) return;
  if (made !== live) setMode(runDirectory, 0o755);
  setMode(live, 0o755);
}

/** The file stays root's: a user who owned it could forge what root then trusts, or fill /run. */
function writeFor(path: string, text: string, uid: number | null): void {
  const file = openSync(path, 'wx', 0o400);
  try {
    writeFileSync(file, text);
    if (uid !== null && process.getuid?.() === 0) letOwnerRead(file, uid);
  } finally {
    closeSync(file);
  }
}

function letOwnerRead(file: number, uid: number): void {
  try {
    // Loaded here, because processes that only read live files don't need it.
    const { letRead } = require('../../native/libc') as typeof Libc;
    letRead(file, uid);
  } catch {
    // A file system without access control lists: root alone reads it.
  }
}

/** Writes the live file for the job's owner; without the right or room to do so nothing happens. */
export function writeLiveFile(settings: Settings, run: RunDescription, record: JobRecord, uid: number | null): void {
  const path = livePath(settings, runDirectoryName(run));
  try {
    makeLiveDirectory(settings);
    writeFor(`${path}.new`, JSON.stringify(record), uid);
    renameSync(`${path}.new`, path);
  } catch {
    removeQuietly(`${path}.new`);
  }
}

/** `run`: the name of its run directory. */
export function removeLiveFile(settings: Settings, run: string): void {
  removeQuietly(livePath(settings, run));
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Not ours: the recovery of this run removes it.
  }
}

/** Records of the jobs running on this host that the caller may see; empty when none. */
export function runningRecords(settings: Settings): readonly JobRecord[] {
  const directory = join(settings.run_dir, 'live');
  const records: JobRecord[] = [];
  for (const name of listNames(directory)) {
    if (!name.endsWith('.json')) continue;
    try {
      const record = recordOfJson(readFileSync(join(directory, name), 'utf8'));
      if (record.ok) records.push(record.value);
    } catch {
      // Someone else's job, or one that just ended.
    }
  }
  return records;
}
