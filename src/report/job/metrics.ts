import type { JobRecord } from '../../record/record';
import { formatQuantity, splitMetric, unitOfMetric } from '../format/quantity';
import type { Screen } from '../screen/screen';
import { renderTable } from '../screen/table';

/** Metrics of a job that come from one source, under one heading (at most 9 characters). */
interface Group {
  readonly heading: string;
  readonly source: string;
  /** The metrics to show, in this order; left out: all. */
  readonly shown?: readonly string[];
}

const GROUPS: readonly Group[] = [
  { heading: 'Energy', source: 'energy' },
  { heading: 'GPU', source: 'gpu' },
  { heading: 'Perf', source: 'perf' },
  { heading: 'Cgroup', source: 'cgroup' },
  { heading: 'PSS', source: 'pss' },
  {
    heading: 'Kernel',
    source: 'taskstats',
    // CPU time, memory-hours and bytes have sections of their own.
    shown: [
      'taskstats_cpu_delay_seconds',
      'taskstats_block_io_delay_seconds',
      'taskstats_swap_in_delay_seconds',
      'taskstats_free_pages_delay_seconds',
      'taskstats_thrashing_delay_seconds',
      'taskstats_major_faults',
      'taskstats_voluntary_switches',
      'taskstats_involuntary_switches',
      'taskstats_unsampled_processes',
    ],
  },
  { heading: 'Network', source: 'jobnetwork' },
];
const OTHERS = 'Others';

/** Pairs of name and value on one line. */
const PAIRS = 2;
const BAD: ReadonlySet<string> = new Set(['cgroup_oom_kills']);

/** Names and values of the metrics from one source. */
interface MetricGroup {
  readonly heading: string;
  readonly items: readonly (readonly [name: string, value: string])[];
}

/** The lines of a group's section. */
export function renderGroup({ items: cells }: MetricGroup, width: number, screen: Screen): string[] {
  const lines = Math.ceil(cells.length / PAIRS);
  // Column by column, as lists are read.
  const rows = Array.from({ length: lines }, (_, line) =>
    Array.from({ length: PAIRS }, (_pair, pair) => cells[pair * lines + line] ?? ['', '']).flat(),
  );
  const columns = Array.from({ length: PAIRS }, () => [{ head: '', shrinksTo: 16 }, { head: '' }]).flat();
  return renderTable(columns, rows, screen, width);
}

/** The metrics of the group, in its order. */
function ofGroup({ source, shown }: Group, all: readonly (readonly [string, number])[]): typeof all {
  const own = all.filter(([name]) => splitMetric(name).source === source);
  if (shown === undefined) return own;
  return own
    .filter(([name]) => shown.includes(name))
    .sort(([one], [other]) => shown.indexOf(one) - shown.indexOf(other));
}

/** The metrics of further sources, group by group; values of 0 and empty groups are left out. */
export function metricGroups({ metrics }: JobRecord, screen: Screen): readonly MetricGroup[] {
  const itemOf = ([name, value]: readonly [string, number]): MetricGroup['items'][number] => {
    const text = formatQuantity(value, unitOfMetric(name), screen.glyphs);
    return [screen.safe(splitMetric(name).what), BAD.has(name) ? screen.style.bad(text) : text];
  };
  const known = Object.entries(metrics).filter(([, value]) => value !== 0);
  const others = known.filter(([name]) => !GROUPS.some(({ source }) => source === splitMetric(name).source));
  return [
    ...GROUPS.map((group) => ({ heading: group.heading, own: ofGroup(group, known) })),
    { heading: OTHERS, own: others },
  ].flatMap(({ heading, own }) => (own.length === 0 ? [] : [{ heading, items: own.map(itemOf) }]));
}
