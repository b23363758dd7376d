import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { pageSize } from '../../sources/page-size';
import { kernelVersion, type CounterPrecision } from './slack';

let known: CounterPrecision | null = null;

/** CPUs that the kernel could bring up: its per-CPU counters have a part for each ("0-127" in sysfs). */
function possibleCpus(): number {
  try {
    const list = readFileSync('/sys/devices/system/cpu/possible', 'latin1').trim();
    return Number(list.split(/[-,]/).pop()) + 1;
  } catch {
    return 1;
  }
}

/** How exact memory readings are on the machine that runs this. */
export function thisMachine(): CounterPrecision {
  known ??= { kernel: kernelVersion(release()), pageSize: pageSize(), cpus: possibleCpus() };
  return known;
}
