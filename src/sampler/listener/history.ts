import type { ProcessEvent } from './process-table';

/**
 * The last events of the whole machine: a sampler that comes late hears from here what its job did before. Bounded by
 * age and by number.
 */
export interface History {
  add(event: ProcessEvent): void;
  /** Events were lost at `at`: what is older is no longer complete. */
  lost(at: number): void;
  /**
   * The events of all descendants of `ancestor` in the order of time, those of the ancestor itself left out; `members`:
   * itself and the descendants that live.
   */
  of(ancestor: number): { readonly events: readonly ProcessEvent[]; readonly members: ReadonlySet<number> };
}

const KEPT_US = 60_000_000;
const MOST_EVENTS = 60_000;

export function newHistory(): History {
  let events: ProcessEvent[] = [];
  let first = 0;
  return {
    add: (event) => {
      events.push(event);
      while (first < events.length - MOST_EVENTS || (events[first]?.at ?? Infinity) < event.at - KEPT_US) first++;
      if (first > MOST_EVENTS) {
        events = events.slice(first);
        first = 0;
      }
    },
    lost: (at) => {
      while (first < events.length && (events[first]?.at ?? Infinity) <= at) first++;
    },
    of: (ancestor) => {
      const members = new Set([ancestor]);
      const found: ProcessEvent[] = [];
      for (let index = first; index < events.length; index++) {
        const event = events[index] as ProcessEvent;
        if (event.kind === 'fork') {
          // An older process of that number was another one.
          if (event.child === ancestor) {
            members.clear();
            members.add(ancestor);
            found.length = 0;
            continue;
          }
          // So was an older descendant, whose exit was not told of.
          members.delete(event.child);
          if (members.has(event.parent)) {
            members.add(event.child);
            found.push(event);
          }
        } else if (event.pid !== ancestor && members.has(event.pid)) {
          found.push(event);
          if (event.kind === 'exit') members.delete(event.pid);
        }
      }
      return { events: found, members };
    },
  };
}
