import { readFileSync } from 'node:fs';
import { release } from 'node:os';
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

/** AT_PAGESZ of this process. */
function pageSize(): number {
  const AT_PAGESZ = 6n;
  const auxiliary = readFileSync('/proc/self/auxv');
  for (let offset = 0; offset + 16 <= auxiliary.length; offset += 16)
    if (auxiliary.readBigUInt64LE(offset) === AT_PAGESZ) return Number(auxiliary.readBigUInt64LE(offset + 8));
  return 4096;
}

/** How exact memory readings are on the machine that runs this. */
export function thisMachine(): CounterPrecision {
  known ??= { kernel: kernelVersion(release()), pageSize: pageSize(), cpus: possibleCpus() };
  return known;
}
