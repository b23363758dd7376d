import type { Database } from 'better-sqlite3';

/** Bits for one key: one in eight to sixteen keys that were never added seems to have been. */
const BITS_PER_KEY = 8;
const FEWEST_BITS = 2 ** 23;
const MOST_BITS = 2 ** 28;
/** Reading all keys costs as much as this many lookups per key. */
const LOOKUPS_PER_KEY = 1 / 16;

/**
 * Tells for which (job, task, pe task) the store has no record, without a query for each line. `mayHave` is never false
 * for one that has a record.
 */
interface SeenKeys {
  /** Call it at the beginning of a transaction: adds what others have inserted since the last one. */
  readonly refresh: () => void;
  readonly mayHave: (job: number, task: number | null, peTask: string | null) => boolean;
  readonly add: (job: number, task: number | null, peTask: string | null) => void;
  /** Call it at the end of a transaction, once all that was inserted in it has been added here. */
  readonly settle: () => void;
  /** Call it after a rollback. */
  readonly forget: () => void;
}

type KeyRow = readonly [number, number | null, string | null];

/**
 * A bitmap of hashed keys in bounded memory. If the store has records, the bitmap is filled only after so many lookups
 * that reading the index once is cheaper: a night's few lines are looked up one by one.
 */
export function seenKeys(db: Database): SeenKeys {
  const lastId = db.prepare<[], number | null>('SELECT max(id) FROM record').pluck();
  const since = db.prepare<[number], KeyRow>('SELECT job_id, task_id, pe_task_id FROM record WHERE id > ?').raw();
  const all = db.prepare<[], KeyRow>('SELECT job_id, task_id, pe_task_id FROM record INDEXED BY record_by_job').raw();
  let bits: Uint8Array | null = null;
  let mask = 0;
  /** The largest id of a record that is in the bitmap. */
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
      // Keys that were added and rolled back only cost needless lookups.
      known = Math.min(known, lastId.get() ?? 0);
    },
  };
}
