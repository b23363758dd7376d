import { spawnSync } from 'node:child_process';

/**
 * Removes a file, or a directory with all that is in it. Others may change it meanwhile, and put links in the way: rm
 * holds each directory that it descends into, Node follows them. Throws an Error.
 */
export function removeTree(path: string): void {
  const { status, stderr, error } = spawnSync('/bin/rm', ['-rf', '--', path], { encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(stderr.trim());
}
