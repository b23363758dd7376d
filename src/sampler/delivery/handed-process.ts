import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { isOutboxEmpty } from './handed-files';
import { handedPass, type HandedPass } from './handed-records';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import { inheritedFlags } from '../../base/node-flags';
import { PROGRAM_ENVIRONMENT, programPath } from '../../base/programs';
import { checkJson } from '../../base/shape';
import { settingsToml, type Settings } from '../../record/settings';

/** Ten times what a pass takes on a busy node. */
const PATIENCE_MS = 60_000;

/** Lock file, held during a pass; its mtime is the time of the last pass. */
export const handedLock = ({ state_dir: state }: Settings): string => join(state, 'handed.lock');

function isDue(settings: Settings, pauseMs: number): boolean {
  const last = statSync(handedLock(settings), { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
  // A clock that was set back must not stop the passes.
  return Math.abs(Date.now() - last) >= pauseMs;
}

function runPass(settings: Settings): Promise<HandedPass> {
  const failed = (why: string): HandedPass => ({
    taken: 0,
    problems: [`the records of jobs' owners can't be taken in: ${why}`],
  });
  return new Promise((resolve) => {
    const script = programPath('sampler/handed-main');
    const child = spawn(process.execPath, [...inheritedFlags(), script], {
      cwd: '/',
      env: PROGRAM_ENVIRONMENT,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      resolve(failed(`no end after ${PATIENCE_MS / 1000} s`));
    }, PATIENCE_MS);
    let text = '';
    child.on('error', (error) => resolve(failed(reasonOf(error))));
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    child.on('close', (code) => {
      clearTimeout(timer);
      const pass = checkJson(handedPass, text, 'its answer');
      resolve(pass.ok ? pass.value : failed(`the process ended with status ${code ?? 'none'}`));
    });
    child.stdin.end(settingsToml(settings));
  });
}

/**
 * Takes in the records that users have handed in, unless it was done less than `pauseMs` ago. Resolves to how many were
 * taken; what is wrong is logged. Never rejects.
 */
export async function takeInHanded(settings: Settings, pauseMs: number): Promise<number> {
  if (!settings.accept_self_reported || isOutboxEmpty(join(settings.state_dir, 'outbox'))) return 0;
  if (!isDue(settings, pauseMs)) return 0;
  const { taken, problems } = await runPass(settings);
  for (const problem of problems) warn(problem);
  return taken;
}
