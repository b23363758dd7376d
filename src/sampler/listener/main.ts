import { MIB } from '../../base/units';
import { listenerPaths, takeLock, takeOverLock } from './directory';
import { closeSync, mkdirSync } from 'node:fs';
import { resourceLimit, Rlimit } from '../../native/libc';
import { openKernelEvents } from '../../sources/events/kernel-events';
import { leaveJob } from '../job/leave-job';
import { settingsOfWords } from '../job/sampler-words';
import { runMain } from '../run-main';
import { shareLogLimit, warn } from '../../base/log';
import { usableSettings } from '../../record/settings';
import { Listener } from './serve';

/**
 * The listener: the one process of a node that reads the kernel's events of all its processes, for all samplers.
 *
 *   node main.js SETTINGS KEY=VALUE... [take-over]      sampler-words.ts
 *
 * It runs from installation on (`qmemacct-listener.service`, else cron), so that each job's first fork is heard; a
 * sampler that finds none starts one. Netlink gives every event of the machine to everyone who listens: with one
 * listener each event is read once, and a sampler gets those of its own job.
 *
 * take-over: the listener that runs retires. The new one listens before that, so no event is missed in between; running
 * jobs stay with the old one, which ends when the last of them has ended.
 */

/** Enough for what comes between two reads while idle: some forty thousand exits. It is a limit, not an allocation. */
const RECEIVE_BYTES = 64 * MIB;

/** Whether we are under a job's limits, which could not be lifted: such a listener must not stay. */
function isLimited(): boolean {
  return [Rlimit.AS, Rlimit.CPU].some((limit) => resourceLimit(limit).soft !== Infinity);
}

runMain('listener', async () => {
  const [settingsPath = '', ...words] = process.argv.slice(2);
  const { settings, problem } = usableSettings(settingsPath, settingsOfWords(words));
  if (problem !== null) warn(problem);
  shareLogLimit(settings.run_dir);
  const { directory, lock: lockPath } = listenerPaths(settings);
  // After a boot we may be the first to make this directory, where other users look for live figures.
  process.umask(0o022);
  mkdirSync(settings.run_dir, { recursive: true, mode: 0o755 });
  process.umask(0o077);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const takesOver = words.includes('take-over');
  const mine = takesOver ? null : takeLock(lockPath);
  if (mine === null && !takesOver) return;
  leaveJob();
  const path = settings.initial_network_namespace;
  const kernel = openKernelEvents({ namespacePath: path === '' ? null : path, receiveBytes: RECEIVE_BYTES });
  const lock = mine ?? (await takeOverLock(settings));
  if (lock === null) throw new Error('the one that runs does not retire; end the process that holds its lock');
  const listener = new Listener(settings, settingsPath, kernel, isLimited());
  await listener.serve(() => closeSync(lock));
});
