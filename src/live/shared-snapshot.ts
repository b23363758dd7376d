import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  futimesSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MIB } from '../base/units';
import { anything, boolean, check, checkJson, number, object, type Shape } from '../base/shape';
import type { CellLocation } from '../gridengine/find-cell';
import { dueQueries, newPollState, type PollRules, type PollState, type QueryHistory } from './poller';
import { checkedSnapshot, plainSnapshot } from './snapshot-json';

export interface SharingOptions {
  /** The user's own directory (0700). */
  readonly directory: string;
  readonly cluster: string;
  readonly cell: CellLocation | null;
  readonly rules: PollRules;
  /** Whether to ask for waiting jobs. */
  readonly pending: boolean;
  /** Makes the queries that are due. */
  readonly poll: (before: PollState) => Promise<PollState>;
  /** The longest time of a poll, in ms; a process that holds the lock for longer has been stopped (SIGSTOP). */
  readonly longestPollMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The longest wait for a newer answer if there is an older one to show. */
const PATIENCE_MS = 2000;

/** Pause between two looks for another process's answer; it grows, so that a thousand waiting processes cost little. */
const FIRST_LOOK_MS = 20;
const LONGEST_LOOK_MS = 250;

/** A larger file is not ours. */
const MOST_BYTES = 384 * MIB;

/** A process that has just taken the lock may not have set the lock file's time yet. */
const TOUCH_MS = 1000;

const OLD_LITTER_MS = 3_600_000;

const history: Shape<QueryHistory> = object({ failures: number(), tookMs: number(), unreachable: boolean });
const histories: Shape<PollState['history']> = object({
  hosts: history,
  running: history,
  details: history,
  pending: history,
});

interface Files {
  readonly directory: string;
  /** `snapshot-` and a hash of the cell. */
  readonly name: string;
  readonly state: string;
  readonly lock: string;
}

/** The files for a cell, as one user may look at several cells. */
function filesOf({ directory, cell }: SharingOptions): Files {
  const key = createHash('sha256')
    .update(JSON.stringify(cell === null ? null : [cell.root, cell.cell]))
    .digest('hex')
    .slice(0, 12);
  const name = `snapshot-${key}`;
  return { directory, name, state: join(directory, `${name}.json`), lock: join(directory, `${name}.lock`) };
}

function openOwn(path: string, flags: number): number {
  const descriptor = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY, 0o600);
  const status = fstatSync(descriptor);
  if (status.isFile() && status.uid === process.geteuid?.() && status.size <= MOST_BYTES) return descriptor;
  closeSync(descriptor);
  throw new Error(`${path} is not a file of ours`);
}

/** The last state; null: none, or unreadable, and then replaced by the next one. */
function readState(path: string): PollState | null {
  try {
    const descriptor = openOwn(path, constants.O_RDONLY);
    try {
      const state = checkJson(anything, readFileSync(descriptor, 'utf8'), path);
      if (!state.ok) return null;
      const snapshot = checkedSnapshot(state.value);
      const kept = check(object({ history: histories }), state.value, path);
      return snapshot.ok && kept.ok ? { snapshot: snapshot.value, history: kept.value.history } : null;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null;
  }
}

/** Replaces the state file. Throws the file system's error. */
function writeState(files: Files, state: PollState): void {
  const fresh = join(files.directory, `${files.name}.${process.pid}.new`);
  // An earlier process with our pid may have left such a file.
  rmSync(fresh, { force: true });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const descriptor = openOwn(fresh, flags);
  try {
    writeFileSync(descriptor, JSON.stringify({ ...plainSnapshot(state.snapshot), history: state.history }));
    renameSync(fresh, files.state);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Removes files left by processes that were killed while they wrote. */
function sweep({ directory, name }: Files): void {
  for (const entry of readdirSync(directory)) {
    if (!entry.startsWith(`${name}.`) || !entry.endsWith('.new')) continue;
    const path = join(directory, entry);
    const status = statSync(path, { throwIfNoEntry: false });
    if (status !== undefined && Date.now() - status.mtimeMs > OLD_LITTER_MS) rmSync(path, { force: true });
  }
}

/** A text that changes with every new state file. */
function versionOf(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false, bigint: true });
  return status === undefined ? '' : `${status.ino}:${status.mtimeNs}`;
}

/**
 * The state that all live commands of this user on this host share. A command that finds it too old and gets the lock
 * asks qmaster; the others wait for that answer, or after a while use the last one. A process that holds the lock for
 * too long (stopped by the user) is ignored. Throws if the directory can't be used at all.
 */
export async function sharedState(options: SharingOptions): Promise<PollState> {
  const { cluster, rules, pending, poll, longestPollMs, signal } = options;
  const files = filesOf(options);
  const isFresh = (state: PollState): boolean => dueQueries(state, rules, Date.now(), pending).size === 0;
  let seen: string | null = null;
  let state: PollState | null = null;
  const look = (): void => {
    const version = versionOf(files.state);
    if (version === seen) return;
    seen = version;
    const read = readState(files.state);
    state = read?.snapshot.cluster === cluster ? read : null;
  };
  const current = (): PollState | null => state;
  const pollAndShare = async (): Promise<PollState> => {
    const next = await poll(current() ?? newPollState(cluster));
    if (signal?.aborted === true) return next;
    try {
      writeState(files, next);
    } catch {
      // A full disk: show what we know; the next command asks again.
    }
    return next;
  };

  look();
  const early = current();
  if (early !== null && isFresh(early)) return early;

  const { tryLock } = await import('../native/libc.js');
  const lock = openOwn(files.lock, constants.O_RDWR | constants.O_CREAT);
  try {
    const began = Date.now();
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 1.5, LONGEST_LOOK_MS)) {
      const held = !tryLock(lock);
      // Look again after trying the lock: it may be free because another process has just written its answer.
      look();
      const found = current();
      if (found !== null && isFresh(found)) return found;
      if (!held) {
        // Shows the others since when we hold the lock.
        futimesSync(lock, new Date(), new Date());
        sweep(files);
        return await pollAndShare();
      }
      const waited = Date.now() - began;
      if (waited > TOUCH_MS && Date.now() - fstatSync(lock).mtimeMs > longestPollMs) return await pollAndShare();
      if (found !== null && waited > PATIENCE_MS) return found;
      await sleep(pause * (0.75 + Math.random() / 2), undefined, { signal });
    }
  } finally {
    closeSync(lock);
  }
}
