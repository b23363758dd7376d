import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Question } from './accounting-question';
import type { Asked, DeskData, Told } from './accounting-worker';
import { HttpProblem } from './http-problem';
import { SEES_ALL, type Sight } from './sight';

/** Where the routes ask the accounting DB; the work is done in a thread of its own. */
export interface AccountingDesk {
  /** The answer as JSON. Rejects with HttpProblem: 503 where the DB can't be read or does not answer in time. */
  ask(question: Question, sight: Sight): Promise<Buffer>;
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

interface Waiting {
  readonly resolve: (told: Told) => void;
  readonly timer: NodeJS.Timeout;
}

const away = (id: number, detail: string): Told => ({ id, problem: { status: 503, detail } });

/** Starts the thread; it is started again where it ended. */
export function openAccountingDesk(options: DeskOptions): AccountingDesk {
  const { patienceMs = PATIENCE_MS, mostWaiting = MOST_WAITING } = options;
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let stopped = false;
  let number = 0;
  let problem: string | null = null;

  const settle = (told: Told): void => {
    const found = waiting.get(told.id);
    if (found === undefined) return;
    waiting.delete(told.id);
    clearTimeout(found.timer);
    found.resolve(told);
  };
  const start = (): Worker => {
    const program = options.program ?? join(__dirname, 'accounting-worker.js');
    const { path, credentials = '' } = options;
    const workerData: DeskData = { path, credentials, silenceMs: patienceMs * SILENCE_SHARE };
    const started = new Worker(program, { workerData });
    started.unref();
    started.on('message', settle);
    started.on('error', () => undefined);
    started.on('exit', () => {
      if (worker === started) worker = null;
      for (const id of [...waiting.keys()]) settle(away(id, 'the reader of the accounting DB ended; ask again'));
    });
    return started;
  };
  const put = (question: Question | null, sight: Sight): Promise<Told> =>
    new Promise((resolve) => {
      const id = ++number;
      const refusal = stopped
        ? 'the server is ending; ask again in a moment'
        : waiting.size >= mostWaiting
          ? 'too many questions wait for the accounting DB; ask again in a moment'
          : null;
      if (refusal !== null) {
        resolve(away(id, refusal));
        return;
      }
      const timer = setTimeout(
        () => settle(away(id, `the accounting DB has not answered for ${patienceMs / 1000} s; ask again later`)),
        patienceMs,
      );
      waiting.set(id, { resolve, timer });
      worker ??= start();
      worker.postMessage({ id, question, sight } satisfies Asked);
    });
  const note = (told: Told): void => {
    if (told.problem === undefined) problem = null;
    else if (told.problem.status === 503) problem = told.problem.detail;
  };

  return {
    ask: async (question, sight) => {
      const told = await put(question, sight);
      note(told);
      if (told.json === undefined)
        throw new HttpProblem(told.problem?.status ?? 500, told.problem?.detail ?? 'no answer');
      return Buffer.from(told.json.buffer, told.json.byteOffset, told.json.byteLength);
    },
    problem: () => problem,
    probe: async () => note(await put(null, SEES_ALL)),
    stop: async () => {
      stopped = true;
      const ended = worker;
      await ended?.terminate();
    },
  };
}
