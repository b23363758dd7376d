import { PerfErrno } from '../../native/perf-error';
import type { PerfCalls } from '../../native/perf-event';
import type { ResolvedEvent } from './perf-event-names';
import { openGroup, type Group, type Location } from './perf-groups';

/**
 * Open descriptors of every event, by its index. `failed`: by the index of an event, the errno that it was given up
 * for.
 */
interface CounterSet {
  readonly fds: readonly (readonly number[])[];
  readonly failed: ReadonlyMap<number, number>;
  readonly notes: readonly string[];
  readonly leaders: readonly number[];
}

const isAbsentCounter = (errno: number): boolean => errno === PerfErrno.ENOENT || errno === PerfErrno.EOPNOTSUPP;

/**
 * Opens groups. An event with a missing counter is given up, unless just one kind of core lacks it and another has it.
 */
export function openSet(
  events: readonly ResolvedEvent[],
  groups: readonly Group[],
  at: Location,
  calls: PerfCalls,
): CounterSet {
  const fds = events.map((): number[] => []);
  const failed = new Map<number, number>();
  const notes = new Set<string>();
  const leaders: number[] = [];
  const missing: { readonly event: number; readonly errno: number }[] = [];
  for (const group of groups) {
    const { opened, refused } = openGroup(group, at, calls);
    for (const { member, fd, leads } of opened) {
      fds[member.event]?.push(fd);
      if (leads) leaders.push(fd);
    }
    missing.push(...refused.map(({ member, errno }) => ({ event: member.event, errno })));
  }
  for (const { event, errno } of missing) {
    if ((fds[event]?.length ?? 0) > 0 && isAbsentCounter(errno))
      notes.add(`${events[event]?.name ?? ''}: counted on one kind of core only`);
    else failed.set(event, errno);
  }
  const given = new Set(fds.filter((_, event) => failed.has(event)).flat());
  for (const fd of given) calls.close(fd);
  return {
    fds: fds.map((of, event) => (failed.has(event) ? [] : of)),
    failed,
    notes: [...notes],
    leaders: leaders.filter((fd) => !given.has(fd)),
  };
}
