import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileState } from '../../base/file-state';
import { readClusterName } from '../../gridengine/cluster-name';
import type { CellLocation } from '../../gridengine/find-cell';
import type { Settings } from '../../record/settings';

/**
 * `accounting` and Open Cluster Scheduler's `accounting.jsonl`, and what logrotate, Grid Engine's logchecker.sh and
 * people make of them: `accounting.0`, `accounting.1.gz`, `accounting-20261121.gz`, `accounting.2026`,
 * `accounting.jsonl.1`.
 */
const ACCOUNTING = /^accounting(?:\.jsonl)?(?:[.-]\d[\d._-]{0,30})?(?:\.gz)?$/;
const OTHERWISE_COMPRESSED = /^(accounting(?:\.jsonl)?(?:[.-]\d[\d._-]{0,30})?)\.(?:xz|bz2|zst)$/;

/** The accounting files in a directory, the oldest first. Throws the file system's error. */
export function accountingFilesIn(directory: string): readonly string[] {
  return readdirSync(directory)
    .filter((name) => ACCOUNTING.test(name))
    .map((name) => join(directory, name))
    .flatMap((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat?.isFile() ? [{ path, modified: stat.mtimeMs }] : [];
    })
    .sort((a, b) => a.modified - b.modified || (a.path < b.path ? 1 : -1))
    .map(({ path }) => path);
}

/** Those that are compressed by something else than gzip, and are not there in a form that can be read. */
export function passedOverIn(directory: string): readonly string[] {
  const names = readdirSync(directory);
  return names
    .filter((name) => {
      const plain = OTHERWISE_COMPRESSED.exec(name)?.[1];
      return plain !== undefined && !names.includes(plain) && !names.includes(`${plain}.gz`);
    })
    .sort();
}

/** A file's size on disk; 0: it is not there. */
export function sizeOnDisk(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** Which of the files have changed since this was last asked: who follows many need not open those that rest. */
export function changedFiles(): (paths: readonly string[]) => readonly string[] {
  const seen = new Map<string, string>();
  return (paths) =>
    paths.filter((path) => {
      const now = fileState(path);
      const changed = seen.get(path) !== now;
      seen.set(path, now);
      return changed;
    });
}

export function commonDirectory({ root, cell }: CellLocation): string {
  return join(root, cell, 'common');
}

/** The cluster that lines are of: what the hooks on this site call it. */
export function clusterOf(settings: Pick<Settings, 'cluster'>, cell: CellLocation | null): string {
  if (settings.cluster !== '') return settings.cluster;
  return cell === null ? 'default' : readClusterName(cell.root, cell.cell);
}
