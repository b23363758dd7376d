import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The cluster's name: `$SGE_ROOT/$SGE_CELL/common/cluster_name`, written by the installer since 6.2; the cell's where the
 * file is missing or unreadable, or holds no name.
 */
export function readClusterName(sgeRoot: string, cell: string): string {
  try {
    return parseClusterName(readFileSync(join(sgeRoot, cell, 'common', 'cluster_name'), 'utf8')) ?? cell;
  } catch {
    return cell;
  }
}

/** Whether a cluster's name is plain, as the installer demands. */
export function isClusterName(name: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/.test(name);
}

/** The first line's word; null if it is not a plain name. */
export function parseClusterName(text: string): string | null {
  const word = /^\s*(\S+)[ \t]*(?:\r?\n|$)/.exec(text)?.[1] ?? '';
  return isClusterName(word) ? word : null;
}
