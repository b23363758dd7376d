import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { AccountingQuery } from './answer-query';
import { printable } from '../../base/printable';
import { programPath } from '../../base/programs';
import type { WorkerRequest, WorkerSettings, WorkerReply } from './accounting-worker';
import { HttpProblem } from '../http/http-problem';
import { FULL_ACCESS, type Access } from '../access/access';
import { FairQueue } from './fair-queue';

/** On whose behalf something is asked. */
export interface Requester {
  /** Equal for all questions of one user, token or host; keys take turns. */
  readonly key: string;
  /** Aborted when nobody waits for the answer any more; null: somebody always waits. */
  readonly gone: AbortSignal | null;
}

const SERVER_ITSELF: Requester = { key: 'server', gone: null };

/** Where the routes ask the accounting DB; the work is done in a thread of its own. */
export interface AccountingService {
  /**
   * The answer as JSON. Rejects with HttpProblem: 503 where the DB can't be read or does not answer in time. A question
   * that nobody waits for any more is not put to the DB.
   */
  ask(question: AccountingQuery, access: Access, requester?: Requester): Promise<Buffer>;
  /** Why the DB can't be read, as of the last try; null: it can, or nobody knows yet. */
  problem(): string | null;
  /** Tries to read the DB, so that `problem` is up to date. */
  probe(): Promise<void>;
  stop(): Promise<void>;
}

export interface AccountingThreadOptions {
  /** The accounting DB. */
  readonly path: string;
  /** pgpass file for it; empty: none. */
  readonly credentials?: string;
  /** ms after which a question is answered with 503. */
  readonly patienceMs?: number;
  /** ms after which the thread is ended that still works on a question, so that other questions get their turn. */
  readonly longestMs?: number;
  /** Questions that may wait at a time. */
  readonly mostWaiting?: number;
  /** Gets a line for each question that took the DB `slowMs` or longer, or was broken off. */
  readonly log?: (line: string) => void;
  readonly slowMs?: number;
  /** When no question waits for this thread, it takes those that wait for that one. */
  readonly helps?: AccountingThread;
  /** The thread's program; tests pass another. */
  readonly program?: string;
}

const PATIENCE_MS = 20_000;
const LONGEST_MS = 60_000;
const SLOW_MS = 3000;
const LONGEST_LOGGED = 500;
/**
 * How long PostgreSQL may be silent, as a share of the patience. Below 1, so that the caller still gets the reason, and
 * the next question a new connection.
 */
const SILENCE_SHARE = 0.9;
/** How long the question under way may still take when the server ends: longer than SQLite waits for a lock. */
const LAST_QUESTION_MS = 8000;
/** Above the number of connections (http/connection-limit.ts), so that a question is rather queued than refused. */
const MOST_WAITING = 2500;

const TOO_MANY = 'too many questions wait for the accounting DB; ask again in a moment';

interface Waiting extends WorkerRequest {
  readonly caller: string;
  /** Only the first call counts. */
  readonly settle: (reply: Omit<WorkerReply, 'id'>) => void;
}

type Problem = NonNullable<WorkerReply['problem']>;

const away = (detail: string): { readonly problem: Problem } => ({ problem: { status: 503, detail } });

/** The last id given. Ids are unique over all threads, since one may answer what waited for another. */
let questions = 0;

/**
 * The thread that reads the accounting DB, and the queue of questions for it; it works on one at a time. The thread
 * starts with the first question, and again after it has ended.
 */
export class AccountingThread implements AccountingService {
  private readonly queue = new FairQueue<Waiting>();
  private readonly patienceMs: number;
  private worker: Worker | null = null;
  /** The question that the thread works on, whether or not somebody still waits for the answer. */
  private underWay: Waiting | null = null;
  private sentAt = 0;
  private overdue: NodeJS.Timeout | undefined;
  private stopped = false;
  private lastProblem: string | null = null;
  private helper: AccountingThread | null = null;

  constructor(private readonly options: AccountingThreadOptions) {
    if (options.helps !== undefined) options.helps.helper = this;
    this.patienceMs = options.patienceMs ?? PATIENCE_MS;
  }

  problem(): string | null {
    return this.lastProblem;
  }

  async ask(question: AccountingQuery, access: Access, requester: Requester = SERVER_ITSELF): Promise<Buffer> {
    const { json, problem } = await this.put(question, access, requester);
    if (json === undefined) throw new HttpProblem(problem?.status ?? 500, problem?.detail ?? 'no answer');
    return Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  }

  async probe(): Promise<void> {
    await this.put(null, FULL_ACCESS, SERVER_ITSELF);
  }

  /** Resolves to the thread's answer, or to why there is none. */
  private put(
    question: AccountingQuery | null,
    access: Access,
    { key: caller, gone }: Requester,
  ): Promise<Omit<WorkerReply, 'id'>> {
    return new Promise((resolve) => {
      if (this.stopped) {
        resolve(away('the server is ending; ask again in a moment'));
        return;
      }
      const leave = (): void => waiting.settle(away('the client has left'));
      const timer = setTimeout(() => this.expire(waiting), this.patienceMs);
      const waiting: Waiting = {
        id: ++questions,
        question,
        access,
        caller,
        settle: (reply) => {
          clearTimeout(timer);
          gone?.removeEventListener('abort', leave);
          this.queue.remove(caller, waiting);
          resolve(reply);
        },
      };
      gone?.addEventListener('abort', leave);
      this.queue.add(caller, waiting);
      if (gone?.aborted === true) leave();
      else if (this.queue.size > (this.options.mostWaiting ?? MOST_WAITING))
        this.queue.newestOfLargest()?.settle(away(TOO_MANY));
      this.next();
      if (this.helper !== null) this.helper.next();
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.overdue);
    for (let left = this.queue.take(); left !== undefined; left = this.queue.take())
      left.settle(away('the server is ending; ask again in a moment'));
    await this.lastAnswer();
    await this.worker?.terminate();
  }

  /**
   * better-sqlite3 aborts the whole process where a thread that is being ended gets an error of SQLite, such as that a
   * lock was not free in time.
   */
  private async lastAnswer(): Promise<void> {
    const worker = this.worker;
    if (worker === null || this.underWay === null) return;
    worker.ref();
    const signal = AbortSignal.timeout(LAST_QUESTION_MS);
    await Promise.race([once(worker, 'message', { signal }), once(worker, 'exit')]).catch(() => undefined);
  }

  private expire(waiting: Waiting): void {
    const reply = away(`the accounting DB has not answered for ${this.patienceMs / 1000} s; ask again later`);
    if (waiting === this.underWay) this.note(reply);
    waiting.settle(reply);
  }

  private next(): void {
    if (this.underWay !== null || this.stopped) return;
    const { helps } = this.options;
    const next = this.queue.take() ?? (helps === undefined ? undefined : helps.queue.take());
    if (next === undefined) return;
    this.underWay = next;
    this.sentAt = performance.now();
    this.overdue = setTimeout(() => this.interrupt(), this.options.longestMs ?? LONGEST_MS).unref();
    this.worker ??= this.start();
    const { id, question, access } = next;
    this.worker.postMessage({ id, question, access } satisfies WorkerRequest);
  }

  private start(): Worker {
    const { path, credentials = '', program = programPath('server/accounting/accounting-worker') } = this.options;
    const workerData: WorkerSettings = { path, credentials, silenceMs: this.patienceMs * SILENCE_SHARE };
    const started = new Worker(program, { workerData });
    started.unref();
    started.on('message', (reply: WorkerReply) => this.answered(reply));
    started.on('error', () => undefined);
    started.on('exit', () => {
      this.worker = null;
      const { id } = this.underWay ?? {};
      if (id !== undefined) this.answered({ id, ...away('the reader of the accounting DB ended; ask again') });
    });
    return started;
  }

  /** Ends the thread; as soon as it has ended, the next question starts another. */
  private interrupt(): void {
    const seconds = ((performance.now() - this.sentAt) / 1000).toFixed(1);
    this.options.log?.(`the accounting DB has not answered for ${seconds} s: its reader is ended and started again`);
    void this.worker?.terminate();
  }

  private answered(reply: WorkerReply): void {
    const asked = this.underWay;
    if (asked?.id !== reply.id) return;
    this.underWay = null;
    clearTimeout(this.overdue);
    this.note(reply);
    this.logSlow(asked.question);
    asked.settle(reply);
    this.next();
  }

  private logSlow(question: AccountingQuery | null): void {
    const { log, slowMs = SLOW_MS } = this.options;
    const ms = performance.now() - this.sentAt;
    if (log === undefined || question === null || ms < slowMs) return;
    const query = JSON.stringify(question.query).slice(0, LONGEST_LOGGED);
    log(printable(`slow: the accounting DB needed ${(ms / 1000).toFixed(1)} s for "${question.what}" ${query}`));
  }

  /** Notes whether the DB can be read. Not called when the queue is full, which is not the DB's fault. */
  private note({ problem }: Omit<WorkerReply, 'id'>): void {
    if (problem === undefined) this.lastProblem = null;
    else if (problem.status === 503) this.lastProblem = problem.detail;
  }
}
