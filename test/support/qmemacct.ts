import { spawn, spawnSync, type ChildProcess, type SpawnSyncReturns } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { programPath } from '../../src/base/programs';
import { runProgram } from '../../src/cli/program';
import type { Terminal } from '../../src/cli/terminal';
import { fakeTerminal } from '../cli/fake-terminal';
import { PROGRAM } from './released';

/** The script with which Node starts the command. */
export const COMMAND = programPath('cli/main', PROGRAM);

/** Ids of users that every Debian has. */
export const DAEMON = 1;
export const NOBODY = 65534;

export const notRoot = process.getuid?.() !== 0 && 'only root can become another user';

/** Words in front of a command that run it as this user, in the group with the same id alone. */
export function asUser(uid: number): readonly string[] {
  return ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
}

export interface Answer {
  readonly status: number;
  readonly output: string;
  readonly warnings: string;
}

/** Runs a command in this process, with a fake terminal. */
export async function runCommand(
  words: readonly string[],
  changes: Partial<Terminal> = {},
  live: Parameters<typeof runProgram>[3] = {},
): Promise<Answer> {
  const terminal = fakeTerminal(changes);
  const status = await runProgram(words, '1.2.3', terminal, live);
  return { status, output: terminal.output(), warnings: terminal.warnings() };
}

export interface ProcessOptions {
  /** User that runs the command; null: the one that runs the test. */
  readonly uid?: number | null;
  /** Added to PATH, HOME, SGE_ROOT and LANG. */
  readonly env?: NodeJS.ProcessEnv;
}

const commandLine = (words: readonly string[], uid: number | null): readonly string[] => [
  ...(uid === null ? [] : asUser(uid)),
  process.execPath,
  COMMAND,
  ...words,
];

/** An environment without a Grid Engine. */
const environment = (env: NodeJS.ProcessEnv | undefined): NodeJS.ProcessEnv => ({
  ...{ PATH: process.env.PATH, HOME: '/nonexistent', SGE_ROOT: '/nonexistent', LANG: 'C.UTF-8' },
  ...env,
});

/** Runs a command as a process to its end, without a Grid Engine. */
export function qmemacct(words: readonly string[], { uid = null, env }: ProcessOptions = {}): SpawnSyncReturns<string> {
  const [program = '', ...rest] = commandLine(words, uid);
  return spawnSync(program, rest, { encoding: 'utf8', cwd: '/', env: environment(env) });
}

/** As qmemacct(), without blocking this process, which can serve what the command asks. */
export async function qmemacctMeanwhile(
  words: readonly string[],
  { uid = null, env }: ProcessOptions = {},
): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> {
  const [program = '', ...rest] = commandLine(words, uid);
  const child = spawn(program, rest, { cwd: '/', env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  await once(child, 'close');
  return { status: child.exitCode, ...said };
}

export interface Serving {
  readonly child: ChildProcess;
  readonly said: () => string;
}

/** Starts `qmemacct serve` as a process; resolves when it listens or has ended. `said`: its standard error so far. */
export async function startServing(t: TestContext, config: string, words: readonly string[] = []): Promise<Serving> {
  const child = spawn(process.execPath, [COMMAND, '--config', config, 'serve', ...words], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, SGE_ROOT: '/nonexistent' },
  });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
  while (!said.includes('serves ') && child.exitCode === null) await once(child.stderr, 'data');
  return { child, said: () => said };
}
