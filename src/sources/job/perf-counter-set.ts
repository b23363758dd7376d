import { PerfErrno } from '../../native/perf-error';
import type { PerfCalls } from '../../native/perf-event';
import type { Lane } from './perf-counter';
import type { ResolvedEvent } from './perf-event-names';
import { openGroup, type Group, type Location } from './perf-groups';
import { NOTHING_COUNTED } from './perf-scale';

/** What was opened of every event, by its index; a map entry of `failed` is the errno that it was given up for. */
interface CounterSet {
  readonly lanes: readonly (readonly Lane[])[];
  readonly failed: ReadonlyMap<number, number>;
  readonly notes: readonly string[];
  readonly leaders: readonly number[];
}

const here = (group: Group, cpu: number): Group =>
  cpu < 0 ? group : group.filter(({ encoding }) => encoding.cpus?.includes(cpu) ?? true);

const isAbsentCounter = (errno: number): boolean => errno === PerfErrno.ENOENT || errno === PerfErrno.EOPNOTSUPP;
const isOfflineCpu = (errno: number): boolean => errno === PerfErrno.ENODEV || errno === PerfErrno.ENXIO;

/** Opens groups at every location. An event that is missing anywhere is given up, but for CPUs that have gone offline. */
export function openSet(
  events: readonly ResolvedEvent[],
  groups: readonly Group[],
  locations: readonly Location[],
  calls: PerfCalls,
): CounterSet {
  const lanes = events.map((): Lane[] => []);
  const failed = new Map<number, number>();
  const notes = new Set<string>();
  const leaders: number[] = [];
  const everyFd: { readonly event: number; readonly fd: number }[] = [];
  for (const at of locations) {
    const fdsOfEvent = events.map((): number[] => []);
    const missing: { readonly event: number; readonly errno: number }[] = [];
    for (const group of groups) {
      const { opened, refused } = openGroup(here(group, at.cpu), at, calls);
      for (const { member, fd, leads } of opened) {
        fdsOfEvent[member.event]?.push(fd);
        everyFd.push({ event: member.event, fd });
        if (leads) leaders.push(fd);
      }
      missing.push(...refused.map(({ member, errno }) => ({ event: member.event, errno })));
    }
    for (const { event, errno } of missing) {
      const others = fdsOfEvent[event]?.length ?? 0;
      if (at.cpu >= 0 && isOfflineCpu(errno)) notes.add(`CPU ${at.cpu} is offline: not counted`);
      else if (others > 0 && isAbsentCounter(errno))
        notes.add(`${events[event]?.name ?? ''}: counted on one kind of core only`);
      else failed.set(event, errno);
    }
    fdsOfEvent.forEach((fds, event) => {
      if (fds.length > 0) lanes[event]?.push({ fds, sum: NOTHING_COUNTED });
    });
  }
  lanes.forEach((of, event) => {
    if (of.length === 0 && !failed.has(event)) failed.set(event, PerfErrno.ENODEV);
  });
  for (const { event, fd } of everyFd) if (failed.has(event)) calls.close(fd);
  const given = new Set(everyFd.filter(({ event }) => failed.has(event)).map(({ fd }) => fd));
  return {
    lanes: lanes.map((of, event) => (failed.has(event) ? [] : of)),
    failed,
    notes: [...notes],
    leaders: leaders.filter((fd) => !given.has(fd)),
  };
}
