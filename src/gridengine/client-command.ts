import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { GIB } from '../base/units';
import { UntrustedError } from '../base/trusted-path';
import { clientProblem, isUnreachable, startProblem, type ClientEnding } from './client-problem';
import type { CellLocation } from './find-cell';
import { clientEnvironment, findClient, type ClientName } from './find-client';
import { expectGroup, forgetGroup, keepGroup, killGroup } from './process-groups';
import type { AnswerEnd, AnswerReader } from './reading';

export interface ClientAnswer {
  readonly end: AnswerEnd;
  /** Why the answer is of no use, in one line with cause and fix; null: it is of use. */
  readonly problem: string | null;
  /** qmaster can't be reached (it is down, it denies us, the time is up): another query would now fail, too. */
  readonly unreachable: boolean;
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
  /** More output than this is not taken for an answer. */
  readonly mostBytes?: number;
}

/** `qstat -j` of 100,000 jobs is half of a GB. */
const MOST_BYTES = 4 * GIB;
const MOST_STDERR = 8192;

/** After the end of the client itself its output may still be held open by a process that it left behind. */
const LINGER_MS = 1000;
/** A process in uninterruptible sleep (a dead file server) does not even hear SIGKILL: we go on without it. */
const KILL_MS = 500;

const NOTHING: AnswerEnd = { state: 'empty', said: null, dialect: 'unknown', unknownJobs: [] };

type Started = ChildProcessByStdio<null, Readable, Readable>;

/** Some reasons not to start are thrown (E2BIG), others come as an event. */
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

type ClientEnd = Omit<ClientEnding, 'timeoutMs'>;

/** A client that runs: its output is read to the end, its whole group is ended when its time is up. */
class RunningClient {
  readonly answer: Promise<ClientEnd>;
  private readonly timers: NodeJS.Timeout[] = [];
  private resolve: (end: ClientEnd) => void = () => undefined;
  private stopped: ClientEnd['stopped'] = null;
  private status: number | null = null;
  private signal: string | null = null;
  private stderr = '';
  private bytes = 0;
  private done = false;

  constructor(
    private readonly child: Started,
    private readonly group: number,
    private readonly reader: AnswerReader,
    private readonly limits: Readonly<Record<'timeoutMs' | 'mostBytes', number>>,
    private readonly abort: AbortSignal | undefined,
  ) {
    this.answer = new Promise((resolve) => (this.resolve = resolve));
    keepGroup(group);
    this.later(limits.timeoutMs, () => this.stop('time'));
    if (abort?.aborted === true) this.onAbort();
    else abort?.addEventListener('abort', this.onAbort, { once: true });
    child.stdout.on('data', (piece: Buffer) => this.read(piece));
    child.stderr.on('data', (piece: Buffer) => {
      if (this.stderr.length < MOST_STDERR)
        this.stderr += piece.toString('latin1', 0, MOST_STDERR - this.stderr.length);
    });
    child.once('exit', (code, signal) => this.exited(code, signal));
    child.once('close', () => this.conclude());
    child.once('error', () => this.conclude());
  }

  private readonly onAbort = (): void => this.stop('caller');

  private later(ms: number, action: () => void): void {
    this.timers.push(setTimeout(action, ms));
  }

  private read(piece: Buffer): void {
    if (this.done || this.stopped !== null) return;
    this.bytes += piece.length;
    if (this.bytes > this.limits.mostBytes) this.stop('size');
    else this.reader.write(piece);
  }

  private stop(why: NonNullable<ClientEnd['stopped']>): void {
    if (this.done) return;
    this.stopped ??= why;
    this.kill();
  }

  private kill(): void {
    killGroup(this.group);
    this.later(KILL_MS, () => this.conclude());
  }

  private exited(code: number | null, signal: string | null): void {
    this.status = code;
    this.signal = signal;
    this.later(LINGER_MS, () => this.kill());
  }

  private conclude(): void {
    if (this.done) return;
    this.done = true;
    for (const timer of this.timers) clearTimeout(timer);
    this.abort?.removeEventListener('abort', this.onAbort);
    this.child.stdout.destroy();
    this.child.stderr.destroy();
    forgetGroup(this.group);
    const { status, signal, stopped } = this;
    this.resolve({ end: this.reader.end(), status, signal, stopped, stderr: this.stderr.trim() });
  }
}

/**
 * Starts a client in a process group of its own; `code`: the system's error code where it can't be started ("ENOENT").
 */
async function startClient(
  file: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly child: Started; readonly group: number } | { readonly code: string | undefined }> {
  expectGroup();
  const child = start(file, args, environment);
  if (!(child instanceof Error) && child.pid !== undefined) return { child, group: child.pid };
  forgetGroup(null);
  if (child instanceof Error) return { code: child.code };
  // Its streams may be missing, too (EMFILE).
  return new Promise((resolve) => child.once('error', ({ code }: NodeJS.ErrnoException) => resolve({ code })));
}

/** The runner for this cell: English messages, no standard input, a process group of its own. */
export function clientRunner(options: ClientOptions): RunClient {
  const { env, cell, timeoutMs, mostBytes = MOST_BYTES } = options;
  const environment = { ...clientEnvironment(env, cell), LC_ALL: 'C' };
  return async (client, args, reader, signal) => {
    const began = performance.now();
    const tookMs = (): number => performance.now() - began;
    const { file, problem: refusal } = trustedClient(client, env, cell);
    const started = file === null ? { code: undefined } : await startClient(file, args, environment);
    if ('code' in started) {
      const problem = refusal ?? startProblem(client, file, started.code);
      return { end: NOTHING, problem, unreachable: false, tookMs: tookMs() };
    }
    const running = new RunningClient(started.child, started.group, reader, { timeoutMs, mostBytes }, signal);
    const ending = { ...(await running.answer), timeoutMs };
    const problem = clientProblem(client, ending);
    const unreachable = problem !== null && isUnreachable(ending);
    return { end: ending.end, problem, unreachable, tookMs: tookMs() };
  };
}
