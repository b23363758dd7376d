import type { OptionValue } from '../../record/setting';
import { metricsOf, reading, USUAL, type Metric, type Reading, type SourceFacts } from '../source';
import { NAMED_EVENTS } from './perf-event-names';

/** The count of one event of a job so far. */
export interface PerfReading {
  readonly event: string;
  /** In the event's unit, scaled up for the time in which the event had no counter; null: it never had one. */
  readonly value: number | null;
  /** Share of the time in which it had a counter, 0 to 1. */
  readonly scaledShare: number;
}

const { gauge, counter } = metricsOf('perf', 'job');

const EVENT_METRICS: readonly Metric[] = NAMED_EVENTS.map(({ name, unit, help }) =>
  counter(name, unit, help, unit === 'seconds' ? { resolution: 1000 } : {}),
);

const metricOfEvent = new Map(NAMED_EVENTS.map(({ name }, index) => [name, EVENT_METRICS[index]]));

const RAW_METRIC = counter('raw', 'count', "Events given by code or by a PMU's own terms.", { instance: 'event' });

/** A ratio of two events: factor * event / per. */
interface Ratio {
  readonly metric: Metric;
  readonly event: string;
  readonly per: string;
  readonly factor: number;
}

const ratio = (
  [name, unit, resolution]: readonly [string, 'ratio' | 'percent' | 'count', number],
  event: string,
  per: string,
  factor: number,
  help: string,
): Ratio => ({
  metric: gauge(name, unit, help, { resolution }),
  event,
  per,
  factor,
});

const perThousand = (event: string): Ratio =>
  ratio(
    [`${event}_per_1000_instructions`, 'count', 1000],
    event,
    'instructions',
    1000,
    `Per 1000 instructions: ${event}.`,
  );

const RATIOS: readonly Ratio[] = [
  ratio(['ipc', 'ratio', 1000], 'instructions', 'cpu_cycles', 1, 'Instructions per CPU cycle.'),
  ...['cache_misses', 'branch_misses', 'l1d_read_misses', 'llc_misses', 'dtlb_misses'].map(perThousand),
  ratio(
    ['cache_miss', 'percent', 100],
    'cache_misses',
    'cache_references',
    100,
    'Share of last-level cache accesses that missed.',
  ),
  ratio(
    ['branch_miss', 'percent', 100],
    'branch_misses',
    'branch_instructions',
    100,
    'Share of branches that were predicted wrongly.',
  ),
];

/** By the name of a ratio the metric that it is a ratio to: two ratios are put together by how much there was of that. */
export const PERF_RATIOS: Readonly<Record<string, string>> = Object.fromEntries(
  RATIOS.map(({ metric, per }) => [metric.name, metricOfEvent.get(per)?.name ?? '']),
);

const MULTIPLEXED = gauge(
  'multiplexed',
  'percent',
  'Share of time in which the event with the least counter time was not counted; counts are scaled up for it.',
  { resolution: 100 },
);

export const PERF_METRICS: readonly Metric[] = [
  ...EVENT_METRICS,
  RAW_METRIC,
  ...RATIOS.map(({ metric }) => metric),
  MULTIPLEXED,
];

/** Ratios of what was counted, over the job so far (or over an interval, given differences). Missing events: left out. */
export function derived(readings: readonly PerfReading[]): readonly Reading[] {
  const values = new Map(readings.map(({ event, value }) => [event, value]));
  const ratios = RATIOS.flatMap(({ metric, event, per, factor }): readonly Reading[] => {
    const above = values.get(event) ?? null;
    const below = values.get(per) ?? null;
    if (above === null || below === null || !(below > 0)) return [];
    return [reading(metric, (above / below) * factor)];
  });
  if (readings.length === 0) return ratios;
  const worst = Math.min(...readings.map(({ scaledShare }) => scaledShare));
  return [...ratios, reading(MULTIPLEXED, (1 - worst) * 100)];
}

/** Readings as metrics: the events that were counted, then what is derived from them. */
export function perfMetricReadings(readings: readonly PerfReading[]): readonly Reading[] {
  const counted = readings.flatMap(({ event, value }): readonly Reading[] => {
    if (value === null) return [];
    const metric = metricOfEvent.get(event);
    return [metric === undefined ? reading(RAW_METRIC, value, event) : reading(metric, value)];
  });
  return [...counted, ...derived(readings)];
}

/**
 * What doctor, the list of metrics and the settings know of perf. It is opened for each job (openPerf), not per node.
 */
export const perfFacts: SourceFacts = {
  ...USUAL,
  name: 'perf',
  reads: ['perf_event_open(2)', '/sys/bus/event_source/devices'],
  metrics: PERF_METRICS,
  enabled: false,
  options: {
    events: [
      'task_clock',
      'context_switches',
      'cpu_migrations',
      'page_faults',
      'cpu_cycles',
      'instructions',
      'cache_references',
      'cache_misses',
      'branch_misses',
    ],
    raw: [],
  },
};

/** The events of the source's options: names first, then raw ones. */
export function perfEvents(options: Readonly<Record<string, OptionValue>>): readonly string[] {
  const list = (value: OptionValue | undefined): readonly string[] => (Array.isArray(value) ? value : []) as string[];
  return [...list(options.events), ...list(options.raw)];
}
