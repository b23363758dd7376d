import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchSource } from './compile';
import { cpuMs } from './process-cost';

/** Other tools that watch processes every second. */
export interface Rival {
  readonly name: string;
  /** Why it can't be compared here; null: it can. */
  obstacle(): string | null;
  /** argv that watches these processes at 1 Hz until it is killed. */
  command(pids: readonly number[]): readonly string[];
}

const PYTHON = '/usr/bin/python3';
const PIDSTAT = '/usr/bin/pidstat';
const BASH = '/bin/bash';

export function psutilObstacle(): string | null {
  if (!existsSync(PYTHON)) return `not installed: ${PYTHON}`;
  return spawnSync(PYTHON, ['-c', 'import psutil']).status === 0
    ? null
    : 'not installed: Debian package python3-psutil';
}

export function psutilCommand(...words: readonly string[]): readonly string[] {
  return [PYTHON, benchSource('psutil-loop.py'), ...words];
}

export const RIVALS: readonly Rival[] = [
  {
    name: 'pidstat -h -r -u -d -p PIDS 1',
    obstacle: () => (existsSync(PIDSTAT) ? null : 'not installed: Debian package sysstat'),
    command: (pids) => [PIDSTAT, '-h', '-r', '-u', '-d', '-p', pids.join(','), '1'],
  },
  {
    name: 'psutil loop',
    obstacle: psutilObstacle,
    command: (pids) => psutilCommand('tick', ...pids.map(String)),
  },
  {
    name: 'bash loop over ps',
    obstacle: () => (existsSync(BASH) ? null : `not installed: ${BASH}`),
    command: (pids) => [
      BASH,
      '-c',
      'while :; do ps -o pid=,rss=,vsz=,time=,nlwp=,comm= -p "$1"; sleep 1; done',
      'ps-loop',
      pids.join(','),
    ],
  },
];

export interface RivalCost {
  readonly name: string;
  /** CPU in percent of one core; null for the reason in `obstacle`. */
  readonly percent: number | null;
  readonly obstacle: string | null;
}

const SETTLE_MS = 2000;

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('close', () => {
      resolve();
    });
  });
}

/** Runs all rivals at once on the same processes, and `beside` over the same window. */
export async function measureRivals(
  pids: readonly number[],
  windowMs: number,
  beside: () => void,
): Promise<readonly RivalCost[]> {
  const started = RIVALS.map((rival) => {
    const obstacle = rival.obstacle();
    if (obstacle !== null) return { rival, obstacle, child: null };
    const [program = '', ...words] = rival.command(pids);
    // In its own process group, so that its children can be ended with it.
    const child = spawn(program, words, {
      stdio: 'ignore',
      detached: true,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    });
    return { rival, obstacle: null, child };
  });
  const kill = (): void => {
    for (const { child } of started)
      if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null)
        process.kill(-child.pid, 'SIGKILL');
  };
  process.once('exit', kill);
  const over = started.map(({ child }) => (child === null ? Promise.resolve() : ended(child)));
  try {
    await sleep(SETTLE_MS);
    const spent = (child: ChildProcess | null): number => (child?.pid === undefined ? NaN : cpuMs(child.pid));
    const begin = performance.now();
    const before = started.map(({ child }) => spent(child));
    beside();
    await sleep(windowMs);
    const after = started.map(({ child }) => spent(child));
    beside();
    const elapsed = performance.now() - begin;
    return started.map(({ rival, obstacle }, index) => ({
      name: rival.name,
      obstacle,
      percent: obstacle === null ? (((after[index] ?? NaN) - (before[index] ?? NaN)) / elapsed) * 100 : null,
    }));
  } finally {
    process.off('exit', kill);
    kill();
    await Promise.all(over);
  }
}
