import { readText, whyUnreadable } from '../files';
import { metricsOf, opened, reading, source, unavailable, type Metric, type Reading } from '../source';

const { gauge, counter } = metricsOf('pressure');

/** One line of a pressure file: the share of time in which tasks were stalled, and that time in all. */
export interface Pressure {
  readonly kind: 'some' | 'full';
  /** Percent, over the last 10, 60 and 300 seconds. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
  readonly totalSeconds: number;
}

/** Parses `/proc/pressure/*` or a cgroup's `*.pressure` (Documentation/accounting/psi.rst): the first line of each kind. */
export function parsePressure(text: string): readonly Pressure[] {
  const share = '(\\d{1,2}\\.\\d{1,9}|100\\.0{1,9})';
  const line = new RegExp(`^(some|full) avg10=${share} avg60=${share} avg300=${share} total=(\\d{1,20})$`, 'gm');
  const found = [...text.matchAll(line)].map(([, kind, avg10, avg60, avg300, micros]): Pressure => ({
    kind: kind === 'full' ? 'full' : 'some',
    avg10: Number(avg10),
    avg60: Number(avg60),
    avg300: Number(avg300),
    totalSeconds: Number(micros) / 1e6,
  }));
  return KINDS.flatMap((kind) => found.find((one) => one.kind === kind) ?? []);
}

const RESOURCES = {
  cpu: 'for a CPU',
  memory: 'for memory: reclaim, swap-in, refaults',
  io: 'for I/O',
  irq: 'while interrupts were served (Linux 6.1 or later, full only)',
} as const;

type Resource = keyof typeof RESOURCES;

const WHO = { some: 'some tasks', full: 'all tasks that could run' } as const;

const KINDS = ['some', 'full'] as const;
const WINDOWS = ['avg10', 'avg60', 'avg300'] as const;

type Described = Readonly<Record<(typeof WINDOWS)[number] | 'totalSeconds', Metric>>;

function describePressure(resource: Resource, kind: Pressure['kind']): Described {
  const share = (window: (typeof WINDOWS)[number]): Metric =>
    gauge(
      `${resource}_${kind}_${window}`,
      'percent',
      `Share of the last ${window.slice(3)} seconds in which ${WHO[kind]} waited ${RESOURCES[resource]}.`,
      { resolution: 100 },
    );
  return {
    avg10: share('avg10'),
    avg60: share('avg60'),
    avg300: share('avg300'),
    totalSeconds: counter(
      `${resource}_${kind}`,
      'seconds',
      `Time in which ${WHO[kind]} waited ${RESOURCES[resource]}.`,
      { resolution: 1000 },
    ),
  };
}

const NAMES = Object.keys(RESOURCES) as readonly Resource[];

const METRICS = Object.fromEntries(
  NAMES.map((resource) => [
    resource,
    { some: describePressure(resource, 'some'), full: describePressure(resource, 'full') },
  ]),
) as Readonly<Record<Resource, Readonly<Record<Pressure['kind'], Described>>>>;

export const pressure = source({
  name: 'pressure',
  reads: ['/proc/pressure/{cpu,memory,io,irq}'],
  metrics: NAMES.flatMap((resource) =>
    KINDS.filter((kind) => resource !== 'irq' || kind === 'full').flatMap((kind) =>
      Object.values(METRICS[resource][kind]),
    ),
  ),
  open: ({ proc }) => {
    const read = (): readonly Reading[] =>
      NAMES.flatMap((resource) =>
        parsePressure(readText(`${proc}/pressure/${resource}`) ?? '')
          .filter(({ kind }) => resource !== 'irq' || kind === 'full')
          .flatMap((stalled) => {
            const metrics = METRICS[resource][stalled.kind];
            return [
              ...WINDOWS.map((window) => reading(metrics[window], stalled[window])),
              reading(metrics.totalSeconds, stalled.totalSeconds),
            ];
          }),
      );
    // Where the kernel has PSI but does not count, the files can be opened but not read (EOPNOTSUPP), or are absent.
    return opened(read, () => {
      const why = whyUnreadable(`${proc}/pressure/cpu`);
      return unavailable(why.unavailable, why.fix ?? 'boot Linux 4.20 or later with psi=1');
    });
  },
});
