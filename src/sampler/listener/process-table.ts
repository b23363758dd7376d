import type { ExitRecord } from '../../sources/events/exit-records';
import type { OomKill } from '../../sources/events/oom-kills';
import type { ThreadEvent } from '../../sources/events/process-events';
import { addThread, type ExitAccount } from './exit-account';
import { WaitingRecords, type SentRecord } from './waiting-records';

/** The kernel's events of whole processes; microseconds of the monotonic clock. */
export type ProcessEvent =
  | {
      readonly kind: 'fork';
      readonly at: number;
      readonly parent: number;
      readonly child: number;
      readonly thread: number;
    }
  | { readonly kind: 'exec'; readonly at: number; readonly pid: number }
  | ProcessExit;

interface ProcessExit {
  readonly kind: 'exit';
  readonly at: number;
  readonly pid: number;
  /** null: no exit record of any thread came. */
  readonly account: ExitAccount | null;
  /** null: the OOM killer did not end it, as far as the kernel's log could be read. */
  readonly oomKill: OomKill | null;
}

export type ProcessTable = ReturnType<typeof newProcessTable>;

interface Entry {
  threads: Set<number>;
  most: number;
  account: ExitAccount | null;
  oomKill: OomKill | null;
  /** Some threads ended without a record. */
  missing: boolean;
}

/** The end of a process that always had one thread, as most: its record is read when somebody asks for the account. */
class LoneExit {
  readonly kind = 'exit';
  private known: ExitAccount | null = null;

  constructor(
    readonly at: number,
    readonly pid: number,
    readonly oomKill: OomKill | null,
    private record: SentRecord | null,
  ) {}

  get account(): ExitAccount | null {
    const record = this.record?.read() ?? null;
    if (record !== null) this.known = addThread(null, record, this.pid, 1);
    this.record = null;
    return this.known;
  }
}

const newEntry = (tids: readonly number[]): Entry => ({
  threads: new Set(tids),
  most: tids.length,
  account: null,
  oomKill: null,
  missing: false,
});

const withoutMarks = <Figures extends ExitAccount | ExitRecord>(figures: Figures): Figures => ({
  ...figures,
  rssBytes: 0,
  vmBytes: 0,
});

/**
 * Turns events of threads into events of processes: a process ends with the last of its threads, which need not be its
 * first. `existing`: threads of the processes that were there before the first event (single-threaded ones may be left
 * out). `oomKillOf`: why the OOM killer ended a thread.
 */
export function newProcessTable(
  existing: ReadonlyMap<number, readonly number[]>,
  oomKillOf: (pid: number) => OomKill | null = () => null,
) {
  const entries = new Map<number, Entry>();
  const records = new WaitingRecords();
  for (const [tgid, tids] of existing) entries.set(tgid, newEntry(tids));

  function entryOf(tgid: number): Entry {
    let entry = entries.get(tgid);
    if (entry === undefined) {
      entry = newEntry([tgid]);
      entries.set(tgid, entry);
    }
    return entry;
  }

  function take(event: ThreadEvent): ProcessEvent | null {
    const { at } = event;
    if (event.kind === 'fork') {
      records.born(event.childPid);
      if (event.childPid !== event.childTgid) {
        const entry = entryOf(event.childTgid);
        entry.threads.add(event.childPid);
        entry.most = Math.max(entry.most, entry.threads.size);
        return null;
      }
      entries.delete(event.childTgid);
      return { kind: 'fork', at, parent: event.parentTgid, child: event.childTgid, thread: event.parentPid };
    }
    if (event.kind === 'exec') {
      // The thread that called exec now has the process's pid, and is its only thread. Marks are the next program's.
      const entry = entries.get(event.tgid);
      if (entry !== undefined) {
        entry.threads = new Set([event.tgid]);
        if (entry.account !== null) entry.account = withoutMarks(entry.account);
      }
      return { kind: 'exec', at, pid: event.tgid };
    }
    const sent = records.take(event.pid, event.tgid);
    const oomKill = oomKillOf(event.pid);
    const entry = entries.get(event.tgid);
    if (entry === undefined) {
      // It had one thread from beginning to end, as most processes have.
      if (event.pid !== event.tgid) return null;
      return new LoneExit(at, event.tgid, oomKill, sent);
    }
    const read = sent?.read() ?? null;
    // Not one of its threads: it belonged to the program that an exec has replaced.
    const record = entry.threads.delete(event.pid) || read === null ? read : withoutMarks(read);
    entry.oomKill ??= oomKill;
    if (record !== null || entry.account !== null)
      entry.account = addThread(entry.account, record, event.tgid, entry.most);
    if (record === null) entry.missing = true;
    if (entry.threads.size > 0) return null;
    entries.delete(event.tgid);
    const { account } = entry;
    return {
      kind: 'exit',
      at,
      pid: event.tgid,
      account: account === null ? null : { ...account, whole: account.whole && !entry.missing },
      oomKill: entry.oomKill,
    };
  }

  return {
    /** Takes exit records, before the exit events that belong to them. */
    records: (given: readonly SentRecord[]): void => records.add(given),
    /** Takes events of threads, in the order of time. */
    events: (given: readonly ThreadEvent[]): readonly ProcessEvent[] =>
      given.map(take).filter((event) => event !== null),
  };
}
