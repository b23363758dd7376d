import { spawn } from 'node:child_process';
import { samplerFlags } from '../../base/node-flags';
import { programPath } from '../../base/programs';
import { resumableRuns } from '../job/resume-state';
import { formatRunDescription, runDirectoryName, shepherdLives } from '../job/run-description';
import { RunDirectory } from '../job/run-directory';
import type { Settings } from '../../record/settings';

/**
 * Starts a sampler for each job that the node's service has left in the middle (those that another process looks after
 * take their lock, and the one started here ends at once). Returns how many.
 */
export function restartSamplers(settings: Settings, settingsPath: string): number {
  const resumable = resumableRuns(settings);
  let started = 0;
  for (const parent of [settings.state_dir, settings.run_dir])
    for (const directory of RunDirectory.list(parent)) {
      const run = directory.description();
      if (run === null || !resumable.has(runDirectoryName(run)) || !shepherdLives(run)) continue;
      const words = formatRunDescription(run).trim().split('\n');
      const script = programPath('sampler/main');
      const child = spawn(process.execPath, [...samplerFlags(), script, settingsPath, directory.path, ...words], {
        cwd: '/',
        detached: true,
        stdio: 'ignore',
        env: { PATH: '/usr/bin:/bin', MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '1' },
      });
      child.on('error', () => undefined);
      child.unref();
      started++;
    }
  return started;
}
