import { existsSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { clockIsSynchronised } from '../../native/libc';
import { findingsIn, type Finding } from './finding';

const { ok, note, warning, problem } = findingsIn('tools');

/** PATH of the hooks (hooks/common.sh). */
const HOOK_PATH = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const NEEDED = ['env', 'setsid', 'readlink', 'sleep', 'mkdir', 'mkfifo', 'timeout', 'head', 'cat', 'mv', 'rm'];
const FOR_CHAINS = ['setpriv', 'stat', 'id'];

function missing(names: readonly string[]): readonly string[] {
  return names.filter((name) => !HOOK_PATH.some((directory) => existsSync(join(directory, name))));
}

/** Checks the shell and the commands that the hooks call. */
export function* checkTools(): Generator<Finding> {
  const shell = basename(realpathSync('/bin/sh'));
  const gone = missing(NEEDED);
  const goneForChains = missing(FOR_CHAINS);
  if (/^(dash|bash|busybox|ash)/.test(shell)) yield ok('/bin/sh', shell);
  else yield note('/bin/sh', `${shell}: the hooks are tested with dash, bash and busybox`);
  if (gone.length === 0)
    yield ok('commands', `${NEEDED.length + FOR_CHAINS.length - goneForChains.length} that the hooks call are there`);
  else
    yield problem(
      'commands',
      `${gone.join(', ')}: not in ${HOOK_PATH.join(':')}; the hooks can't do without`,
      'install coreutils and util-linux',
    );
  if (goneForChains.length > 0)
    yield warning(
      'commands',
      `${goneForChains.join(', ')}: missing, so a site's hook of another user can't be chained`,
      'install util-linux',
    );
  if (!existsSync('/usr/bin/logger'))
    yield warning(
      'logger',
      '/usr/bin/logger is missing: warnings of samplers are lost',
      'install bsdutils (util-linux)',
    );
}

const clock = findingsIn('clock');

/** Checks clock synchronisation: accounting lines join records by start time, within 2 s, over all hosts. */
export function* checkClock(now: Date): Generator<Finding> {
  const synchronised = clockIsSynchronised();
  const says = now.toISOString();
  if (synchronised === null) yield clock.note('clock', `${says}; its synchronisation can't be checked here`);
  else if (synchronised) yield clock.ok('clock', `${says}, kept right by a time service`);
  else
    yield clock.warning(
      'clock',
      `${says}; no time service keeps it right, and records of several hosts are joined by time`,
      'run chrony, ntpd or systemd-timesyncd',
    );
}
