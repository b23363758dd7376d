import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { killGroup } from '../support/kill-group';
import type { TestFile } from './groups';

/** How one file of tests ended. */
export interface FileResult {
  readonly file: TestFile;
  /** Seconds since the epoch. */
  readonly began: number;
  readonly ended: number;
  readonly isGreen: boolean;
  readonly tests: number;
  /** All that the file printed. */
  readonly output: string;
  /** What it printed when it failed, if this is its second run. */
  readonly firstOutput?: string;
}

/** The longest file takes an eighth of that on an idle machine. */
const LIMIT_MS = 40 * 60_000;

const living = new Set<number>();

/** Ends the files that run, with what they started in their process groups. */
export function endRunning(): void {
  for (const pid of living) killGroup(pid);
}

/**
 * Runs a file of tests in a process group of its own, with this added to the environment.
 * What it prints goes to `log`: a process that a test left behind could hold a pipe open.
 */
export function runTestFile(
  file: TestFile,
  environment: Readonly<Record<string, string>>,
  log: string,
): Promise<FileResult> {
  mkdirSync(dirname(log), { recursive: true });
  const descriptor = openSync(log, 'w');
  const began = Date.now() / 1000;
  const child = spawn(process.execPath, ['--test-reporter=spec', file.path], {
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
      resolve({ file, began, ended, isGreen: status === 0 && tests > 0, tests, output });
    });
  });
}
