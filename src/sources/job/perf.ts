import { explainPerfError, PerfErrno, perfEventParanoid } from '../../native/perf-error';
import { perfCalls, type PerfCalls } from '../../native/perf-event';
import { parseCpuList } from '../cpu-list';
import { listNames, readText } from '../files';
import { isUnavailable, unavailable, type Place, type Unavailable } from '../source';
import { resolveEvent, type ResolvedEvent } from './perf-event-names';
import { descriptorsOf, readCounter, readingsOf, withoutDescriptors, type Counter } from './perf-counter';
import { openSet } from './perf-counter-set';
import { openGroup, planGroups, splitGroups, type Location } from './perf-groups';
import { perfEvents, perfFacts, type PerfReading } from './perf-metrics';

/**
 * Counters of one job. On a process: what it starts from now on, and what that starts, is counted, also after it has
 * ended; the process itself (the shepherd) is counted a second time by itself and subtracted, unless `includeSelf` says
 * that it belongs to the job. On a cgroup: whatever runs in it or below, one counter per event and CPU.
 */
export type PerfTarget =
  | { readonly pid: number; readonly inherit: true; readonly includeSelf?: boolean }
  | { readonly cgroupDirectory: string };

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
  /** Children that the process had already: they and theirs are not counted. null: unknown; a cgroup has none. */
  readonly uncoveredChildren: readonly number[] | null;
  readonly descriptors: number;
  /** What has been counted since it was opened, in the order of `events`. Never throws; goes on when the process is gone. */
  readonly read: () => readonly PerfReading[];
  readonly close: () => void;
}

type PerfPlace = Pick<Place, 'proc' | 'sys'>;

const EVERYWHERE = { pid: -1, cpu: -1, inherit: false, cgroup: false, userOnly: false } as const;

/** These happen in the kernel: an event that leaves the kernel out would count nothing, without an error. */
const KERNEL_EVENTS: readonly string[] = ['context_switches', 'cpu_migrations'];

/** An event that every kernel has, to ask for permission with: page faults. */
const PROBE: ResolvedEvent = {
  name: 'page_faults',
  unit: 'count',
  encodings: [{ type: 1, config: 2n, config1: 0n, config2: 0n, cpus: null }],
};

/** Whether the target can be counted, and how. */
function permission(at: Location, about: string, paranoid: number | null, calls: PerfCalls): Location | Unavailable {
  const [probe = []] = planGroups([PROBE]);
  const attempt = (location: Location): number => {
    const { opened, refused } = openGroup(probe, location, calls);
    for (const { fd } of opened) calls.close(fd);
    return refused[0]?.errno ?? 0;
  };
  const errno = attempt(at);
  if (errno === 0) return at;
  if (errno === PerfErrno.EACCES || errno === PerfErrno.EPERM) {
    const userOnly = { ...at, userOnly: true };
    if (attempt(userOnly) === 0) return userOnly;
  }
  if (errno === PerfErrno.ENOENT && at.cgroup)
    return unavailable(
      `${about}: perf events don't know this cgroup`,
      'with cgroup v1: mount the perf_event hierarchy and give the job a cgroup in it',
    );
  return explainPerfError(errno, about, paranoid);
}

/** Descriptors that openPerf leaves to others, and the most that it takes. */
const LEFT_TO_OTHERS = 256;
const MOST_DESCRIPTORS = 8192;

/** How many descriptors may be taken, from `/proc/self/limits`. */
function descriptorBudget({ proc }: PerfPlace): number {
  const [, soft] = /^Max open files +(\d+)/m.exec(readText(`${proc}/self/limits`) ?? '') ?? [];
  const limit = soft === undefined ? MOST_DESCRIPTORS : Number(soft);
  return Math.min(MOST_DESCRIPTORS, Math.max(Math.floor(limit / 2), limit - LEFT_TO_OTHERS));
}

/** Children of a process, those of all its threads; null where the kernel doesn't have it. */
function childrenOf({ proc }: PerfPlace, pid: number): readonly number[] | null {
  const texts = listNames(`${proc}/${pid}/task`).map((thread) => readText(`${proc}/${pid}/task/${thread}/children`));
  if (texts.length === 0 || texts.includes(null)) return null;
  return texts.flatMap((text) =>
    (text ?? '')
      .split(' ')
      .filter((word) => /^\d+$/.test(word))
      .map(Number),
  );
}

/** Events that mean the same are opened once. */
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

/** As many events, from the first on, as there may be descriptors. */
function withinBudget(wanted: readonly Wanted[], cost: (event: ResolvedEvent) => number, budget: number): number {
  let used = 0;
  const tooMany = wanted.findIndex(({ event }) => (used += cost(event)) > budget);
  return tooMany < 0 ? wanted.length : tooMany;
}

interface Aim {
  readonly about: string;
  /** First where permission is asked. */
  readonly locations: readonly [Location, ...Location[]];
  readonly self: Location | null;
  readonly close: () => void;
}

function aimAtProcess(pid: number, includeSelf: boolean): Aim {
  return {
    about: `process ${pid}`,
    locations: [{ ...EVERYWHERE, pid, inherit: true }],
    self: includeSelf ? null : { ...EVERYWHERE, pid },
    close: () => undefined,
  };
}

function aimAtCgroup(directory: string, { sys }: PerfPlace, calls: PerfCalls): Aim | Unavailable {
  const file = `${sys}/devices/system/cpu/online`;
  const [first, ...others] = parseCpuList(readText(file) ?? '') ?? [];
  if (first === undefined) return unavailable(`${file} holds no CPU`);
  const fd = calls.openDirectory(directory);
  if (fd < 0) return explainPerfError(fd === -PerfErrno.ENOENT ? PerfErrno.EBADF : -fd, directory);
  const on = (cpu: number): Location => ({ ...EVERYWHERE, pid: fd, cpu, cgroup: true });
  return { about: directory, locations: [on(first), ...others.map(on)], self: null, close: () => calls.close(fd) };
}

/**
 * Starts counting `eventNames` (resolveEvent) for a target. Events that can't be had are left out and listed; Unavailable
 * when none is left. Takes a few milliseconds the first time.
 */
export function openPerf(
  target: PerfTarget,
  eventNames: readonly string[],
  place: PerfPlace,
  calls: PerfCalls = perfCalls,
): OpenPerf | Unavailable {
  const aim =
    'pid' in target
      ? aimAtProcess(target.pid, target.includeSelf ?? false)
      : aimAtCgroup(target.cgroupDirectory, place, calls);
  if (isUnavailable(aim)) return aim;
  try {
    const before = 'pid' in target ? childrenOf(place, target.pid) : [];
    const opened = openAt(aim, eventNames, place, calls);
    if (isUnavailable(opened)) return opened;
    const after = 'pid' in target ? childrenOf(place, target.pid) : [];
    // One that was forked in between may be counted or not.
    const uncoveredChildren = before === null || after === null ? null : [...new Set([...before, ...after])];
    return { ...opened, uncoveredChildren };
  } finally {
    aim.close();
  }
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

/** As many of the events as there are descriptors for; the others go into `refused`. */
function affordableEvents(
  resolved: readonly ResolvedEvent[],
  aim: Aim,
  place: PerfPlace,
  refused: RefusedEvent[],
): readonly Wanted[] {
  const every = uniqueEvents(resolved);
  const budget = descriptorBudget(place);
  const copies = aim.locations.length + (aim.self === null ? 0 : 1);
  const cost = ({ encodings }: ResolvedEvent): number =>
    aim.locations.length > 1 ? copies : copies * encodings.length;
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
  aim: Aim,
  eventNames: readonly string[],
  place: PerfPlace,
  calls: PerfCalls,
): Omit<OpenPerf, 'uncoveredChildren'> | Unavailable {
  const paranoid = perfEventParanoid(place.proc);
  const permitted = permission(aim.locations[0], aim.about, paranoid, calls);
  if (isUnavailable(permitted)) return permitted;
  const { userOnly } = permitted;
  const refused: RefusedEvent[] = [];
  const resolved = countableEvents(eventNames, place, { userOnly, paranoid }, refused);
  const wanted = affordableEvents(resolved, aim, place, refused);
  const events = wanted.map(({ event }) => event);
  const { groups, split } = splitGroups(planGroups(events), userOnly, calls);
  const set = openSet(
    events,
    groups,
    aim.locations.map((at) => ({ ...at, userOnly })),
    calls,
  );
  const ownGroups = groups.map((group) => group.filter(({ event }) => !set.failed.has(event)));
  const own = aim.self === null ? null : openSet(events, ownGroups, [{ ...aim.self, userOnly }], calls);

  let counters = wanted.flatMap(({ event, names }, index): readonly Counter[] => {
    const errno = set.failed.get(index) ?? own?.failed.get(index);
    const lanes = set.lanes[index] ?? [];
    if (errno === undefined) return [{ names, unit: event.unit, lanes, own: own?.lanes[index] ?? [], highest: 0 }];
    for (const name of names) refused.push({ event: name, ...explainPerfError(errno, name, paranoid) });
    for (const fd of descriptorsOf(lanes)) calls.close(fd);
    return [];
  });
  const [firstRefusal] = refused;
  if (counters.length === 0)
    return firstRefusal === undefined
      ? unavailable('no perf events are named', 'name some in [sources.perf] events')
      : unavailable(firstRefusal.unavailable, firstRefusal.fix);

  const descriptors = counters.flatMap(({ lanes, own: self }) => [...descriptorsOf(lanes), ...descriptorsOf(self)]);
  const open = new Set(descriptors);
  for (const leader of [...(own?.leaders ?? []), ...set.leaders]) if (open.has(leader)) calls.enable(leader);

  return {
    events: counters.flatMap(({ names }) => names),
    refused,
    notes: [
      ...(userOnly ? ['what runs in the kernel is not counted: no permission'] : []),
      ...(split ? ['the CPU can’t count cycles, instructions and misses all at once'] : []),
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
  const opened = openPerf({ pid: process.pid, inherit: true, includeSelf: true }, names, place, calls);
  if (isUnavailable(opened)) return opened;
  opened.close();
  const { events, refused, notes, userOnly } = opened;
  return { events, refused, notes, userOnly };
}
