import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { PATIENCE_MS } from '../support/until';

const obstacle = (): string | false => {
  if (process.getuid?.() !== 0) return 'makes namespaces, which root can';
  return spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0 ? false : 'no namespaces';
};

/** Options of a test that uses `apart`. */
export const apartOrNot = { skip: obstacle() };

/**
 * Runs a shell script as root with processes of its own alone in /proc, and without Debian's word of where Grid Engine is.
 * Returns what it said, on one line.
 */
export function apart(script: string, words: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const hide = '[ ! -e /etc/default/gridengine ] || mount --bind /dev/null /etc/default/gridengine\n';
  const unshare = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '/bin/sh', '-c', hide + script, 'sh'];
  const { stdout, stderr, error } = spawnSync('unshare', [...unshare, ...words], {
    encoding: 'utf8',
    timeout: PATIENCE_MS,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...env },
  });
  assert.equal(error, undefined);
  return (stdout + stderr).replace(/\s+/g, ' ');
}
