import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { openReader } from '../../accounting/open-store';
import type { AccountingReader } from '../../accounting/store';
import { StoreError } from '../../accounting/store-error';
import { isPostgresUrl } from '../../record/postgres-url';
import { answerQuery, type AccountingQuery } from './answer-query';
import { HttpProblem } from '../http/http-problem';
import type { Access } from '../access/access';

/**
 * The thread that reads the accounting DB and writes its answers as JSON: neither a large answer nor a disk that hangs
 * delays requests about the running cluster.
 */

/** `question` null: only checks whether the DB can be read. */
export interface WorkerRequest {
  readonly id: number;
  readonly question: AccountingQuery | null;
  readonly access: Access;
}

export interface WorkerSettings {
  readonly path: string;
  readonly credentials: string;
  /** How long PostgreSQL may be silent. */
  readonly silenceMs: number;
}

export interface WorkerReply {
  readonly id: number;
  readonly json?: Uint8Array;
  readonly problem?: { readonly status: number; readonly detail: string };
}

/** For so long, questions are answered from one snapshot of PostgreSQL: all questions of most pages. */
const SHARED_MS = 1000;

const { path, credentials, silenceMs } = workerData as WorkerSettings;

/** Identifies the file at `path`; changes when another file takes its place. */
function identityOf(path: string): string {
  if (isPostgresUrl(path)) return path;
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}`;
}

/** The accounting DB, kept open between questions as long as `path` names the same file. */
class KeptReader {
  private kept: { readonly reader: AccountingReader; readonly identity: string } | null = null;

  /** Rejects with StoreError. */
  async open(): Promise<AccountingReader> {
    const identity = identityOf(path);
    if (this.kept !== null && this.kept.identity !== identity) await this.close();
    this.kept ??= { reader: await openReader(path, { credentials, silenceMs, sharedMs: SHARED_MS }), identity };
    return this.kept.reader;
  }

  /** The next question opens the DB anew. */
  async close(): Promise<void> {
    const { reader } = this.kept ?? {};
    this.kept = null;
    await reader?.close();
  }
}

const store = new KeptReader();

function problemOf(error: unknown): { readonly status: number; readonly detail: string } {
  if (error instanceof HttpProblem) return { status: error.httpStatus, detail: error.message };
  if (error instanceof StoreError) return { status: 503, detail: `the accounting DB: ${error.reason}; ${error.hint}` };
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === undefined ? message : `${code} at ${path}`;
  return { status: 503, detail: `the accounting DB can't be read: ${reason}` };
}

async function answer({ id, question, access }: WorkerRequest): Promise<WorkerReply> {
  try {
    const reader = await store.open();
    if (question === null) {
      // No job has this number. A role of PostgreSQL that may log in need not be one that may read.
      await reader.jobs([0], ['job_id']);
      return { id };
    }
    return { id, json: new TextEncoder().encode(await answerQuery(question, access, reader)) };
  } catch (error) {
    // Not awaited: closing the connection to a silent server takes long.
    if (!(error instanceof HttpProblem)) void store.close().catch(() => undefined);
    return { id, problem: problemOf(error) };
  }
}

/** AccountingThread sends the next question only after this one is answered. */
parentPort?.on('message', (asked: WorkerRequest) => {
  void answer(asked).then((reply) =>
    parentPort?.postMessage(reply, reply.json === undefined ? [] : [reply.json.buffer as ArrayBuffer]),
  );
});
