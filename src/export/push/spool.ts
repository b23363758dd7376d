import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../base/error-code';
import { MIB } from '../../base/units';
import { replaceFile } from '../../base/replace-file';
import { checkJson, integer, list, object, string, type ValueOf } from '../../base/shape';
import { untrusted } from '../../base/trusted-path';
import { UserError, reasonOf } from '../../base/user-error';
import { pointsShape, type Point } from './point';

const stateShape = object({
  /** The accounting DB that `position` and `open` refer to; empty: none yet. */
  store: string,
  /** Records up to this number have been read. */
  position: integer(0),
  /** The job that the record with that number is of; empty: none has been read. */
  last: string,
  /** The numbers of records read that were not complete yet. */
  open: list(integer(0)),
  /** Since the directory was made: batches dropped for lack of room, and items that the server refused for good. */
  dropped: integer(0),
  refused: integer(0),
});
type PushState = ValueOf<typeof stateShape>;

const NEW: PushState = { store: '', position: 0, last: '', open: [], dropped: 0, refused: 0 };
/** Disk space of the smallest file. */
const BLOCK = 4096;

/**
 * What one sink keeps on disk: a file for each waiting batch, written whole or not at all, and `state.json`. If the
 * process dies, both remain as they were after the last step. Methods throw UserError.
 */
export class Spool {
  private saved: PushState;

  constructor(
    readonly directory: string,
    private readonly mostBytes: number,
  ) {
    this.saved = this.attempt(() => {
      const reason = process.geteuid?.() === 0 ? untrusted(directory) : null;
      if (reason !== null) throw new Error(`root would trust it, and ${reason}`);
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      return readState(directory);
    });
  }

  get state(): PushState {
    return this.saved;
  }

  update(changes: Partial<PushState>): void {
    const state = { ...this.saved, ...changes };
    this.attempt(() => replaceFile(statePath(this.directory), JSON.stringify(state), 0o600));
    this.saved = state;
  }

  /**
   * Appends a batch, and drops the oldest ones if there is no room, except the one that is being sent; returns whether
   * any were dropped.
   */
  add(points: readonly Point[], sending: string | null = null): boolean {
    const text = JSON.stringify(points);
    const waiting = batches(this.directory);
    const last = Number(waiting.at(-1)?.name.split('.')[0] ?? 0);
    // Padded, so that names sort like numbers.
    const name = `${String(Math.max(Date.now(), last + 1)).padStart(15, '0')}.json`;
    let bytes = waiting.reduce((sum, batch) => sum + batch.bytes, Math.max(BLOCK, Buffer.byteLength(text)));
    const dropped = waiting.filter((batch) => {
      if (bytes <= this.mostBytes || batch.name === sending) return false;
      bytes -= batch.bytes;
      return true;
    });
    for (const batch of dropped) this.remove(batch.name);
    if (dropped.length > 0) this.update({ dropped: this.saved.dropped + dropped.length });
    this.attempt(() => replaceFile(join(this.directory, name), text, 0o600));
    return dropped.length > 0;
  }

  /** The batch that has waited longest; null: none. Unreadable batches are dropped. */
  oldest(): { readonly name: string; readonly points: readonly Point[] } | null {
    for (const { name } of batches(this.directory)) {
      const points = checkJson(
        pointsShape,
        this.attempt(() => readFileSync(join(this.directory, name), 'utf8')),
        name,
      );
      if (points.ok) return { name, points: points.value };
      this.remove(name);
      this.update({ dropped: this.saved.dropped + 1 });
    }
    return null;
  }

  remove(name: string): void {
    this.attempt(() => rmSync(join(this.directory, name), { force: true }));
  }

  private attempt<T>(step: () => T): T {
    try {
      return step();
    } catch (error) {
      throw new UserError(`export_dir: ${this.directory}: ${reasonOf(error)}`, {
        hint: 'it is to be a directory of the user that pushes, with room',
        cause: error,
      });
    }
  }
}

const statePath = (directory: string): string => join(directory, 'state.json');

function readState(directory: string): PushState {
  let text: string;
  try {
    text = readFileSync(statePath(directory), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return NEW;
    throw error;
  }
  const state = checkJson(stateShape, text, 'state.json');
  // If damaged, start over: the server recognises records that it has by their ids.
  return state.ok ? state.value : NEW;
}

interface WaitingBatch {
  readonly name: string;
  readonly bytes: number;
}

/** Oldest first. */
function batches(directory: string): readonly WaitingBatch[] {
  const names = readdirSync(directory).filter((name) => /^\d{15}\.json$/.test(name));
  return names.sort().flatMap((name) => {
    const found = statSync(join(directory, name), { throwIfNoEntry: false });
    return found === undefined ? [] : [{ name, bytes: Math.max(BLOCK, found.size) }];
  });
}

interface PushBacklog extends PushState {
  readonly waiting: number;
}

/** The state of a sink's directory, without changing it; null: nothing was pushed from here, or it can't be read. */
export function readBacklog(directory: string): PushBacklog | null {
  try {
    return { ...readState(directory), waiting: batches(directory).length };
  } catch {
    return null;
  }
}

export const spoolOf = (
  directory: string,
  { name, spool_mib: mib }: { readonly name: string; readonly spool_mib: number },
): Spool => new Spool(join(directory, name), mib * MIB);
