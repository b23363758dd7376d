import type { Database } from 'better-sqlite3';

/** Bits for one key: of keys that were never put in, one in eight to sixteen seems to have been. */
const BITS_PER_KEY = 8;
const FEWEST_BITS = 2 ** 23;
const MOST_BITS = 2 ** 28;
/** To read all keys costs as much as so many lookups for each of them. */
const LOOKUPS_PER_KEY = 1 / 16;

/**
 * Which (job, task, pe task) the store has no record of, without asking it for each line. `mayHave` never misses one
 * that is there.
 */
interface SeenKeys {
  /** At the beginning of a transaction: what others have added since the last one. */
  readonly refresh: () => void;
  readonly mayHave: (job: number, task: number | null, peTask: string | null) => boolean;
  readonly add: (job: number, task: number | null, peTask: string | null) => void;
  /** At the end of a transaction: all that was inserted in it has been added here. */
  readonly settle: () => void;
  /** After a rollback. */
  readonly forget: () => void;
}

type KeyRow = readonly [number, number | null, string | null];

/**
 * A bitmap of hashed keys in bounded memory. In a store that has records it is filled only when so many lookups were
 * made that reading the index once is cheaper: a night's few lines are looked up one by one.
 */
export function seenKeys(db: Database): SeenKeys {
  const lastId = db.prepare<[], number | null>('SELECT max(id) FROM record').pluck();
  const since = db.prepare<[number], KeyRow>('SELECT job_id, task_id, pe_task_id FROM record WHERE id > ?').raw();
  const all = db.prepare<[], KeyRow>('SELECT job_id, task_id, pe_task_id FROM record INDEXED BY record_by_job').raw();
  let bits: Uint8Array | null = null;
  let mask = 0;
  /** The record with the largest id that is in the bitmap. */
  let known = 0;
  let keys = 0;
  let lookups = 0;

  function place(job: number, task: number | null, peTask: string | null): number {
    let hash = Math.imul(job, 0x9e3779b1) ^ Math.imul((task ?? -1) + 0x7f4a7c15, 0x85ebca6b);
    if (peTask !== null)
      for (let at = 0; at < peTask.length; at++) hash = Math.imul(hash ^ peTask.charCodeAt(at), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
    return (hash ^ (hash >>> 13)) & mask;
  }
  function put(job: number, task: number | null, peTask: string | null): void {
    if (bits === null) return;
    const at = place(job, task, peTask);
    bits[at >>> 3] = (bits[at >>> 3] as number) | (1 << (at & 7));
    keys++;
  }
  function make(size: number): void {
    let wanted = FEWEST_BITS;
    while (wanted < MOST_BITS && wanted < 2 * BITS_PER_KEY * size) wanted *= 2;
    bits = new Uint8Array(wanted / 8);
    mask = wanted - 1;
    keys = 0;
  }
  function fill(last: number): void {
    make(last);
    for (const [job, task, peTask] of all.iterate()) put(job, task, peTask);
    known = last;
  }
  function isCrowded(): boolean {
    return mask + 1 < MOST_BITS && keys * BITS_PER_KEY > mask;
  }

  return {
    refresh() {
      const last = lastId.get() ?? 0;
      if (bits === null) {
        if (last === 0) make(0);
        else if (lookups > last * LOOKUPS_PER_KEY) fill(last);
        known = last;
      } else if (last < known || isCrowded()) fill(last);
      else {
        for (const [job, task, peTask] of since.iterate(known)) put(job, task, peTask);
        known = last;
      }
    },
    mayHave(job, task, peTask) {
      if (bits === null) {
        lookups++;
        return true;
      }
      const at = place(job, task, peTask);
      return ((bits[at >>> 3] as number) & (1 << (at & 7))) !== 0;
    },
    add: put,
    settle() {
      known = lastId.get() ?? 0;
    },
    forget() {
      // What was added and is gone costs lookups, no more.
      known = Math.min(known, lastId.get() ?? 0);
    },
  };
}
