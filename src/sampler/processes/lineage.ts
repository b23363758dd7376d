import { RECORD_FIGURES } from '../../sources/events/exit-records';
import type { OomKill } from '../../sources/events/oom-kills';
import type { ExitAccount } from '../listener/exit-account';
import { EXIT_FIELDS } from '../listener/exit-account';
import type { ProcessEvent } from '../listener/process-table';
import { boolean, integer, list, number, object, type Shape, type ValueOf } from '../../base/shape';
import { markSlackBytes, type CounterPrecision } from '../peaks/slack';
import { SAVED_UPPER_ENDS, UpperEnds, type LifeEvent, type Sweep } from '../peaks/upper-ends';

type ExitField = (typeof EXIT_FIELDS)[number];

const eachField = <T>(value: T): Record<ExitField, T> =>
  Object.fromEntries(EXIT_FIELDS.map((field) => [field, value])) as Record<ExitField, T>;

const TOTALS = object({
  /** Processes that were forked. */
  processes: integer(0),
  ended: integer(0),
  /** Ended without any sample ever having seen them. */
  unsampled: integer(0),
  /** Figures of all processes that have ended, by their exit records. */
  sums: object(eachField<Shape<number>>(number())),
  /** For every process that ended, the records of all its threads came. */
  whole: boolean,
  /** Ended by the kernel's OOM killer, for a full control group, and for lack of memory on the node. */
  oomKills: object({ cgroup: integer(0), node: integer(0) }),
});
export type LineageTotals = ValueOf<typeof TOTALS>;

/** What a successor process gets. */
export const SAVED_LINEAGE = object({
  /** Time of the last event. */
  latest: number(0),
  members: list(object({ pid: integer(0), executed: boolean, sampled: boolean }), 2 ** 22),
  upper: SAVED_UPPER_ENDS,
  totals: TOTALS,
});
type SavedLineage = ValueOf<typeof SAVED_LINEAGE>;

/** A process of the job that has ended. */
interface EndedProcess {
  readonly pid: number;
  /** false: it was a copy of its parent all its life. */
  readonly executed: boolean;
  readonly account: ExitAccount | null;
}

interface Member {
  /** Microseconds of the monotonic clock; null: its fork was not heard. */
  readonly forkedAt: number | null;
  executed: boolean;
  sampled: boolean;
}

/** One job's processes by the kernel's events: which were forked or executed a program, and figures of ended ones. */
export class Lineage {
  readonly upper: UpperEnds;
  private readonly members = new Map<number, Member>();
  private readonly sums: Record<ExitField, number>;
  private processes: number;
  private ended: number;
  private unsampled: number;
  private whole: boolean;
  private readonly oomKills: Record<OomKill, number>;
  private rootPid: number | null = null;
  /** The shepherd, whose fork of the first process was heard. */
  private shepherd: number | null = null;
  /** Events that the next `settle` takes. */
  private waiting: ProcessEvent[] = [];
  /** Time of the last event. */
  private latest: number;
  /** Events up to this time have been taken before. */
  private knownUntil: number;

  /** `elsewhere`: another account has the events up to this time (µs of the monotonic clock); 0: there is none. */
  constructor(
    private readonly precision: CounterPrecision,
    saved: SavedLineage | null = null,
    private readonly elsewhere = 0,
  ) {
    this.knownUntil = elsewhere;
    this.upper = new UpperEnds(saved?.upper);
    for (const { pid, executed, sampled } of saved?.members ?? [])
      this.members.set(pid, { forkedAt: null, executed, sampled });
    this.sums = { ...(saved?.totals.sums ?? eachField(0)) };
    this.processes = saved?.totals.processes ?? 0;
    this.ended = saved?.totals.ended ?? 0;
    this.unsampled = saved?.totals.unsampled ?? 0;
    this.whole = saved?.totals.whole ?? true;
    this.oomKills = { ...(saved?.totals.oomKills ?? { cgroup: 0, node: 0 }) };
    this.latest = saved?.latest ?? 0;
  }

  /** Sets the job's first process. */
  setRoot(pid: number): void {
    this.rootPid = pid;
    this.upper.setRoot(pid);
  }

  /** Takes any events, also of other jobs; they wait for the next `settle`. */
  addEvents(events: readonly ProcessEvent[]): void {
    for (const event of events) {
      // Events may come out of order, so the time alone excludes only those that are sent again.
      if (event.at <= this.knownUntil) continue;
      this.latest = Math.max(this.latest, event.at);
      this.waiting.push(event);
    }
  }

  /** A new connection to a listener sends events from now on: older ones, which it repeats, are known already. */
  again(): void {
    this.knownUntil = Math.max(this.knownUntil, this.latest);
  }

  /** When a process was forked, by events that still wait for `settle` (µs of the monotonic clock); null: not heard. */
  forkedAt(pid: number): number | null {
    return this.waiting.findLast((event) => event.kind === 'fork' && event.child === pid)?.at ?? null;
  }

  /**
   * Takes one sweep and all events before the next one, which began at `until`. `ended`: processes that ended since the
   * last call; `adopted`: pids that no fork explains, whose descendants may not have been heard.
   */
  settle(
    sweep: Sweep,
    until = Infinity,
  ): { readonly ended: readonly EndedProcess[]; readonly adopted: readonly number[] } {
    const events = this.waiting.filter(({ at }) => at < until).sort((a, b) => a.at - b.at);
    this.waiting = this.waiting.filter(({ at }) => at >= until);
    const adopted = this.adopt(sweep, events);
    const ended: EndedProcess[] = [];
    for (const event of events) {
      const one = this.take(event);
      if (one !== null) ended.push(one);
    }
    for (const { pid } of sweep.readings) {
      const member = this.members.get(pid);
      if (member !== undefined) member.sampled = true;
    }
    this.upper.addEvents(events.map((event) => this.toLifeEvent(event)));
    this.upper.addSweep(sweep);
    return { ended, adopted };
  }

  isLiving(pid: number): boolean {
    return this.members.has(pid);
  }

  /** The processes that are alive by the events, by pid. */
  living(): ReadonlyMap<number, Pick<Member, 'forkedAt'>> {
    return this.members;
  }

  totals(): LineageTotals {
    const { processes, ended, unsampled, whole } = this;
    return { processes, ended, unsampled, sums: { ...this.sums }, whole, oomKills: { ...this.oomKills } };
  }

  save(): SavedLineage {
    return {
      latest: this.latest,
      members: [...this.members].map(([pid, { executed, sampled }]) => ({ pid, executed, sampled })),
      upper: this.upper.save(),
      totals: { ...this.totals(), whole: false },
    };
  }

  /** Adds processes without a fork event: older than the first event, or of unknown origin. Their later forks count. */
  private adopt(sweep: Sweep, events: readonly ProcessEvent[]): readonly number[] {
    const adopted: number[] = [];
    const forked = new Set(events.map((event) => (event.kind === 'fork' ? event.child : 0)));
    for (const { pid, forkedNoExec } of sweep.readings) {
      if (this.members.has(pid) || forked.has(pid)) continue;
      this.members.set(pid, { forkedAt: null, executed: !forkedNoExec, sampled: true });
      if (this.elsewhere === 0) this.processes++;
      adopted.push(pid);
    }
    return adopted;
  }

  private take(event: ProcessEvent): EndedProcess | null {
    const { members } = this;
    if (event.kind === 'fork') {
      if (event.child === this.rootPid) this.shepherd = event.parent;
      // While the first process lives, the shepherd forks nothing: that process made the child, by clone(CLONE_PARENT).
      else if (event.parent === this.shepherd && members.has(this.rootPid ?? 0)) this.upper.open('unknown-origin');
      if (members.has(event.parent) || event.child === this.rootPid) {
        // The fork event of an adopted process may come afterwards.
        if (!members.has(event.child)) this.processes++;
        members.set(event.child, { forkedAt: event.at, executed: false, sampled: false });
      }
      return null;
    }
    const { pid } = event;
    const member = members.get(pid);
    if (member === undefined) return null;
    if (event.kind === 'exec') {
      member.executed = true;
      return null;
    }
    const { account, oomKill } = event;
    members.delete(pid);
    this.ended++;
    if (!member.sampled) this.unsampled++;
    if (oomKill !== null) this.oomKills[oomKill]++;
    this.whole &&= account?.whole ?? false;
    if (account !== null) for (const field of EXIT_FIELDS) this.sums[field] += account[field];
    return { pid, executed: member.executed, account };
  }

  private toLifeEvent(event: ProcessEvent): LifeEvent {
    if (event.kind !== 'exit') return event;
    const { at, pid, account } = event;
    const minorFaults = account?.minorFaults ?? 0;
    if (account?.final !== true) return { kind: 'exit', at, pid, marks: null, minorFaults };
    const rss = account.rssBytes + markSlackBytes(this.precision, account.threads);
    return { kind: 'exit', at, pid, marks: { rss, vmem: account.vmBytes }, minorFaults };
  }
}

const ns = (value: number): number => Math.round(value / 1e6) / 1000;
const us = (value: number): number => Math.round(value / 1e6);

/**
 * What the kernel's events and exit records say of the whole job, under the metric names of the `taskstats` source. If
 * processes ended and no record came, there are only the counts.
 */
export function lineageMetrics({
  processes,
  ended,
  unsampled,
  sums,
  oomKills,
}: LineageTotals): Readonly<Record<string, number>> {
  const counts = {
    ...(oomKills.cgroup > 0 ? { taskstats_cgroup_oom_kills: oomKills.cgroup } : {}),
    ...(oomKills.node > 0 ? { taskstats_node_oom_kills: oomKills.node } : {}),
    taskstats_processes: processes,
    taskstats_ended_processes: ended,
    taskstats_unsampled_processes: unsampled,
  };
  if (ended > 0 && RECORD_FIGURES.every((figure) => sums[figure] === 0)) return counts;
  return {
    ...counts,
    taskstats_cpu_seconds: ns(sums.cpuNs),
    taskstats_minor_faults: sums.minorFaults,
    taskstats_major_faults: sums.majorFaults,
    taskstats_read_chars_bytes: sums.readChars,
    taskstats_write_chars_bytes: sums.writeChars,
    taskstats_read_syscalls: sums.readSyscalls,
    taskstats_write_syscalls: sums.writeSyscalls,
    taskstats_read_bytes: sums.readBytes,
    taskstats_write_bytes: sums.writeBytes,
    taskstats_cancelled_write_bytes: sums.cancelledWriteBytes,
    taskstats_voluntary_switches: sums.voluntarySwitches,
    taskstats_involuntary_switches: sums.involuntarySwitches,
    taskstats_rss_byte_seconds: us(sums.rssByteUs),
    taskstats_vmem_byte_seconds: us(sums.vmByteUs),
    taskstats_cpu_delay_seconds: ns(sums.cpuDelayNs),
    taskstats_block_io_delay_seconds: ns(sums.blockIoDelayNs),
    taskstats_swap_in_delay_seconds: ns(sums.swapInDelayNs),
    taskstats_free_pages_delay_seconds: ns(sums.freePagesDelayNs),
    taskstats_thrashing_delay_seconds: ns(sums.thrashingDelayNs),
    taskstats_compact_delay_seconds: ns(sums.compactDelayNs),
  };
}
