import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { UntrustedError } from '../base/trusted-path';
import { clientProblem, isUnreachable, startProblem } from './client-problem';
import type { CellLocation } from './find-cell';
import { clientEnvironment, findClient, type ClientName } from './find-client';
import { expectGroup, forgetGroup, keepGroup, killGroup } from './process-groups';
import type { AnswerEnd, AnswerReader } from './reading';

export interface ClientAnswer {
  readonly end: AnswerEnd;
  /** null: it was ended by a signal, or never ran. */
  readonly status: number | null;
  /** Why the answer is of no use, in one line with cause and fix; null: it is of use. */
  readonly problem: string | null;
  /** qmaster can't be had (it is down, it denies us, the time is up): another query would fare no better now. */
  readonly unreachable: boolean;
  /** ms since the epoch. */
  readonly startedAt: number;
  readonly tookMs: number;
}

/**
 * Runs a client of Grid Engine and feeds what it prints to `reader`. Resolves in any case, at the latest when its time
 * is up: what went wrong is the answer's `problem`.
 */
export type RunClient = (
  client: ClientName,
  args: readonly string[],
  reader: AnswerReader,
  signal?: AbortSignal,
) => Promise<ClientAnswer>;

interface ClientOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cell: CellLocation | null;
  readonly timeoutMs: number;
  /** More output than this is no answer. */
  readonly mostBytes?: number;
}

/** `qstat -j` of 100,000 jobs is half of a GB. */
const MOST_BYTES = 4 * 1024 ** 3;
const MOST_STDERR = 8192;

/** After the end of the client itself its output may still be held open by a process that it left behind. */
const LINGER_MS = 1000;
/** A process in uninterruptible sleep (a dead file server) does not even hear SIGKILL: we go on without it. */
const KILL_MS = 500;

const NOTHING: AnswerEnd = { state: 'empty', said: null, dialect: 'unknown', unknownJobs: [] };

type Started = ChildProcessByStdio<null, Readable, Readable>;

/** Some reasons not to start are thrown (E2BIG), others are told later. */
function start(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Started | NodeJS.ErrnoException {
  try {
    return spawn(file, [...args], { env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Where a client is, or why none is run. */
function trustedClient(
  client: ClientName,
  env: ClientOptions['env'],
  cell: CellLocation | null,
): { readonly file: string | null; readonly problem: string | null } {
  try {
    return { file: findClient(client, env, cell), problem: null };
  } catch (error) {
    if (!(error instanceof UntrustedError)) throw error;
    return { file: null, problem: error.message };
  }
}

/** The runner for this cell: English messages, no standard input, a process group of its own. */
export function clientRunner(options: ClientOptions): RunClient {
  const { env, cell, timeoutMs, mostBytes = MOST_BYTES } = options;
  const environment = { ...clientEnvironment(env, cell), LC_ALL: 'C' };
  return (client, args, reader, signal) => {
    const startedAt = Date.now();
    const began = performance.now();
    const found = trustedClient(client, env, cell);
    const { file } = found;
    const failed = (code: string | undefined): ClientAnswer => ({
      end: NOTHING,
      status: null,
      problem: found.problem ?? startProblem(client, file, code),
      unreachable: false,
      startedAt,
      tookMs: performance.now() - began,
    });
    if (file === null) return Promise.resolve(failed(undefined));

    return new Promise((resolve) => {
      let stopped: 'time' | 'size' | 'caller' | null = null;
      let status: number | null = null;
      let endedBy: string | null = null;
      let bytes = 0;
      let stderr = '';
      let done = false;
      const timers: NodeJS.Timeout[] = [];
      expectGroup();
      const child = start(file, args, environment);
      if (child instanceof Error) {
        forgetGroup(null);
        resolve(failed(child.code));
        return;
      }
      const { pid } = child;
      if (pid === undefined) {
        forgetGroup(null);
        // Its streams may be missing, too (EMFILE).
        child.once('error', ({ code }: NodeJS.ErrnoException) => resolve(failed(code)));
        return;
      }

      const finish = (answer: ClientAnswer): void => {
        if (done) return;
        done = true;
        for (const timer of timers) clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        child.stdout.destroy();
        child.stderr.destroy();
        forgetGroup(pid);
        resolve(answer);
      };
      const conclude = (): void => {
        if (done) return;
        const end = reader.end();
        const ending = { end, status, signal: endedBy, stderr: stderr.trim(), stopped, timeoutMs };
        const problem = clientProblem(client, ending);
        finish({
          end,
          status,
          problem,
          unreachable: problem !== null && isUnreachable(ending),
          startedAt,
          tookMs: performance.now() - began,
        });
      };
      const stop = (why: typeof stopped): void => {
        if (done) return;
        stopped ??= why;
        killGroup(pid);
        timers.push(setTimeout(conclude, KILL_MS));
      };
      const onAbort = (): void => stop('caller');

      keepGroup(pid);
      timers.push(setTimeout(() => stop('time'), timeoutMs));
      if (signal?.aborted === true) onAbort();
      else signal?.addEventListener('abort', onAbort, { once: true });

      child.stdout.on('data', (piece: Buffer) => {
        if (done || stopped !== null) return;
        bytes += piece.length;
        if (bytes > mostBytes) stop('size');
        else reader.write(piece);
      });
      child.stderr.on('data', (piece: Buffer) => {
        if (stderr.length < MOST_STDERR) stderr += piece.toString('latin1', 0, MOST_STDERR - stderr.length);
      });
      child.once('exit', (code, ended) => {
        status = code;
        endedBy = ended;
        timers.push(
          setTimeout(() => {
            killGroup(pid);
            timers.push(setTimeout(conclude, KILL_MS));
          }, LINGER_MS),
        );
      });
      child.once('close', conclude);
      child.once('error', conclude);
    });
  };
}
