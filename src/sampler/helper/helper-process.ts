import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Reading, Unavailable } from '../../sources/source';
import { reasonOf } from '../../base/log';
import { LONGEST_LINE, parseMessage, requestLine, type Request } from './protocol';

/** The process is of no further use after a failure: it has been killed, or has ended by itself. */
export interface Failed {
  readonly failed: 'late' | 'ended';
  /** One line, to follow "the helper process". */
  readonly how: string;
  /** The process that it was reading; null: none, or the source does not tell. */
  readonly at: number | null;
}

export interface HelperProcess {
  readonly pid: number | null;
  /** One request at a time; the deadline is for its answer, or from one process that is read to the next. Never rejects. */
  readonly ask: (request: Request, deadlineMs: number) => Promise<readonly Reading[] | Unavailable | Failed>;
  /** Lets it end by itself, or kills it where it is busy. */
  readonly end: () => void;
  readonly kill: () => void;
  /** Resolves once it has ended. */
  readonly ended: Promise<void>;
}

interface HelperProcessOptions {
  readonly script: string;
  readonly settingsPath: string;
  readonly nodeOptions: readonly string[];
}

/** Node needs 0.1 s to start, on a busy or emulated machine many times that; a source's deadline begins afterwards. */
const START_MS = 30_000;
/** All the processes of one request may take this many times the deadline, so that others have their turn. */
const WHOLE_REQUEST = 12;
const COMPLAINT_KEPT = 2000;

/** Sources that start programs look for them here: nothing is taken from the environment of a hook. */
const ENVIRONMENT = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  MALLOC_ARENA_MAX: '1',
  UV_THREADPOOL_SIZE: '1',
};

interface Pending {
  readonly id: number;
  readonly resolve: (outcome: readonly Reading[] | Unavailable | Failed) => void;
  readonly askedMs: number;
  readonly deadlineMs: number;
  at: number | null;
}

interface Child {
  readonly pid?: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly kill: (signal: NodeJS.Signals) => boolean;
  readonly unref: () => void;
}

export function startHelperProcess(options: HelperProcessOptions): HelperProcess {
  let pending: Pending | null = null;
  let timer: NodeJS.Timeout | null = null;
  let ready = false;
  let over: string | null = null;
  let heard = 0;
  let rest: string[] = [];
  let restLength = 0;
  let complaint = '';
  let child: Child | null = null;
  let resolveEnded: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (resolveEnded = resolve));

  function settle(outcome: readonly Reading[] | Unavailable | Failed): void {
    const { resolve } = pending ?? {};
    pending = null;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    resolve?.(outcome);
  }

  /** Kills it by its own pid. Where it does not die at once (uninterruptible sleep), nothing of ours waits for it. */
  function discard(failed: Failed['failed'], how: string): void {
    if (over !== null) return;
    over = how;
    if (child !== null) {
      child.kill('SIGKILL');
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      child.unref();
    }
    settle({ failed, how, at: pending?.at ?? null });
  }

  const allowance = (): number => (ready && pending !== null ? pending.deadlineMs : START_MS);

  function arm(): void {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      const before = heard;
      // This process may itself have been held up, and the answer lie in the pipe: what has come is read first.
      setImmediate(() => {
        if (pending === null) return;
        if (heard === before) discard('late', `did not answer within ${allowance() / 1000} s`);
        else arm();
      });
    }, allowance());
  }

  function take(line: string): void {
    const message = parseMessage(line);
    if (message?.kind === 'ready') {
      ready = true;
      if (pending !== null) arm();
    } else if (message === null || message.id !== pending?.id) discard('ended', 'wrote what is no answer');
    else if (message.kind === 'answer') settle(message.answer);
    else if (performance.now() - pending.askedMs > pending.deadlineMs * WHOLE_REQUEST) {
      pending.at = null;
      discard('late', `did not come to an end within ${(pending.deadlineMs * WHOLE_REQUEST) / 1000} s`);
    } else {
      pending.at = message.pid;
      timer?.refresh();
    }
  }

  function hear(chunk: string): void {
    heard++;
    let from = 0;
    for (let end = chunk.indexOf('\n'); end >= 0 && over === null; end = chunk.indexOf('\n', from)) {
      rest.push(chunk.slice(from, end));
      from = end + 1;
      const line = rest.join('');
      rest = [];
      restLength = 0;
      take(line);
    }
    if (over !== null) return;
    rest.push(chunk.slice(from));
    restLength += chunk.length - from;
    if (restLength > LONGEST_LINE) discard('ended', `wrote a line of more than ${LONGEST_LINE} characters`);
  }

  try {
    const started = spawn(process.execPath, [...options.nodeOptions, options.script, options.settingsPath], {
      cwd: '/',
      env: ENVIRONMENT,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child = started;
    started.on('error', (error) => {
      discard('ended', `could not be started: ${reasonOf(error)}`);
      resolveEnded();
    });
    started.on('exit', () => {
      resolveEnded();
    });
    // What it wrote before it ended has been read by then.
    started.on('close', (status, signal) => {
      const last = complaint.trim().split('\n').pop() ?? '';
      discard('ended', `ended (${last || (signal ?? `status ${status ?? 'unknown'}`)})`);
    });
    started.stdin.on('error', () => undefined);
    started.stdout.setEncoding('utf8').on('data', hear);
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-COMPLAINT_KEPT);
    });
  } catch (error) {
    over = `could not be started: ${reasonOf(error)}`;
    resolveEnded();
  }

  const kill = (): void => {
    discard('ended', 'was told to end');
  };

  return {
    pid: child?.pid ?? null,
    ended,
    ask: (request, deadlineMs) =>
      new Promise((resolve) => {
        if (over !== null || child === null) {
          resolve({ failed: 'ended', how: over ?? 'could not be started', at: null });
          return;
        }
        pending = { id: request.id, resolve, askedMs: performance.now(), deadlineMs, at: null };
        child.stdin.write(requestLine(request));
        arm();
      }),
    end: () => {
      if (pending !== null) kill();
      else child?.stdin.end();
    },
    kill,
  };
}
