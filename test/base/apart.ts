import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { PATIENCE_MS } from '../support/until';

const obstacle = (): string | false => {
  if (process.getuid?.() !== 0) return 'only root can make namespaces';
  return spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0
    ? false
    : 'namespaces can not be made here';
};

/** Options of a test that uses `apart`: it is skipped where namespaces can't be made. */
export const apartOrNot = { skip: obstacle() };

/**
 * Runs a shell script as root in PID and mount namespaces of its own: /proc shows only its processes, and
 * /etc/default/gridengine, where Debian names the cell, is empty. Returns its whole output on one line.
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
