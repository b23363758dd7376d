import { shareLogLimit } from '../../base/log';
import { loadHostSettings } from '../../record/settings';
import { makeRoom } from '../job/leave-job';
import { runMain } from '../run-main';
import { Service } from './service';
import { ServiceLock } from './service-lock';

/**
 * The sampler as a service, for the node scope: one process per host that follows every job on it.
 *
 *   node main.js SETTINGS
 *
 * It learns of jobs from the prologs (a new directory in STATE/run) and from execd's active_jobs: slave tasks of
 * parallel jobs whose master host is another, jobs whose hooks could do nothing, and jobs that were running before. It
 * outlives execd, and keeps what it knows of its jobs for the next service (resume-state.ts).
 */

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
