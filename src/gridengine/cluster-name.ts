import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface ClusterName {
  readonly name: string;
  /** The cell's name stands in where the file is missing, empty or unreadable. */
  readonly source: 'cluster_name' | 'cell';
  /** Why the file was not used; null if it was, or if there is none. */
  readonly problem: string | null;
}

/** The cluster's name: `$SGE_ROOT/$SGE_CELL/common/cluster_name`, written by the installer since 6.2, else the cell. */
export function readClusterName(sgeRoot: string, cell: string): ClusterName {
  const path = join(sgeRoot, cell, 'common', 'cluster_name');
  const fromCell = (problem: string | null): ClusterName => ({ name: cell, source: 'cell', problem });
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return fromCell(null);
    return fromCell(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const name = parseClusterName(text);
  return name === null ? fromCell(`${path} holds no cluster name`) : { name, source: 'cluster_name', problem: null };
}

/** The first line's word; null if it is not a plain name, which the installer demands. */
export function parseClusterName(text: string): string | null {
  return /^\s*([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})[ \t]*(?:\r?\n|$)/.exec(text)?.[1] ?? null;
}
