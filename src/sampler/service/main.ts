import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { shareLogLimit } from '../../base/log';
import { raiseSoftLimit, Rlimit } from '../../native/libc';
import { loadHostSettings } from '../../record/settings';
import { runMain } from '../run-main';
import { Service } from './service';
import { ServiceLock } from './service-lock';

/**
 * The sampler as a service, for the node scope: one process per host that follows every job on it.
 *
 *   node main.js SETTINGS
 *
 * Jobs come from the prologs (a new directory in STATE/run) and from execd's active_jobs: tasks of parallel jobs whose
 * master is elsewhere, jobs whose hooks could do nothing, and those that were running before. It goes on after execd, and
 * what it knows of its jobs is kept for the next service (resume-state.ts).
 */

/** Root's own process, wherever it was started from: the first to be spared, and with room for all jobs' files. */
function makeRoom(): void {
  const steps = [
    (): void => setPriority(0, 0),
    (): void => writeFileSync('/proc/self/oom_score_adj', '-500'),
    (): void => raiseSoftLimit(Rlimit.NOFILE),
  ];
  for (const step of steps) {
    try {
      step();
    } catch {
      // Not allowed here.
    }
  }
}

runMain('service', async () => {
  const settingsPath = process.argv[2] ?? '';
  const settings = loadHostSettings(settingsPath);
  shareLogLimit(settings.run_dir);
  const place = ServiceLock.take(settings);
  // Another one serves this host.
  if (place === null) return;
  makeRoom();
  await new Service(settings, settingsPath, place).run();
});
