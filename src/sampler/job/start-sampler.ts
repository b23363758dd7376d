import { spawn, type ChildProcess } from 'node:child_process';
import { samplerFlags } from '../../base/node-flags';
import { PROGRAM_ENVIRONMENT, programPath } from '../../base/programs';
import { formatRunDescription, type RunDescription } from './run-description';

/** Starts the sampler of one run, as the prolog does; `directory`: the run's. */
export function startSampler(settingsPath: string, directory: string, run: RunDescription): ChildProcess {
  const words = formatRunDescription(run).trim().split('\n');
  const script = programPath('sampler/main');
  const child = spawn(process.execPath, [...samplerFlags(), script, settingsPath, directory, ...words], {
    cwd: '/',
    detached: true,
    stdio: 'ignore',
    env: PROGRAM_ENVIRONMENT,
  });
  // Nobody writes `pid` then.
  child.on('error', () => undefined);
  child.unref();
  return child;
}
