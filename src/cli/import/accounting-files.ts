import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readClusterName } from '../../gridengine/cluster-name';
import type { CellLocation } from '../../gridengine/find-cell';
import type { Settings } from '../../record/settings';

/** A directory with accounting files, and their names before rotation. */
export interface AccountingPlace {
  readonly directory: string;
  readonly names: readonly string[];
}

/** The accounting files of a cell: Grid Engine's, and Open Cluster Scheduler's. */
export const CELL_NAMES: readonly string[] = ['accounting', 'accounting.jsonl'];

/** What logrotate, logchecker.sh and people append: `.0`, `.1.gz`, `-20261121.gz`, `.2026`, `.2026-11-21T00:00`, `.old`. */
const ROTATED = /^(|[.-](?:old|\d[\d._T:+-]{0,30}))(?:\.(gz|xz|bz2|zst))?$/;

/** A file's name without its compression suffix, and the suffix (null: none); null: no accounting file. */
function nameIn(
  { names }: AccountingPlace,
  name: string,
): { readonly plain: string; readonly ending: string | null } | null {
  for (const own of names) {
    const match = name.startsWith(own) ? ROTATED.exec(name.slice(own.length)) : null;
    if (match !== null) return { plain: own + (match[1] ?? ''), ending: match[2] ?? null };
  }
  return null;
}

/** The accounting files of a place, the oldest first. Throws the file system's error. */
export function accountingFilesIn(place: AccountingPlace): readonly string[] {
  const { directory } = place;
  return readdirSync(directory)
    .filter((name) => {
      const found = nameIn(place, name);
      return found !== null && (found.ending === null || found.ending === 'gz');
    })
    .map((name) => join(directory, name))
    .flatMap((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat?.isFile() ? [{ path, modified: stat.mtimeMs }] : [];
    })
    .sort((a, b) => a.modified - b.modified || (a.path < b.path ? 1 : -1))
    .map(({ path }) => path);
}

/** Names of files compressed by something other than gzip that are not there in a readable form as well. */
export function passedOverIn(place: AccountingPlace): readonly string[] {
  const all = readdirSync(place.directory);
  return all
    .filter((name) => {
      const found = nameIn(place, name);
      const isOther = found?.ending != null && found.ending !== 'gz';
      return isOther && !all.includes(found.plain) && !all.includes(`${found.plain}.gz`);
    })
    .sort();
}

/** A file's size on disk; 0: there is no such file. */
export function sizeOnDisk(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

export function commonDirectory({ root, cell }: CellLocation): string {
  return join(root, cell, 'common');
}

/** The cluster that accounting lines belong to, by the name that this site's hooks use. */
export function clusterOf(settings: Pick<Settings, 'cluster'>, cell: CellLocation | null): string {
  if (settings.cluster !== '') return settings.cluster;
  return cell === null ? 'default' : readClusterName(cell.root, cell.cell);
}
