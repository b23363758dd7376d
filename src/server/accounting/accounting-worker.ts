import { parentPort, workerData } from 'node:worker_threads';
import { openReader } from '../../accounting/open-store';
import { StoreError } from '../../accounting/store-error';
import { answerQuestion, type Question } from './answer-query';
import { HttpProblem } from '../http/http-problem';
import { keepReader } from './kept-reader';
import type { Sight } from '../access/access';

/**
 * The thread that reads the accounting DB and writes its answers as JSON: a large answer, or a disk that hangs, holds up
 * no one who asks for the running cluster.
 */

/** `question` null: whether the DB can be read. */
export interface Asked {
  readonly id: number;
  readonly question: Question | null;
  readonly sight: Sight;
}

export interface DeskData {
  readonly path: string;
  readonly credentials: string;
  /** How long PostgreSQL may be silent. */
  readonly silenceMs: number;
}

export interface Told {
  readonly id: number;
  readonly json?: Uint8Array;
  readonly problem?: { readonly status: number; readonly detail: string };
}

const { path, credentials, silenceMs } = workerData as DeskData;
const store = keepReader(path, (place) => openReader(place, { credentials, silenceMs }));

function problemOf(error: unknown): { readonly status: number; readonly detail: string } {
  if (error instanceof HttpProblem) return { status: error.status, detail: error.message };
  if (error instanceof StoreError) return { status: 503, detail: `the accounting DB: ${error.reason}; ${error.hint}` };
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === undefined ? message : `${code} at ${path}`;
  return { status: 503, detail: `the accounting DB can't be read: ${reason}` };
}

async function tell({ id, question, sight }: Asked): Promise<Told> {
  try {
    const reader = await store.open();
    if (question === null) return { id };
    return { id, json: new TextEncoder().encode(await answerQuestion(question, sight, reader)) };
  } catch (error) {
    // Not waited for: leaving a server that has fallen silent takes its time.
    if (!(error instanceof HttpProblem)) void store.drop().catch(() => undefined);
    return { id, problem: problemOf(error) };
  }
}

/** The next question comes when this one has its answer. */
parentPort?.on('message', (asked: Asked) => {
  void tell(asked).then((told) =>
    parentPort?.postMessage(told, told.json === undefined ? [] : [told.json.buffer as ArrayBuffer]),
  );
});
