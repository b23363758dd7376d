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
  /** All that it printed. */
  readonly output: string;
  /** What it printed when it failed, if this is its second run. */
  readonly firstOutput?: string;
}

/** Runs the files that its arguments name. */
const SEVERAL = join(__dirname, 'several.js');

/** The longest file takes an eighth of that on an idle machine. */
const LIMIT_MS = 40 * 60_000;

const living = new Set<number>();

/** Ends the tests that run, with what they started in their process groups. */
export function endRunning(): void {
  for (const pid of living) killGroup(pid);
}

/**
 * Runs tests in a process and process group of their own, with this added to the environment.
 * What it prints goes to `log`: a process that a test left behind could hold a pipe open.
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
