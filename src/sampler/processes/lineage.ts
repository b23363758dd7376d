import type { ExitAccount } from '../listener/exit-account';
import { EXIT_FIELDS } from '../listener/exit-account';
import type { ProcessEvent } from '../listener/process-table';
import type { OpenReason } from '../../record/record';
import { markSlackBytes, type CounterPrecision } from '../peaks/slack';
import { newUpperEnds, type LifeEvent, type Sweep, type UpperEnds } from '../peaks/upper-ends';

/** Figures of all processes of a job that have ended, by their exit records: the fields of ExitAccount, added up. */
type ExitSums = Readonly<Record<(typeof EXIT_FIELDS)[number], number>>;

/** A process of the job that has ended. */
interface EndedProcess {
  readonly pid: number;
  /** It executed a program; without, it was a copy of its parent all its life. */
  readonly executed: boolean;
  readonly account: ExitAccount | null;
}

export interface LineageTotals {
  /** Processes that were forked. */
  readonly processes: number;
  readonly ended: number;
  /** Ended without any sample ever having seen them. */
  readonly unsampled: number;
  readonly sums: ExitSums;
  /** Of every process that ended each thread's record came. */
  readonly whole: boolean;
}

/** One job's processes as the kernel tells of them: who was forked, who executed, what those had who ended. */
export interface Lineage {
  /** The job's first process. */
  root(pid: number): void;
  /** Any events, also of other jobs; they wait for the next `settle`. */
  events(events: readonly ProcessEvent[]): void;
  /** Another listener, or the same one anew, tells from now on: what it remembers of before is known already. */
  again(): void;
  /** When a process was forked that no settle has taken in yet (µs of the monotonic clock); null: that was not heard. */
  forkedAt(pid: number): number | null;
  /** The events are not complete any more. */
  open(reason: OpenReason): void;
  /**
   * Takes one sweep and all events until its end. `ended`: the processes that ended since the last time; `adopted`: those
   * that no fork explains, of whose descendants nothing may have been heard.
   */
  settle(sweep: Sweep): { readonly ended: readonly EndedProcess[]; readonly adopted: readonly number[] };
  isLiving(pid: number): boolean;
  /** The processes that live, as far as the events tell. */
  living(): Iterable<number>;
  totals(): LineageTotals;
  readonly upper: UpperEnds;
  /** For a successor process. */
  save(): unknown;
  /** Minor faults of every process that ended and had replaced one program by another; the job's first process aside. */
  readonly replacerFaults: () => number | null;
}

interface Member {
  executed: boolean;
  sampled: boolean;
}

interface Saved {
  /** Time of the last event. */
  readonly latest: number;
  readonly members: readonly (readonly [number, Member])[];
  readonly upper: unknown;
  readonly totals: LineageTotals;
}

const noSums = (): Record<(typeof EXIT_FIELDS)[number], number> =>
  Object.fromEntries(EXIT_FIELDS.map((field) => [field, 0])) as Record<(typeof EXIT_FIELDS)[number], number>;

export function newLineage(precision: CounterPrecision, saved: unknown = null): Lineage {
  const state = saved as Saved | null;
  const upper = newUpperEnds(state?.upper ?? null);
  const members = new Map<number, Member>(state?.members ?? []);
  const sums = { ...(state?.totals.sums ?? noSums()) };
  let processes = state?.totals.processes ?? 0;
  let ended = state?.totals.ended ?? 0;
  let unsampled = state?.totals.unsampled ?? 0;
  let whole = state?.totals.whole ?? true;
  let rootPid: number | null = null;
  let waiting: ProcessEvent[] = [];
  let latest = state?.latest ?? 0;
  /** Events until then have been given before. */
  let knownUntil = 0;
  /** Smallest sum of faults of a process that replaced a program; null: none did, or one left no record. */
  let replacerFaults: number | null = null;

  function add(account: ExitAccount | null): void {
    ended++;
    whole &&= account?.whole ?? false;
    if (account !== null) for (const field of EXIT_FIELDS) sums[field] += account[field];
  }

  function take(event: ProcessEvent): EndedProcess | null {
    if (event.kind === 'fork') {
      if (members.has(event.parent) || event.child === rootPid) {
        // One that was adopted may be told of afterwards.
        if (!members.has(event.child)) processes++;
        members.set(event.child, { executed: false, sampled: false });
      }
      return null;
    }
    const member = members.get(event.pid);
    if (member === undefined) return null;
    if (event.kind === 'exec') {
      member.executed = true;
      return null;
    }
    members.delete(event.pid);
    add(event.account);
    if (!member.sampled) unsampled++;
    return { pid: event.pid, executed: member.executed, account: event.account };
  }

  /** Processes that were there before the events were heard, or came in some other way; their children count from now. */
  function adopt(sweep: Sweep, events: readonly ProcessEvent[]): readonly number[] {
    const adopted: number[] = [];
    const forked = new Set(events.map((event) => (event.kind === 'fork' ? event.child : 0)));
    for (const { pid, forkedNoExec } of sweep.readings) {
      if (members.has(pid) || forked.has(pid)) continue;
      members.set(pid, { executed: !forkedNoExec, sampled: true });
      processes++;
      adopted.push(pid);
    }
    return adopted;
  }

  function lifeEvent(event: ProcessEvent): LifeEvent {
    if (event.kind !== 'exit') return event;
    const { at, pid, account } = event;
    return {
      kind: 'exit',
      at,
      pid,
      marks:
        account?.final === true
          ? { rss: account.rssBytes + markSlackBytes(precision, account.threads), vmem: account.vmBytes }
          : null,
    };
  }

  return {
    root: (pid) => {
      rootPid = pid;
      upper.root(pid);
    },
    events: (events) => {
      for (const event of events) {
        // Now and then an event overtakes another one: nothing but what is told again may be left out for its time.
        if (event.at <= knownUntil) continue;
        latest = Math.max(latest, event.at);
        waiting.push(event);
      }
    },
    again: () => {
      knownUntil = latest;
    },
    forkedAt: (pid) => waiting.findLast((event) => event.kind === 'fork' && event.child === pid)?.at ?? null,
    open: (reason) => {
      upper.open(reason);
    },
    settle: (sweep) => {
      const events = waiting.sort((a, b) => a.at - b.at);
      waiting = [];
      const adopted = adopt(sweep, events);
      const gone: EndedProcess[] = [];
      for (const event of events) {
        const one = take(event);
        if (one !== null) gone.push(one);
      }
      for (const { pid } of sweep.readings) {
        const member = members.get(pid);
        if (member !== undefined) member.sampled = true;
      }
      upper.events(events.map(lifeEvent));
      upper.sweep(sweep);
      const replacers = upper.replacers();
      for (const { pid, account } of gone)
        if (replacers.has(pid)) replacerFaults = Math.min(replacerFaults ?? Infinity, account?.minorFaults ?? 0);
      return { ended: gone, adopted };
    },
    isLiving: (pid) => members.has(pid),
    living: () => members.keys(),
    totals: () => ({ processes, ended, unsampled, sums: { ...sums }, whole }),
    upper,
    replacerFaults: () => replacerFaults,
    save: (): Saved => ({
      latest,
      members: [...members],
      upper: upper.save(),
      totals: { processes, ended, unsampled, sums, whole: false },
    }),
  };
}
