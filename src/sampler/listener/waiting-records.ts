import type { ExitRecord } from '../../sources/events/exit-records';

/** An exit record, decoded only if it is needed. */
export interface SentRecord {
  readonly pid: number;
  /** null: the record is cut off. */
  read(): ExitRecord | null;
}

/** Records whose exit events were lost must not fill the memory. */
const MOST_IDS = 20_000;

/**
 * Exit records that wait for their exit events. One id may have several: a thread that calls exec takes the id of its
 * process from the first thread, which ends by that, with a record of its own.
 */
export class WaitingRecords {
  /** By thread id, those of one id in the order in which the kernel sent them; `look`: in which they came. */
  private readonly waiting = new Map<number, { readonly record: SentRecord; readonly look: number }[]>();
  private look = 0;

  /** Takes the records of one look, before the events of that look are taken. */
  add(records: readonly SentRecord[]): void {
    this.look++;
    for (const record of records) {
      const same = this.waiting.get(record.pid);
      if (same === undefined) this.waiting.set(record.pid, [{ record, look: this.look }]);
      else same.push({ record, look: this.look });
    }
    for (const pid of this.waiting.keys()) {
      if (this.waiting.size <= MOST_IDS) break;
      this.waiting.delete(pid);
    }
  }

  /**
   * The record of the first thread that ended with this id, in process `tgid`; null: none came. The first thread of a
   * process, ended by another one's exec, may have the other's id by the time of its exit event, but not at its record.
   */
  take(pid: number, tgid: number): SentRecord | null {
    const id = this.waiting.has(pid) ? pid : tgid;
    const same = this.waiting.get(id);
    const first = same?.shift();
    if (same?.length === 0) this.waiting.delete(id);
    return first?.record ?? null;
  }

  /**
   * A thread with this id was born: older records are of another one, whose exit event was lost. Those of the look
   * before may be its own, since a look reads the events first.
   */
  born(pid: number): void {
    const same = this.waiting.get(pid);
    if (same === undefined) return;
    const own = same.filter(({ look }) => look >= this.look - 1);
    if (own.length > 0) this.waiting.set(pid, own);
    else this.waiting.delete(pid);
  }
}
