import { parseCpuList } from '../cpu-list';
import { listNames, readInteger, readText } from '../files';
import {
  isUnavailable,
  metricsOf,
  reading,
  source,
  unavailable,
  type Reading,
  type Source,
  type Unavailable,
} from '../source';

/** One open perf event on one CPU. */
interface RawCounter {
  /** Counted since it was opened, in the event's own steps; NaN when it can't be read. Never throws. */
  readonly read: () => number;
  readonly close: () => void;
}

/** perf_event_open(2) for any process on `cpu`; `type` and `config` as the PMU's files in sysfs say. */
export type OpenCounter = (type: number, config: number, cpu: number) => RawCounter | Unavailable;

const ENERGY = metricsOf('raplperf').counter(
  'energy',
  'joules',
  'Energy of a RAPL domain since the sampler began, by perf events: cheaper than powercap, never wraps.',
  { resolution: 1000, instance: 'domain' },
);

/** Events of the PMU "power" and what powercap calls the same domain; null: not inside a package. */
const DOMAINS: Readonly<Record<string, string | null>> = {
  'energy-pkg': '',
  'energy-cores': '/core',
  'energy-gpu': '/uncore',
  'energy-ram': '/dram',
  'energy-psys': null,
};

/** "event=0x02" as the config of perf_event_attr; null: another form (umask and others are not RAPL's). */
export function parseEventConfig(text: string): number | null {
  const value = /^event=(0x[0-9a-f]{1,8}|\d{1,9})\s*$/i.exec(text)?.[1];
  return value === undefined ? null : Number(value);
}

interface Wanted {
  readonly instance: string;
  readonly config: number;
  readonly cpu: number;
  readonly joulesPerStep: number;
}

/** "package-0", as powercap has it; with its die where a package has several, each of which counts for itself. */
function packagesOf(sys: string, cpus: readonly number[]): ReadonlyMap<number, string> {
  const topology = (cpu: number, file: string): number =>
    Math.max(0, readInteger(`${sys}/devices/system/cpu/cpu${cpu}/topology/${file}`) ?? 0);
  const packages = cpus.map((cpu) => topology(cpu, 'physical_package_id'));
  const several = new Set(packages.filter((id, index) => packages.indexOf(id) !== index));
  return new Map(
    cpus.map((cpu, index) => {
      const id = packages[index] ?? 0;
      return [cpu, several.has(id) ? `package-${id}-die-${topology(cpu, 'die_id')}` : `package-${id}`];
    }),
  );
}

function wantedCounters(sys: string, pmu: string): readonly Wanted[] {
  const cpus = parseCpuList(readText(`${pmu}/cpumask`) ?? '') ?? [];
  const packages = packagesOf(sys, cpus);
  const wanted = new Map<string, Wanted>();
  for (const event of listNames(`${pmu}/events`)) {
    const part = DOMAINS[event];
    if (part === undefined) continue;
    const file = `${pmu}/events/${event}`;
    const config = parseEventConfig(readText(file) ?? '');
    const joulesPerStep = Number(readText(`${file}.scale`) ?? 'none');
    if (config === null || !(joulesPerStep > 0) || readText(`${file}.unit`)?.trim() !== 'Joules') continue;
    for (const cpu of cpus) {
      // There is one board, whichever CPU is asked.
      const instance = part === null ? 'psys' : `${packages.get(cpu) ?? 'package'}${part}`;
      if (!wanted.has(instance)) wanted.set(instance, { instance, config, cpu, joulesPerStep });
    }
  }
  return [...wanted.values()].sort((a, b) => (a.instance < b.instance ? -1 : 1));
}

/** RAPL by perf events. `openCounter` is given by the caller, since it takes a system call. */
export function raplPerf(openCounter: OpenCounter): Source {
  return source({
    name: 'raplperf',
    reads: ['/sys/bus/event_source/devices/power/{type,cpumask,events/*}', 'perf_event_open'],
    metrics: [ENERGY],
    interval: 5,
    open: ({ sys }) => {
      const pmu = `${sys}/bus/event_source/devices/power`;
      const type = readInteger(`${pmu}/type`);
      if (type === null)
        return unavailable(`no PMU "power" (${pmu})`, 'load the kernel module rapl; virtual machines have none');
      const wanted = wantedCounters(sys, pmu);
      const opened = wanted.map(({ config, cpu }) => openCounter(type, config, cpu));
      const counters = wanted.flatMap(({ instance, joulesPerStep }, index) => {
        const counter = opened[index];
        return counter === undefined || isUnavailable(counter) ? [] : [{ instance, joulesPerStep, counter }];
      });
      if (counters.length === 0)
        return opened.find(isUnavailable) ?? unavailable(`${pmu} has no event that counts energy in joules`);
      return {
        read: () => {
          const readings = counters.flatMap(({ instance, joulesPerStep, counter }): readonly Reading[] => {
            const value = counter.read() * joulesPerStep;
            return value >= 0 && value < Infinity ? [reading(ENERGY, value, instance)] : [];
          });
          return readings.length > 0 ? readings : unavailable('no RAPL event can be read any more');
        },
        close: () => {
          for (const { counter } of counters) counter.close();
        },
      };
    },
  });
}
