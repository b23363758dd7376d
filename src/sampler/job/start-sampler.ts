import { spawn, type ChildProcess } from 'node:child_process';
import { samplerFlags } from '../../base/node-flags';
import { PROGRAM_ENVIRONMENT, programPath } from '../../base/programs';
import type { RunDescription } from './run-description';
import { samplerWords, type InstalledSettings } from './sampler-words';

interface SamplerSettings {
  readonly settings: InstalledSettings;
  readonly settingsPath: string;
}

/** Starts the sampler of one run, as the prolog does; `directory`: the run directory. */
export function startSampler(
  { settings, settingsPath }: SamplerSettings,
  directory: string,
  run: RunDescription,
): ChildProcess {
  const words = samplerWords(run, settings);
  const script = programPath('sampler/main');
  const child = spawn(process.execPath, [...samplerFlags(), script, settingsPath, directory, ...words], {
    cwd: '/',
    detached: true,
    stdio: 'ignore',
    env: PROGRAM_ENVIRONMENT,
  });
  // A failed start shows by the missing `pid` file.
  child.on('error', () => undefined);
  child.unref();
  return child;
}
