import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { isAbsolute } from 'node:path';
import { codeOf } from '../../base/error-code';
import { unavailable, type Unavailable } from '../source';
import { plainName } from './names';

const MOST_OUTPUT = 64 * 1024;
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/** Words of a command line, split at blanks. There are no quotes, no variables and no shell: a script can have them. */
export function commandWords(command: string): readonly string[] {
  return command.split(/\s+/).filter((word) => word !== '');
}

/** Why the words are not a command that can be run; null: they are. */
export function whyNotRunnable(words: readonly string[], fix: string): Unavailable | null {
  const [program] = words;
  if (program === undefined) return unavailable('no command is configured', fix);
  if (!isAbsolute(program)) return unavailable(`${plainName(program)} is not an absolute path`, fix);
  try {
    accessSync(program, constants.X_OK);
    return null;
  } catch (error) {
    const why = codeOf(error) === 'ENOENT' ? `no ${program}` : `${program} can't be executed`;
    return unavailable(why, fix);
  }
}

/**
 * Standard output of a command, 64 KiB at most; Unavailable, in one line, when it fails, prints more, or takes longer
 * than `timeoutMs` (then it is killed). Blocks until the command has ended. The command gets a small fixed environment.
 */
export function runBounded(words: readonly string[], timeoutMs: number): string | Unavailable {
  const [program = '', ...parameters] = words;
  const { error, status, signal, stdout, stderr } = spawnSync(program, parameters, {
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: MOST_OUTPUT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: ENVIRONMENT,
    cwd: '/',
    encoding: 'utf8',
  });
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'ETIMEDOUT') return unavailable(`${program} took longer than ${timeoutMs / 1000} s`, 'raise timeout');
  if (code === 'ENOBUFS') return unavailable(`${program} printed more than ${MOST_OUTPUT / 1024} KiB`);
  if (code !== undefined) return unavailable(`${program}: ${code}`);
  if (status === 0) return stdout;
  const said = plainName(stderr.trim().split('\n')[0] ?? '');
  const how = signal === null ? `exit status ${status ?? 'unknown'}` : `ended by ${signal}`;
  return unavailable(`${program}: ${how}${said === '' ? '' : `, ${said}`}`);
}
