import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startTicksOf } from '../../src/sampler/job/pid-file';
import { runId } from '../../src/sampler/job/run-description';
import { bootId } from '../../src/sources/proc/clock';

/** One program that ran in the foreground of the shepherd. */
export interface HookRun {
  /** Wall clock at its start, ms since the epoch. */
  readonly at: number;
  /** Wall time. */
  readonly ms: number;
  /** CPU time (ms) of the program and of the children for which it waited. */
  readonly cpu: number;
  readonly status: number;
}

export interface Drained {
  readonly ms: number;
  /** CPU time (ms) of all processes that the hooks left behind: sampler, deliverer, watchdogs. */
  readonly cpu: number;
  /** RSS in KiB of the largest of them. */
  readonly largest: number;
}

/** A running test/bench/shepherd.c in one spool directory. */
export interface Shepherd {
  readonly pid: number;
  readonly startTicks: number;
  limit(bytes: number): Promise<void>;
  hook(words: readonly string[]): Promise<HookRun>;
  /** Starts the job's first process; resolves to its pid. */
  job(group: number, words: readonly string[]): Promise<number>;
  /** Kills the job and writes `usage`, as the shepherd does before the epilog. */
  end(): Promise<void>;
  drain(): Promise<Drained>;
  /** Ends the shepherd and all that it started. */
  close(): Promise<void>;
}

const PATIENCE_MS = 120_000;

function usage(startedMs: number, endedMs: number): string {
  const seconds = (ms: number): number => Math.floor(ms / 1000);
  return [
    'wait_status=2',
    'exit_status=137',
    'signal=9',
    `start_time=${seconds(startedMs)}`,
    `end_time=${seconds(endedMs)}`,
    `ru_wallclock=${seconds(endedMs) - seconds(startedMs)}`,
    'ru_utime=0.004520',
    'ru_stime=0.003293',
    'ru_maxrss=4580',
    '',
  ].join('\n');
}

export function startShepherd(program: string, spool: string): Shepherd {
  const child = spawn(program, [], { cwd: spool, stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => {
      resolve();
    });
  });
  const waiting: { readonly take: (line: string) => void; readonly fail: (error: Error) => void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.take(line));
  child.on('error', (error) => waiting.shift()?.fail(error));
  child.stdin.on('error', () => undefined);
  void closed.then(() => {
    for (const { fail } of waiting.splice(0)) fail(new Error(`the shepherd of ${spool} ended early`));
  });
  if (child.pid === undefined) throw new Error(`${program} could not be started`);
  const pid = child.pid;

  async function ask<T>(...words: readonly string[]): Promise<T> {
    const answer = await new Promise<string>((take, reject) => {
      const timer = setTimeout(() => {
        child.kill('SIGTERM');
      }, PATIENCE_MS);
      waiting.push({
        take: (line) => {
          clearTimeout(timer);
          take(line);
        },
        fail: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      child.stdin.write(`${words.join('\t')}\n`);
    });
    return JSON.parse(answer) as T;
  }

  let jobStartedMs = 0;
  return {
    pid,
    startTicks: startTicksOf(pid) ?? 0,
    limit: (bytes) => ask<unknown>('limit', String(bytes)).then(() => undefined),
    hook: (words) => ask<HookRun>('hook', ...words),
    job: async (group, words) => {
      jobStartedMs = Date.now();
      return (await ask<{ readonly pid: number }>('job', String(group), ...words)).pid;
    },
    end: async () => {
      await ask<unknown>('end');
      writeFileSync(join(spool, 'usage'), usage(jobStartedMs, Date.now()));
    },
    drain: () => ask<Drained>('drain'),
    close: () => {
      child.stdin.end();
      return closed;
    },
  };
}

/** Name of the run directory, and so of the record in node.db, of a job that is not an array task. */
export function runNameOf(job: number, { pid, startTicks }: Pick<Shepherd, 'pid' | 'startTicks'>): string {
  return `${job}.0.${runId({ boot: bootId(), shepherdPid: pid, shepherdStart: startTicks })}`;
}
