import { chownSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobRecord } from './record';
import { runDirectoryName, type RunDescription } from './run-directory';
import type { Settings } from './settings';

/**
 * The record so far of a running job, as a file that its owner alone (and root) can read: node.db is for root only, since
 * a reader could hold its lock and stop every writer.
 */
function livePath(settings: Settings, run: RunDescription): string {
  return join(settings.run_dir, 'live', `${runDirectoryName(run)}.json`);
}

/** Writes the live file for the job's owner; without the right or room to do so nothing happens. */
export function writeLiveFile(settings: Settings, run: RunDescription, record: JobRecord, uid: number | null): void {
  const path = livePath(settings, run);
  try {
    mkdirSync(join(settings.run_dir, 'live'), { recursive: true, mode: 0o755 });
    writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o400, flag: 'wx' });
    if (uid !== null && process.getuid?.() === 0) chownSync(`${path}.new`, uid, -1);
    renameSync(`${path}.new`, path);
  } catch {
    rmSync(`${path}.new`, { force: true });
  }
}

export function removeLiveFile(settings: Settings, run: RunDescription): void {
  try {
    rmSync(livePath(settings, run), { force: true });
  } catch {
    // Not ours: whoever recovers this run removes it.
  }
}

/** Records of the jobs running on this host that the caller may see; empty when none. */
export function runningRecords(settings: Settings): readonly JobRecord[] {
  const directory = join(settings.run_dir, 'live');
  let names: readonly string[];
  try {
    names = readdirSync(directory);
  } catch {
    return [];
  }
  const records: JobRecord[] = [];
  for (const name of names) {
    if (!name.endsWith('.json')) continue;
    try {
      records.push(JSON.parse(readFileSync(join(directory, name), 'utf8')) as JobRecord);
    } catch {
      // Someone else's job, or one that just ended.
    }
  }
  return records;
}
