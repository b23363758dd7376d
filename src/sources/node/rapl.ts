import { listNames, readInteger, readNatural, readText, whyUnreadable } from '../files';
import { metricsOf, opened, reading, source, unavailable, type Reading } from '../source';
import { byNumber, plainName } from './names';

const ENERGY = metricsOf('rapl').counter(
  'energy',
  'joules',
  'Energy of a RAPL domain: package-0, package-0/dram, package-0/core (inside the package), psys (whole board).',
  { resolution: 1000, instance: 'domain' },
);

/** Zones below /sys/class/powercap: packages "intel-rapl:0", what lies in them "intel-rapl:0:1"; AMD has the same names. */
const ZONE = /^(intel-rapl|intel-rapl-mmio):(\d+)(?::(\d+))?$/;

/** No domain of a node uses more for long: a fall that would mean more was a reset, not a wrap-around. */
const MOST_WATTS = 2000;
/** Allowed on top: a counter may advance by a batch between two readings at nearly the same time. */
const BATCH_MICROJOULES = 1e6;

interface Zone {
  readonly instance: string;
  readonly path: string;
  readonly rangeMicrojoules: number;
}

export interface RaplCounter {
  readonly raw: number;
  readonly wraps: number;
  readonly at: number;
}

/**
 * The counter after a reading of `raw` microjoules at `at` ms. A counter that went back has wrapped around if the
 * energy that this implies could have been used since; else it was reset, and the sum begins anew. More than one
 * wrap-around between two readings can't be seen: the sum is a lower bound then (a range of 262 kJ lasts 9 minutes at
 * 500 W).
 */
export function nextRaplCounter(
  last: RaplCounter | undefined,
  raw: number,
  rangeMicrojoules: number,
  at: number,
): RaplCounter {
  if (last === undefined) return { raw, wraps: 0, at };
  if (raw >= last.raw) return { raw, wraps: last.wraps, at };
  const gained = raw + rangeMicrojoules - last.raw;
  const possible = MOST_WATTS * 1000 * Math.max(0, at - last.at) + BATCH_MICROJOULES;
  const wrapped = rangeMicrojoules > last.raw && gained <= possible;
  return { raw, wraps: wrapped ? last.wraps + 1 : 0, at };
}

/** Zones by name; a package that is shown through MSR is not taken again where it is shown through MMIO, too. */
function findZones(directory: string): readonly Zone[] {
  const zones = new Map<string, Zone>();
  const names = listNames(directory)
    .filter((name) => ZONE.test(name))
    .sort((a, b) => Number(a.includes('mmio')) - Number(b.includes('mmio')) || byNumber(a, b));
  for (const name of names) {
    const [, driver, top, part] = ZONE.exec(name) ?? [];
    const nameOf = (zone: string): string => plainName(readText(`${directory}/${zone}/name`) ?? '');
    const own = nameOf(name);
    const parent = part === undefined ? '' : nameOf(`${driver}:${top}`);
    if (own === '' || (part !== undefined && parent === '')) continue;
    const instance = part === undefined ? own : `${parent}/${own}`;
    if (zones.has(instance)) continue;
    const path = `${directory}/${name}/energy_uj`;
    const rangeMicrojoules = readInteger(`${directory}/${name}/max_energy_range_uj`) ?? 0;
    zones.set(instance, { instance, path, rangeMicrojoules });
  }
  return [...zones.values()].sort((a, b) => (a.instance < b.instance ? -1 : 1));
}

export const rapl = source({
  name: 'rapl',
  reads: ['/sys/class/powercap/intel-rapl*:*/{name,energy_uj,max_energy_range_uj}'],
  metrics: [ENERGY],
  interval: 5,
  /** idle_watts: power of the packages of an idle node, never charged to a job; 0: the smallest seen. */
  options: { idle_watts: 0 },
  open: ({ sys, now }) => {
    const directory = `${sys}/class/powercap`;
    const zones = findZones(directory);
    const [firstZone] = zones;
    if (firstZone === undefined)
      return unavailable(
        `no RAPL domain in ${directory}`,
        'load the kernel module intel_rapl_msr (Intel, AMD from Zen on); virtual machines have none',
      );
    const counters = new Map<string, RaplCounter>();
    const read = (): readonly Reading[] => {
      const readings: Reading[] = [];
      for (const { instance, path, rangeMicrojoules } of zones) {
        const raw = readNatural(path);
        if (raw === null) continue;
        const counter = nextRaplCounter(counters.get(instance), raw, rangeMicrojoules, now());
        counters.set(instance, counter);
        readings.push(reading(ENERGY, (counter.wraps * rangeMicrojoules + raw) / 1e6, instance));
      }
      return readings;
    };
    // Root only since 5.10: the readings leak others' keys (CVE-2020-8694).
    return opened(read, () => whyUnreadable(firstZone.path));
  },
});
