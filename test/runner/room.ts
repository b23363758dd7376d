import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** With more runnable threads than this for each processor, more work only makes all of it take longer. */
const MOST_RUNNING = 1.5;
/** A single look sees one moment: the mean of so many looks counts. */
const LOOKS = 5;
const LOOK_MS = 200;

/** Number of runnable threads. */
function running(): number {
  const [, count] = /^\S+ \S+ \S+ (\d+)\//.exec(readFileSync('/proc/loadavg', 'latin1')) ?? [];
  return Number(count ?? 0);
}

let last: Promise<void> = Promise.resolve();

async function room(isOver: () => boolean): Promise<void> {
  for (let sum = Infinity; sum / LOOKS > MOST_RUNNING * availableParallelism() && !isOver();) {
    sum = 0;
    for (let look = 0; look < LOOKS; look++) {
      await sleep(LOOK_MS);
      sum += running();
    }
  }
}

/** Resolves when the machine has room for more work, for one caller after the other; or when `isOver`. */
export function hasRoom(isOver: () => boolean): Promise<void> {
  return (last = last.then(() => room(isOver)));
}
