import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { killGroup } from '../support/kill-group';
import type { TestFiles } from './groups';

/** How a process of tests ended. */
export interface Result {
  readonly files: TestFiles;
  /** Seconds since the epoch. */
  readonly began: number;
  readonly ended: number;
  readonly isGreen: boolean;
  readonly tests: number;
  /** Everything that the process printed. */
  readonly output: string;
  /** The output of the first run, which failed, if this is the second. */
  readonly firstOutput?: string;
}

/** Runs the files that its arguments name. */
const SEVERAL = join(__dirname, 'several.js');

/** Limit for one process; on an idle machine the longest file takes an eighth of it. */
const LIMIT_MS = 40 * 60_000;

const living = new Set<number>();

/** Kills the tests that run, with everything in their process groups. */
export function endRunning(): void {
  for (const pid of living) killGroup(pid);
}

/**
 * Runs tests in their own process and process group, with additions to the environment. Their output goes to the file
 * `log`, not through a pipe, which a process that a test left behind could hold open.
 */
export function runTests(
  files: TestFiles,
  environment: Readonly<Record<string, string>>,
  log: string,
): Promise<Result> {
  mkdirSync(dirname(log), { recursive: true });
  const descriptor = openSync(log, 'w');
  const began = Date.now() / 1000;
  const child = spawn(process.execPath, ['--test-reporter=spec', SEVERAL, ...files.paths], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', descriptor, descriptor],
    detached: true,
  });
  closeSync(descriptor);
  const { pid } = child;
  if (pid !== undefined) living.add(pid);
  const limit = setTimeout(() => {
    appendFileSync(log, `\nno end within ${LIMIT_MS / 1000} s\n`);
    if (pid !== undefined) killGroup(pid);
  }, LIMIT_MS);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (status, signal) => {
      clearTimeout(limit);
      if (pid !== undefined) living.delete(pid);
      const ended = Date.now() / 1000;
      const printed = readFileSync(log, 'utf8');
      const tests = Number(/^ℹ tests (\d+)$/m.exec(printed)?.[1] ?? 0);
      const output = signal === null ? printed : `${printed}ended by ${signal}\n`;
      resolve({ files, began, ended, isGreen: status === 0 && tests > 0, tests, output });
    });
  });
}
