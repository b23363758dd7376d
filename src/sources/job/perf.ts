import { explainPerfError, PerfErrno, perfEventParanoid } from '../../native/perf-error';
import { perfCalls, type PerfCalls } from '../../native/perf-event';
import { readText } from '../files';
import { listsChildren, ProcessFiles } from '../proc/process-files';
import { isUnavailable, unavailable, type Place, type Unavailable } from '../source';
import { resolveEvent, type ResolvedEvent } from './perf-event-names';
import { newLane, readCounter, readingsOf, withoutDescriptors, type Counter } from './perf-counter';
import { openSet } from './perf-counter-set';
import { openGroup, planGroups, splitGroups } from './perf-groups';
import { perfEvents, perfFacts, type PerfReading } from './perf-metrics';

/**
 * The process through which a job is counted: everything that it starts from now on, directly or not, is counted, also
 * after the process has ended. The process itself (the shepherd) is counted a second time alone and subtracted, unless
 * `includeSelf` says that it belongs to the job.
 */
export interface PerfTarget {
  readonly pid: number;
  readonly includeSelf?: boolean;
}

export interface RefusedEvent extends Unavailable {
  readonly event: string;
}

export interface OpenPerf {
  /** The events that are counted, under the names by which they are reported. */
  readonly events: readonly string[];
  /** Those that are not, and why. */
  readonly refused: readonly RefusedEvent[];
  /** What a reader of the figures should know, one line each. */
  readonly notes: readonly string[];
  /** The kernel's share of the work is not counted, for want of permission. */
  readonly userOnly: boolean;
  /** Children that the process already had: they and their descendants are not counted. null: unknown. */
  readonly uncoveredChildren: readonly number[] | null;
  readonly descriptors: number;
  /** What has been counted since it was opened, in the order of `events`. Never throws; goes on when the process is gone. */
  readonly read: () => readonly PerfReading[];
  readonly close: () => void;
}

type PerfPlace = Pick<Place, 'proc' | 'sys'>;

/** These happen in the kernel: an event that leaves the kernel out would count nothing, without an error. */
const KERNEL_EVENTS: readonly string[] = ['context_switches', 'cpu_migrations'];

/** An event that every kernel has, to ask for permission with: page faults. */
const PROBE: ResolvedEvent = {
  name: 'page_faults',
  unit: 'count',
  encodings: [{ type: 1, config: 2n, config1: 0n, config2: 0n, cpus: null }],
};

/** Whether a process can be counted, and whether only without what runs in the kernel. */
function permission(
  pid: number,
  paranoid: number | null,
  calls: PerfCalls,
): { readonly userOnly: boolean } | Unavailable {
  const [probe = []] = planGroups([PROBE]);
  const attempt = (userOnly: boolean): number => {
    const { opened, refused } = openGroup(probe, { pid, inherit: true, userOnly }, calls);
    for (const { fd } of opened) calls.close(fd);
    return refused[0]?.errno ?? 0;
  };
  const errno = attempt(false);
  if (errno === 0) return { userOnly: false };
  if ((errno === PerfErrno.EACCES || errno === PerfErrno.EPERM) && attempt(true) === 0) return { userOnly: true };
  return explainPerfError(errno, `process ${pid}`, paranoid);
}

/** Descriptors that openPerf leaves to the rest of this process, and the most that it takes. */
const LEFT_TO_OTHERS = 256;
const MOST_DESCRIPTORS = 8192;

/** How many descriptors may be taken, from `/proc/self/limits`. */
function descriptorBudget({ proc }: PerfPlace): number {
  const [, soft] = /^Max open files +(\d+)/m.exec(readText(`${proc}/self/limits`) ?? '') ?? [];
  const limit = soft === undefined ? MOST_DESCRIPTORS : Number(soft);
  return Math.min(MOST_DESCRIPTORS, Math.max(Math.floor(limit / 2), limit - LEFT_TO_OTHERS));
}

/** Children of all threads of a process; null if the kernel does not list them. */
const childrenOf = ({ proc }: PerfPlace, pid: number): readonly number[] | null =>
  listsChildren(proc) ? new ProcessFiles(pid, { left: 0 }, proc).children(true) : null;

/** An event with all its names that were asked for: events that mean the same are opened once. */
interface Wanted {
  readonly event: ResolvedEvent;
  readonly names: readonly string[];
}

function uniqueEvents(events: readonly ResolvedEvent[]): readonly Wanted[] {
  const unique = new Map<string, Wanted>();
  for (const event of events) {
    const key = event.encodings
      .map(({ type, config, config1, config2 }) => [type, config, config1, config2].join(':'))
      .join();
    const names = unique.get(key)?.names ?? [];
    if (!names.includes(event.name))
      unique.set(key, { event: unique.get(key)?.event ?? event, names: [...names, event.name] });
  }
  return [...unique.values()];
}

/** How many events, from the first on, fit the budget of descriptors. */
function withinBudget(wanted: readonly Wanted[], cost: (event: ResolvedEvent) => number, budget: number): number {
  let used = 0;
  const tooMany = wanted.findIndex(({ event }) => (used += cost(event)) > budget);
  return tooMany < 0 ? wanted.length : tooMany;
}

/**
 * Starts counting `eventNames` (resolveEvent) for a target. Events that can't be counted are left out and listed in
 * `refused`; Unavailable when none is left. Takes a few milliseconds the first time.
 */
export function openPerf(
  target: PerfTarget,
  eventNames: readonly string[],
  place: PerfPlace,
  calls: PerfCalls = perfCalls,
): OpenPerf | Unavailable {
  const before = childrenOf(place, target.pid);
  const opened = openAt(target, eventNames, place, calls);
  if (isUnavailable(opened)) return opened;
  const after = childrenOf(place, target.pid);
  // A child that was forked in between may be counted or not.
  const uncoveredChildren = before === null || after === null ? null : [...new Set([...before, ...after])];
  return { ...opened, uncoveredChildren };
}

/** The events that can be counted here; the others go into `refused`. */
function countableEvents(
  eventNames: readonly string[],
  place: PerfPlace,
  { userOnly, paranoid }: { readonly userOnly: boolean; readonly paranoid: number | null },
  refused: RefusedEvent[],
): readonly ResolvedEvent[] {
  return eventNames.flatMap((name) => {
    const event = resolveEvent(name, place);
    if (isUnavailable(event)) refused.push({ event: name, ...event });
    else if (userOnly && KERNEL_EVENTS.includes(event.name)) {
      const why = explainPerfError(PerfErrno.EACCES, `${event.name}: counted in the kernel`, paranoid);
      refused.push({ event: event.name, ...why });
    } else return [event];
    return [];
  });
}

/** The events for which there are descriptors, each opened `copies` times; the others go into `refused`. */
function affordableEvents(
  resolved: readonly ResolvedEvent[],
  copies: number,
  place: PerfPlace,
  refused: RefusedEvent[],
): readonly Wanted[] {
  const every = uniqueEvents(resolved);
  const budget = descriptorBudget(place);
  const cost = ({ encodings }: ResolvedEvent): number => copies * encodings.length;
  const affordable = withinBudget(every, cost, budget);
  for (const { event, names } of every.slice(affordable))
    for (const name of names)
      refused.push({
        event: name,
        unavailable: `${name}: needs ${cost(event)} descriptors more, of ${budget} that there may be`,
        fix: 'raise the limit of open files, or name fewer events',
      });
  return every.slice(0, affordable);
}

function openAt(
  { pid, includeSelf = false }: PerfTarget,
  eventNames: readonly string[],
  place: PerfPlace,
  calls: PerfCalls,
): Omit<OpenPerf, 'uncoveredChildren'> | Unavailable {
  const paranoid = perfEventParanoid(place.proc);
  const permitted = permission(pid, paranoid, calls);
  if (isUnavailable(permitted)) return permitted;
  const { userOnly } = permitted;
  const refused: RefusedEvent[] = [];
  const resolved = countableEvents(eventNames, place, { userOnly, paranoid }, refused);
  const wanted = affordableEvents(resolved, includeSelf ? 1 : 2, place, refused);
  const events = wanted.map(({ event }) => event);
  const { groups, split } = splitGroups(planGroups(events), userOnly, calls);
  const set = openSet(events, groups, { pid, inherit: true, userOnly }, calls);
  const ownGroups = groups.map((group) => group.filter(({ event }) => !includeSelf && !set.failed.has(event)));
  const own = openSet(events, ownGroups, { pid, inherit: false, userOnly }, calls);

  let counters = wanted.flatMap(({ event, names }, index): readonly Counter[] => {
    const errno = set.failed.get(index) ?? own.failed.get(index);
    const fds = set.fds[index] ?? [];
    if (errno === undefined)
      return [{ names, unit: event.unit, all: newLane(fds), own: newLane(own.fds[index] ?? []), highest: 0 }];
    for (const name of names) refused.push({ event: name, ...explainPerfError(errno, name, paranoid) });
    for (const fd of fds) calls.close(fd);
    return [];
  });
  const [firstRefusal] = refused;
  if (counters.length === 0)
    return firstRefusal === undefined
      ? unavailable('no perf events are named', 'name some in [sources.perf] events')
      : unavailable(firstRefusal.unavailable, firstRefusal.fix);

  const descriptors = counters.flatMap(({ all, own: self }) => [...all.fds, ...self.fds]);
  const open = new Set(descriptors);
  for (const leader of [...own.leaders, ...set.leaders]) if (open.has(leader)) calls.enable(leader);

  return {
    events: counters.flatMap(({ names }) => names),
    refused,
    notes: [
      ...(userOnly ? ['what runs in the kernel is not counted: no permission'] : []),
      ...(split ? ["the CPU can't count cycles, instructions and misses all at once"] : []),
      ...set.notes,
    ],
    userOnly,
    descriptors: descriptors.length,
    read: () => {
      counters = counters.map((counter) => readCounter(counter, calls));
      return counters.flatMap(readingsOf);
    },
    close: () => {
      for (const fd of open) calls.close(fd);
      open.clear();
      counters = counters.map(withoutDescriptors);
    },
  };
}

/** Which of the configured events would be counted on this machine, tried on the calling process; for doctor. */
export function probePerf(
  place: PerfPlace & Partial<Pick<Place, 'options'>>,
  calls: PerfCalls = perfCalls,
): Pick<OpenPerf, 'events' | 'refused' | 'notes' | 'userOnly'> | Unavailable {
  const names = perfEvents(place.options ?? perfFacts.options);
  const opened = openPerf({ pid: process.pid, includeSelf: true }, names, place, calls);
  if (isUnavailable(opened)) return opened;
  opened.close();
  const { events, refused, notes, userOnly } = opened;
  return { events, refused, notes, userOnly };
}
