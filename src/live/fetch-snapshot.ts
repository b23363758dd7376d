import { MIB } from '../base/units';
import { problemOf } from '../base/problem-document';
import { anything, checkJson } from '../base/shape';
import type { Snapshot } from './snapshot';
import { snapshotFromJson } from './snapshot-json';
import { socketGet } from './socket-get';

interface FetchOptions {
  /** Also waiting jobs: the server asks qmaster for them from now on, and its next snapshot has them. */
  readonly pending?: boolean;
  readonly timeoutMs?: number;
  readonly mostBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

/** The server answers from memory, so if it needs longer there is a problem. */
const TIMEOUT_MS = 10_000;
const MOST_BYTES = 384 * MIB;

/** No server for us; EACCES and EPERM: we may not enter the socket's directory. */
const ABSENT = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'EACCES', 'EPERM']);

/**
 * The site's snapshot, from `qmemacct serve` on its unix socket; null: no server runs there. Rejects with a one-line
 * Error if the answer can't be used.
 */
export async function fetchSnapshot(socketPath: string, options: FetchOptions = {}): Promise<Snapshot | null> {
  const { pending = false, timeoutMs = TIMEOUT_MS, mostBytes = MOST_BYTES, signal } = options;
  const target = pending ? '/v1/snapshot?pending=true' : '/v1/snapshot';
  try {
    const { status, text } = await socketGet(socketPath, target, { timeoutMs, mostBytes, signal });
    if (status !== 200) {
      const json = checkJson(anything, text, 'its answer');
      throw new Error(problemOf({ status, json: json.ok ? json.value : null }));
    }
    const snapshot = snapshotFromJson(text);
    if (!snapshot.ok) throw new Error(snapshot.error);
    return snapshot.value;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (ABSENT.has(code)) return null;
    throw new Error(`${socketPath}: ${message}`, { cause: error });
  }
}
