import type { ProcessEvent } from './process-table';

const KEPT_US = 60_000_000;
const MOST_EVENTS = 60_000;

/**
 * The last events of the whole machine: a sampler that comes late gets from here what its job did before. Bounded by
 * age and by number.
 */
export function newHistory() {
  let events: ProcessEvent[] = [];
  let first = 0;
  return {
    add: (event: ProcessEvent): void => {
      events.push(event);
      while (first < events.length - MOST_EVENTS || (events[first]?.at ?? Infinity) < event.at - KEPT_US) first++;
      if (first > MOST_EVENTS) {
        events = events.slice(first);
        first = 0;
      }
    },
    /** Events were lost at `at`: what is older is no longer complete. */
    lost: (at: number): void => {
      while (first < events.length && (events[first]?.at ?? Infinity) <= at) first++;
    },
    /**
     * The events of `ancestors` and all their descendants in the order of time; `members`: those of them that live. If an
     * ancestor's own fork is remembered, nothing before that counts: it was about an older process with the same pid.
     */
    of: (ancestors: readonly number[]) => {
      const wanted = new Set(ancestors);
      const begins = new Map<number, number>();
      for (let index = first; index < events.length; index++) {
        const event = events[index] as ProcessEvent;
        if (event.kind === 'fork' && wanted.has(event.child)) begins.set(event.child, index);
      }
      const members = new Set(ancestors.filter((pid) => !begins.has(pid)));
      const found: ProcessEvent[] = [];
      for (let index = first; index < events.length; index++) {
        const event = events[index] as ProcessEvent;
        if (event.kind === 'fork') {
          const isMember = members.has(event.parent);
          // An older process with this pid has gone, though no exit event came.
          members.delete(event.child);
          if (isMember) found.push(event);
          if (isMember || begins.get(event.child) === index) members.add(event.child);
        } else if (members.has(event.pid)) {
          found.push(event);
          if (event.kind === 'exit') members.delete(event.pid);
        }
      }
      return { events: found, members };
    },
  };
}
