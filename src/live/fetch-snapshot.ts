import { request } from 'node:http';
import type { Snapshot } from './snapshot';
import { snapshotFromJson } from './snapshot-json';

export interface FetchOptions {
  /** Also the jobs that wait: the server asks qmaster for them from now on, its next snapshot has them. */
  readonly pending?: boolean;
  readonly timeoutMs?: number;
  readonly mostBytes?: number;
  readonly signal?: AbortSignal;
}

/** The server answers from memory: who needs longer is not well. */
const TIMEOUT_MS = 10_000;
const MOST_BYTES = 384 * 1024 * 1024;

/** Nobody serves there: what is to be expected where the site runs no server. */
export class NoServerError extends Error {
  constructor(socketPath: string) {
    super(`nobody serves ${socketPath}`);
    this.name = 'NoServerError';
  }
}

/** ENOTDIR and EACCES: the directory of the socket is not for us. */
const ABSENT = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'EACCES', 'EPERM']);

/**
 * The site's snapshot, from `qmemacct serve` on its unix socket. Rejects with NoServerError where none runs, and with an
 * Error of one line where its answer is none.
 */
export function fetchSnapshot(socketPath: string, options: FetchOptions = {}): Promise<Snapshot> {
  const { pending = false, timeoutMs = TIMEOUT_MS, mostBytes = MOST_BYTES, signal } = options;
  return new Promise((resolve, reject) => {
    const fail = (problem: string): void => reject(new Error(`${socketPath}: ${problem}`));
    const asked = request(
      {
        socketPath,
        path: pending ? '/v1/snapshot?pending=true' : '/v1/snapshot',
        headers: { accept: 'application/json', host: 'localhost' },
        agent: false,
        ...(signal === undefined ? {} : { signal }),
      },
      (answer) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length;
          pieces.push(piece);
          if (bytes > mostBytes) asked.destroy(new Error(`its answer is longer than ${mostBytes} bytes`));
        });
        answer.on('error', (error) => fail(error.message));
        answer.on('end', () => {
          if (answer.statusCode !== 200) {
            fail(`HTTP status ${answer.statusCode ?? 'unknown'}`);
            return;
          }
          try {
            resolve(snapshotFromJson(Buffer.concat(pieces).toString('utf8')));
          } catch (error) {
            fail(error instanceof Error ? error.message : String(error));
          }
        });
      },
    );
    // The socket's own time limit counts silence only.
    const timer = setTimeout(() => asked.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
    asked.on('close', () => clearTimeout(timer));
    asked.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== undefined && ABSENT.has(error.code)) reject(new NoServerError(socketPath));
      else fail(error.message);
    });
    asked.end();
  });
}
