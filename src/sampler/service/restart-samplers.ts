import { resumableRuns } from '../job/resume-state';
import { runDirectoryName, shepherdLives } from '../job/run-description';
import { RunDirectory } from '../job/run-directory';
import { startSampler } from '../job/start-sampler';
import type { Settings } from '../../record/settings';

/**
 * Starts a sampler for each running job that the node's service has followed so far. If another process holds the run's
 * lock, the sampler started here ends at once. Returns how many were started.
 */
export function restartSamplers(settings: Settings, settingsPath: string): number {
  const resumable = resumableRuns(settings);
  let started = 0;
  for (const parent of [settings.state_dir, settings.run_dir])
    for (const directory of RunDirectory.list(parent)) {
      const run = directory.description();
      if (run === null || !resumable.has(runDirectoryName(run)) || !shepherdLives(run)) continue;
      startSampler({ settings, settingsPath }, directory.path, run);
      started++;
    }
  return started;
}
