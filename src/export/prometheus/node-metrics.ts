import { groupBy } from '../../base/group-by';
import { figuresOfPart } from '../../live/our-figures';
import { largestFirst } from '../../base/largest-first';
import { largestOfKnown, sumOfKnown } from '../../base/known';
import type { JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import type { MetricFacts } from '../../report/series/metric-list';
import type { MetricSeries } from '../../report/series/metric-series';
import type { OutboxState } from '../../sampler/node-store/outbox-state';
import { family, figuresIn, single, type ExportedMetric, type Figure } from './metric';

/** What the metrics of a node are made from. */
export interface NodeFigures {
  /** The sources' readings of the last minutes. */
  readonly series: readonly MetricSeries[];
  /** Preliminary records of running jobs. */
  readonly records: readonly JobRecord[];
  readonly outbox: OutboxState;
  readonly version: string;
  readonly nowMs: number;
  /** At most this many jobs have series of their own. */
  readonly mostJobs: number;
}

type NodeMetric = ExportedMetric<NodeFigures>;

/** A label name for instances of `namespace/interface`; not "instance", which the scraper sets itself, as "job". */
const labelOf = (instance: string): string => instance.replaceAll(/[^a-zA-Z0-9]+/g, '_');

/** Units with another base unit in Prometheus: the part of a name to replace, the base unit, and the factor to it. */
const CONVERTED: Readonly<Record<string, { readonly from: RegExp; readonly unit: string; readonly factor: number }>> = {
  percent: { from: /_percent$/, unit: 'ratio', factor: 0.01 },
  bits_per_second: { from: /_bits_per_second$/, unit: 'bytes_per_second', factor: 1 / 8 },
  timestamp: { from: /(?<=_timestamp)$/, unit: 'seconds', factor: 1 },
};

/**
 * A node metric made from a source's metric: the last value of each instance that still exists. Names of counters, and
 * only these, end in `_total`.
 */
function ofSource({ name, unit, kind, instance, help }: MetricFacts): NodeMetric {
  const converted = CONVERTED[unit];
  const base = converted === undefined ? name : name.replace(converted.from, `_${converted.unit}`);
  return {
    name: `qmemacct_node_${base.replace(/_(?:count|total)$/, '')}${kind === 'counter' ? '_total' : ''}`,
    type: kind === 'counter' ? 'counter' : 'gauge',
    unit: converted?.unit ?? (unit === 'count' ? '' : unit),
    help,
    labels: instance === null ? [] : [labelOf(instance)],
    samples: ({ series }) => {
      const last = series.flatMap(({ metric, instance: which, at: times, values }) => {
        const [value, at] = [values.at(-1), times.at(-1)];
        if (metric !== name || value === undefined || at === undefined) return [];
        return [{ labels: instance === null ? [] : [which], value: value * (converted?.factor ?? 1), at }];
      });
      // All instances are read at one time: an older time means an instance (an interface) that no longer exists.
      const newest = Math.max(...last.map(({ at }) => at));
      return last.filter(({ at }) => at === newest);
    },
  };
}

const taskOf = ({ task_id: task }: JobRecord): string => (task === null ? '' : String(task));

/** A job or array task on this host: its master and its slave tasks each have a record. */
interface NodeJob {
  readonly job: string;
  readonly task: string;
  readonly owner: string;
  readonly used: number | null;
  readonly peak: number | null;
  readonly limit: number | null;
}

function nodeJob(records: readonly [JobRecord, ...JobRecord[]]): NodeJob {
  const ours = figuresOfPart(records, { master: false, tasks: 0, past: false });
  const [first] = records;
  return {
    job: String(first.job_id),
    task: taskOf(first),
    owner: first.owner ?? '',
    used: ours?.rss ?? null,
    peak: largestOfKnown([ours?.lower, ours?.rss]),
    // Each record has the limit of the whole host.
    limit: largestOfKnown(records.map(limitOf)),
  };
}

const nodeJobs = ({ records }: NodeFigures): readonly NodeJob[] =>
  [...groupBy(records, (record) => `${record.job_id}.${taskOf(record)}.${record.cluster}`).values()].flatMap(
    ([first, ...others]) => (first === undefined ? [] : [nodeJob([first, ...others])]),
  );

interface JobGroup {
  readonly labels: readonly string[];
  readonly jobs: readonly NodeJob[];
}

const sumOver =
  (of: (job: NodeJob) => number | null): Figure<JobGroup>['value'] =>
  ({ jobs }) =>
    sumOfKnown(jobs.map(of));

const bytes = figuresIn('bytes');

/** Figures of this host's samplers about running jobs. */
const FIGURES: readonly Figure<JobGroup>[] = [
  bytes(
    'used',
    'Resident memory on this host at the last sample',
    sumOver(({ used }) => used),
  ),
  bytes(
    'peak',
    'Peak so far of resident memory on this host, a lower bound; of several jobs added up',
    sumOver(({ peak }) => peak),
  ),
  bytes(
    'limit',
    'Memory limit on this host; of several jobs added up',
    sumOver(({ limit }) => limit),
  ),
];

/** The jobs that use most memory, as many as the site allows. */
const largestJobs = (source: NodeFigures): readonly JobGroup[] =>
  largestFirst(nodeJobs(source), ({ used }) => used ?? 0)
    .slice(0, source.mostJobs)
    .map((job) => ({ labels: [job.job, job.task, job.owner], jobs: [job] }));

/** The metrics that `qmemacct node --prometheus` writes, in order. `facts`: of every metric of every source. */
export function nodeMetrics(facts: readonly MetricFacts[]): readonly NodeMetric[] {
  return [
    {
      name: 'qmemacct_node_build_info',
      type: 'gauge',
      unit: '',
      help: 'Always 1; the version is its label',
      labels: ['version'],
      samples: ({ version }) => [{ labels: [version], value: 1 }],
    },
    single('node_outbox_records', {}, 'Records of this host that wait to be delivered', ({ outbox }) => outbox.waiting),
    single(
      'node_outbox_refused_records',
      {},
      'Records of this host that the accounting DB refused for good',
      ({ outbox }) => outbox.refused,
    ),
    single(
      'node_outbox_oldest_age_seconds',
      { unit: 'seconds' },
      'How long the oldest undelivered record has waited',
      ({ outbox, nowMs }) => (outbox.oldest === null ? null : Math.max(0, (nowMs - outbox.oldest) / 1000)),
    ),
    single(
      'node_running_jobs',
      {},
      'Jobs and array tasks that samplers measure on this host',
      (source) => nodeJobs(source).length,
    ),
    ...family<NodeFigures, JobGroup>({
      name: 'node_owner',
      labels: ['owner'],
      items: (source) =>
        [...groupBy(nodeJobs(source), ({ owner }) => owner)].map(([owner, jobs]) => ({ labels: [owner], jobs })),
      labelsOf: ({ labels }) => labels,
      figures: [
        { name: 'jobs', unit: '', help: 'Jobs and array tasks of the owner', value: ({ jobs }) => jobs.length },
        ...FIGURES,
      ],
    }),
    ...family<NodeFigures, JobGroup>({
      name: 'node_job',
      labels: ['job_id', 'task', 'owner'],
      items: largestJobs,
      labelsOf: ({ labels }) => labels,
      figures: FIGURES.map((figure) => ({ ...figure, help: `${figure.help} (metrics_jobs)` })),
    }),
    ...facts.filter(({ scope }) => scope === 'node').map(ofSource),
  ];
}
