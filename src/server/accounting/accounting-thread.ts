import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Question } from './answer-query';
import type { Asked, DeskData, Told } from './accounting-worker';
import { SERVER_ITSELF, type Asker } from '../http/requester';
import { HttpProblem } from '../http/http-problem';
import { SEES_ALL, type Sight } from '../access/access';
import { Turns } from './fair-queue';

/** Where the routes ask the accounting DB; the work is done in a thread of its own. */
export interface AccountingDesk {
  /**
   * The answer as JSON. Rejects with HttpProblem: 503 where the DB can't be read or does not answer in time. A question
   * that nobody waits for any more is not put to the DB.
   */
  ask(question: Question, sight: Sight, asker?: Asker): Promise<Buffer>;
  /** Why the DB can't be read, as of the last try; null: it can, or nobody knows yet. */
  problem(): string | null;
  /** Tries to open the DB, so that `problem` is up to date. */
  probe(): Promise<void>;
  stop(): Promise<void>;
}

export interface DeskOptions {
  /** The accounting DB. */
  readonly path: string;
  /** pgpass file for it; empty: none. */
  readonly credentials?: string;
  /** ms until a question is given up. */
  readonly patienceMs?: number;
  /** Questions that may wait at a time. */
  readonly mostWaiting?: number;
  /** The thread's program: a test may put another there. */
  readonly program?: string;
}

const PATIENCE_MS = 20_000;
/** Who asks hears why there is no answer; and the next question goes to a new connection. */
const SILENCE_SHARE = 0.9;
/** More than there can be connections (http-server.ts): who waits is answered in turn. */
const MOST_WAITING = 2500;

const TOO_MANY = 'too many questions wait for the accounting DB; ask again in a moment';

interface Waiting extends Asked {
  readonly caller: string;
  /** Once: what comes later is dropped. */
  readonly settle: (told: Omit<Told, 'id'>) => void;
}

type Problem = NonNullable<Told['problem']>;

const away = (detail: string): { readonly problem: Problem } => ({ problem: { status: 503, detail } });

/** The thread, started when there is something to ask, and what waits for it. One question is in it at a time. */
class QuestionQueue {
  readonly #turns = new Turns<Waiting>();
  readonly #options: DeskOptions;
  readonly #patienceMs: number;
  #worker: Worker | null = null;
  /** In the thread, whether or not somebody still waits for it. */
  #underWay: Waiting | null = null;
  #stopped = false;
  #number = 0;
  #problem: string | null = null;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
  }

  get problem(): string | null {
    return this.#problem;
  }

  /** Resolves to the thread's answer, or to why there is none. */
  put(question: Question | null, sight: Sight, { key: caller, gone }: Asker): Promise<Omit<Told, 'id'>> {
    return new Promise((resolve) => {
      if (this.#stopped) {
        resolve(away('the server is ending; ask again in a moment'));
        return;
      }
      const leave = (): void => waiting.settle(away('the client has left'));
      const timer = setTimeout(() => this.#expire(waiting), this.#patienceMs);
      const waiting: Waiting = {
        id: ++this.#number,
        question,
        sight,
        caller,
        settle: (told) => {
          clearTimeout(timer);
          gone?.removeEventListener('abort', leave);
          this.#turns.remove(caller, waiting);
          resolve(told);
        },
      };
      gone?.addEventListener('abort', leave);
      this.#turns.add(caller, waiting);
      if (gone?.aborted === true) leave();
      else if (this.#turns.size > (this.#options.mostWaiting ?? MOST_WAITING))
        this.#turns.newestOfLargest()?.settle(away(TOO_MANY));
      this.#next();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#worker?.terminate();
    for (let left = this.#turns.take(); left !== undefined; left = this.#turns.take())
      left.settle(away('the server is ending; ask again in a moment'));
  }

  #expire(waiting: Waiting): void {
    const told = away(`the accounting DB has not answered for ${this.#patienceMs / 1000} s; ask again later`);
    if (waiting === this.#underWay) this.#note(told);
    waiting.settle(told);
  }

  #next(): void {
    if (this.#underWay !== null || this.#stopped) return;
    const next = this.#turns.take();
    if (next === undefined) return;
    this.#underWay = next;
    this.#worker ??= this.#start();
    const { id, question, sight } = next;
    this.#worker.postMessage({ id, question, sight } satisfies Asked);
  }

  #start(): Worker {
    const { path, credentials = '', program = join(__dirname, 'accounting-worker.js') } = this.#options;
    const workerData: DeskData = { path, credentials, silenceMs: this.#patienceMs * SILENCE_SHARE };
    const started = new Worker(program, { workerData });
    started.unref();
    started.on('message', (told: Told) => this.#answered(told));
    started.on('error', () => undefined);
    started.on('exit', () => {
      this.#worker = null;
      const { id } = this.#underWay ?? {};
      if (id !== undefined) this.#answered({ id, ...away('the reader of the accounting DB ended; ask again') });
    });
    return started;
  }

  #answered(told: Told): void {
    const asked = this.#underWay;
    if (asked?.id !== told.id) return;
    this.#underWay = null;
    this.#note(told);
    asked.settle(told);
    this.#next();
  }

  /** What the DB itself has answered; that too many ask for it is not its fault. */
  #note({ problem }: Omit<Told, 'id'>): void {
    if (problem === undefined) this.#problem = null;
    else if (problem.status === 503) this.#problem = problem.detail;
  }
}

/** Starts the thread with the first question; it is started again where it ended. */
export function openAccountingDesk(options: DeskOptions): AccountingDesk {
  const queue = new QuestionQueue(options);
  return {
    ask: async (question, sight, asker = SERVER_ITSELF) => {
      const { json, problem } = await queue.put(question, sight, asker);
      if (json === undefined) throw new HttpProblem(problem?.status ?? 500, problem?.detail ?? 'no answer');
      return Buffer.from(json.buffer, json.byteOffset, json.byteLength);
    },
    problem: () => queue.problem,
    probe: async () => {
      await queue.put(null, SEES_ALL, SERVER_ITSELF);
    },
    stop: () => queue.stop(),
  };
}
