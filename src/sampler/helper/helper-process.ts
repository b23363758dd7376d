import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { monotonicMs } from '../../base/monotonic';
import type { Reading, Unavailable } from '../../sources/source';
import { reasonOf } from '../../base/user-error';
import { PROGRAM_ENVIRONMENT } from '../../base/programs';
import { LONGEST_LINE, parseMessage, requestLine, type Request } from './protocol';

/** The helper process failed and is of no further use: it has been killed, or has ended by itself. */
export interface Failed {
  readonly failed: 'late' | 'ended';
  /** One line, to follow "the helper process". */
  readonly how: string;
  /** The process that it was reading; null: none, or the source does not say. */
  readonly at: number | null;
}

/** What became of a request. */
export type Outcome = readonly Reading[] | Unavailable | Failed;

interface HelperProcessOptions {
  readonly script: string;
  readonly settingsPath: string;
  readonly nodeOptions: readonly string[];
}

/** Node needs 0.1 s to start, on a busy or emulated machine many times that; a source's deadline begins afterwards. */
const START_MS = 30_000;
/** All processes of one request may take this many deadlines in all, so that other requests have their turn. */
const WHOLE_REQUEST = 12;
const COMPLAINT_KEPT = 2000;

/** Sources that start programs look for them here: nothing is taken from the environment of a hook. */
const ENVIRONMENT = {
  ...PROGRAM_ENVIRONMENT,
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
};

interface Pending {
  readonly id: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly askedMs: number;
  readonly deadlineMs: number;
  at: number | null;
}

/** A process that reads for us what may block: started at once, killed if it does not answer in time. */
export class HelperProcess {
  /** Resolves once it has ended. */
  readonly ended: Promise<void>;
  private resolveEnded: () => void = () => undefined;
  private child: ChildProcessWithoutNullStreams | null = null;
  private pending: Pending | null = null;
  private timer: NodeJS.Timeout | null = null;
  private ready = false;
  /** Why it is of no use any more; null: it is. */
  private over: string | null = null;
  /** Number of pieces of its output that have come. */
  private heard = 0;
  /** Pieces of the line that is not whole yet. */
  private rest: string[] = [];
  private restLength = 0;
  /** The end of what it wrote on standard error. */
  private complaint = '';

  constructor(options: HelperProcessOptions) {
    this.ended = new Promise<void>((resolve) => (this.resolveEnded = resolve));
    try {
      this.child = this.start(options);
    } catch (error) {
      this.over = `could not be started: ${reasonOf(error)}`;
      this.resolveEnded();
    }
  }

  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  /** One request at a time; the deadline is for the answer, or for each process that is read. Never rejects. */
  ask(request: Request, deadlineMs: number): Promise<Outcome> {
    return new Promise((resolve) => {
      if (this.over !== null || this.child === null) {
        resolve({ failed: 'ended', how: this.over ?? 'could not be started', at: null });
        return;
      }
      this.pending = { id: request.id, resolve, askedMs: monotonicMs(), deadlineMs, at: null };
      this.child.stdin.write(requestLine(request));
      this.arm();
    });
  }

  /** Lets it end by itself, or kills it where it is busy. */
  end(): void {
    if (this.pending !== null) this.kill();
    else this.child?.stdin.end();
  }

  kill(): void {
    this.discard('ended', 'was ended');
  }

  private start({ nodeOptions, script, settingsPath }: HelperProcessOptions): ChildProcessWithoutNullStreams {
    const started = spawn(process.execPath, [...nodeOptions, script, settingsPath], {
      cwd: '/',
      env: ENVIRONMENT,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    started.on('error', (error) => {
      this.discard('ended', `could not be started: ${reasonOf(error)}`);
      this.resolveEnded();
    });
    started.on('exit', () => {
      this.resolveEnded();
    });
    // What it wrote before it ended has been read by then.
    started.on('close', (status, signal) => {
      const last = this.complaint.trim().split('\n').pop() ?? '';
      this.discard('ended', `ended (${last || (signal ?? `status ${status ?? 'unknown'}`)})`);
    });
    started.stdin.on('error', () => undefined);
    started.stdout.setEncoding('utf8').on('data', (chunk: string) => this.hear(chunk));
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.complaint = (this.complaint + text).slice(-COMPLAINT_KEPT);
    });
    return started;
  }

  private settle(outcome: Outcome): void {
    const { resolve } = this.pending ?? {};
    this.pending = null;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    resolve?.(outcome);
  }

  /** Kills it by its own pid. Where it does not die at once (uninterruptible sleep), nothing of ours waits for it. */
  private discard(failed: Failed['failed'], how: string): void {
    if (this.over !== null) return;
    this.over = how;
    if (this.child !== null) {
      const { stdin, stdout, stderr } = this.child;
      this.child.kill('SIGKILL');
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
      this.child.unref();
    }
    this.settle({ failed, how, at: this.pending?.at ?? null });
  }

  private allowance(): number {
    return this.ready && this.pending !== null ? this.pending.deadlineMs : START_MS;
  }

  private arm(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const before = this.heard;
      // This process may itself have been held up, and the answer lie in the pipe: what has come is read first.
      setImmediate(() => {
        if (this.pending === null) return;
        if (this.heard === before) this.discard('late', `did not answer within ${this.allowance() / 1000} s`);
        else this.arm();
      });
    }, this.allowance());
  }

  private take(line: string): void {
    const message = parseMessage(line);
    const pending = this.pending;
    if (message?.kind === 'ready') {
      this.ready = true;
      if (pending !== null) this.arm();
    } else if (message === null || message.id !== pending?.id)
      this.discard('ended', 'wrote something that is no answer');
    else if (message.kind === 'answer') this.settle(message.answer);
    else if (monotonicMs() - pending.askedMs > pending.deadlineMs * WHOLE_REQUEST) {
      pending.at = null;
      this.discard('late', `did not end within ${(pending.deadlineMs * WHOLE_REQUEST) / 1000} s`);
    } else {
      pending.at = message.pid;
      this.timer?.refresh();
    }
  }

  private hear(chunk: string): void {
    this.heard++;
    let from = 0;
    for (let end = chunk.indexOf('\n'); end >= 0 && this.over === null; end = chunk.indexOf('\n', from)) {
      this.rest.push(chunk.slice(from, end));
      from = end + 1;
      const line = this.rest.join('');
      this.rest = [];
      this.restLength = 0;
      this.take(line);
    }
    if (this.over !== null) return;
    this.rest.push(chunk.slice(from));
    this.restLength += chunk.length - from;
    if (this.restLength > LONGEST_LINE) this.discard('ended', `wrote a line of more than ${LONGEST_LINE} characters`);
  }
}
