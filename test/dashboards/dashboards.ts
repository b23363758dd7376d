import {
  DashboardBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { builtPanel, SOURCE, type Panel } from './panel';

/** A name that viewers choose, of a host, a user ... */
interface Variable {
  readonly name: string;
  readonly label: string;
  /** The series whose label of this name has the choices. */
  readonly of: string;
  /** True: viewers choose one at a time; else any number, and all at first. */
  readonly isOne?: boolean;
}

interface Dashboard {
  /** Name of its file, without .json. */
  readonly name: string;
  readonly title: string;
  readonly variables: readonly Variable[];
  readonly panels: readonly Panel[];
}

const number = (title: string, query: string, unit?: string): Panel => ({
  kind: 'number',
  title,
  queries: { '': query },
  ...(unit === undefined ? {} : { unit }),
});
const graph = (title: string, queries: Panel['queries'], unit?: string): Panel => ({
  kind: 'graph',
  title,
  queries,
  ...(unit === undefined ? {} : { unit }),
});
const ranking = (title: string, legend: string, query: string): Panel => ({
  kind: 'ranking',
  title,
  queries: { [legend]: query },
});

/** Unused memory, by peaks and by Grid Engine's figures. */
const unused = (of: 'owner' | 'project' | 'job_name', chosen = ''): string =>
  `(qmemacct_${of}_day_unused_byte_seconds${chosen} + qmemacct_${of}_day_unused_by_grid_engine_byte_seconds${chosen})`;

/** A sum over running jobs: 0, instead of no data, where none runs. */
const runningSum = (series: string): string => `sum(${series}) or 0 * sum(qmemacct_running_jobs)`;

const CLUSTER: Dashboard = {
  name: 'cluster',
  title: 'qmemacct: cluster',
  variables: [{ name: 'queue', label: 'Queue', of: 'qmemacct_queue_slots' }],
  panels: [
    number('Running jobs', runningSum('qmemacct_queue_running_jobs{queue=~"$queue"}')),
    number('Jobs that reach their limit within a day', 'qmemacct_at_risk_jobs'),
    number('Jobs without a limit on memory', runningSum('qmemacct_queue_running_unlimited_jobs{queue=~"$queue"}')),
    number('Hosts that are down', 'count(qmemacct_host_up) - sum(qmemacct_host_up)'),
    graph('Memory of all hosts', {
      'of the hosts': 'sum(qmemacct_host_memory_bytes)',
      'requested by jobs': 'sum(qmemacct_host_jobs_requested_bytes)',
      'in use': 'sum(qmemacct_host_memory_used_bytes)',
      'used by jobs': 'sum(qmemacct_host_jobs_used_bytes)',
    }),
    graph(
      'Slots in use',
      { '{{queue}}': 'qmemacct_queue_slots_used{queue=~"$queue"} / (qmemacct_queue_slots{queue=~"$queue"} > 0)' },
      'ratio',
    ),
    graph('Stranded: free memory without a free slot', { memory: 'sum(qmemacct_host_stranded_bytes)' }),
    graph('Stranded: free slots without free memory', { slots: 'sum(qmemacct_host_stranded_slots)' }),
    graph('Limits and use of running jobs', {
      'limits in {{queue}}': 'qmemacct_queue_running_limit_bytes{queue=~"$queue"}',
      'used in {{queue}}': 'qmemacct_queue_running_used_bytes{queue=~"$queue"}',
    }),
    graph('Queue instances out of service', {
      '{{queue}}': 'qmemacct_queue_instances_unavailable{queue=~"$queue"}',
    }),
    ranking('Users with most unused memory, last 24 hours', '{{owner}}', unused('owner')),
    ranking('Projects with most unused memory, last 24 hours', '{{project}}', unused('project')),
  ],
};

const OWNER: Dashboard = {
  name: 'owner',
  title: 'qmemacct: users',
  variables: [
    { name: 'owner', label: 'User', of: '{__name__=~"qmemacct_owner_running_jobs|qmemacct_owner_day_jobs"}' },
  ],
  panels: [
    number('Running jobs', runningSum('qmemacct_owner_running_jobs{owner=~"$owner"}')),
    number('Jobs killed by memory, last 24 hours', 'sum(qmemacct_owner_day_killed_by_memory_records{owner=~"$owner"})'),
    number(
      'Share of requested memory that was unused, last 24 hours',
      `sum(${unused('owner', '{owner=~"$owner"}')}) / sum(qmemacct_owner_day_requested_byte_seconds{owner=~"$owner"})`,
      'ratio',
    ),
    number(
      'CPU efficiency, last 24 hours',
      'sum(qmemacct_owner_day_cpu_seconds{owner=~"$owner"}) / sum(qmemacct_owner_day_slot_seconds{owner=~"$owner"})',
      'ratio',
    ),
    graph('Memory of running jobs', {
      limits: 'sum(qmemacct_owner_running_limit_bytes{owner=~"$owner"})',
      'peaks so far': 'sum(qmemacct_owner_running_peak_bytes{owner=~"$owner"})',
      used: 'sum(qmemacct_owner_running_used_bytes{owner=~"$owner"})',
    }),
    graph('Slots of running jobs', { '{{owner}}': 'qmemacct_owner_running_slots{owner=~"$owner"}' }),
    graph('Memory-hours, last 24 hours', {
      requested: 'sum(qmemacct_owner_day_requested_byte_seconds{owner=~"$owner"})',
      peak: 'sum(qmemacct_owner_day_peak_byte_seconds{owner=~"$owner"})',
      used: 'sum(qmemacct_owner_day_used_byte_seconds{owner=~"$owner"})',
    }),
    graph('How jobs ended, last 24 hours', {
      jobs: 'sum(qmemacct_owner_day_jobs{owner=~"$owner"})',
      'ended badly': 'sum(qmemacct_owner_day_failed_records{owner=~"$owner"})',
      'killed by memory': 'sum(qmemacct_owner_day_killed_by_memory_records{owner=~"$owner"})',
      'peak far below the limit': 'sum(qmemacct_owner_day_far_below_records{owner=~"$owner"})',
    }),
    ranking('Users with most unused memory', '{{owner}}', unused('owner', '{owner=~"$owner"}')),
    ranking(
      'Largest running jobs (metrics_jobs)',
      '{{job_id}} {{task}} {{owner}}',
      'qmemacct_job_used_bytes{owner=~"$owner"}',
    ),
  ],
};

const JOB_NAMES: Dashboard = {
  name: 'kinds-of-jobs',
  title: 'qmemacct: kinds of jobs',
  variables: [{ name: 'job_name', label: 'Name', of: 'qmemacct_job_name_day_jobs' }],
  panels: [
    ranking('Most unused memory, last 24 hours', '{{job_name}}', unused('job_name')),
    ranking(
      'Most unused CPU time, last 24 hours',
      '{{job_name}}',
      'qmemacct_job_name_day_slot_seconds - qmemacct_job_name_day_cpu_seconds',
    ),
    ranking('Killed by memory, last 24 hours', '{{job_name}}', 'qmemacct_job_name_day_killed_by_memory_records > 0'),
    ranking('Peak far below the limit, last 24 hours', '{{job_name}}', 'qmemacct_job_name_day_far_below_records > 0'),
    graph('Memory-hours, last 24 hours', {
      requested: 'sum(qmemacct_job_name_day_requested_byte_seconds{job_name=~"$job_name"})',
      peak: 'sum(qmemacct_job_name_day_peak_byte_seconds{job_name=~"$job_name"})',
      used: 'sum(qmemacct_job_name_day_used_byte_seconds{job_name=~"$job_name"})',
    }),
    graph('How jobs ended, last 24 hours', {
      jobs: 'sum(qmemacct_job_name_day_jobs{job_name=~"$job_name"})',
      'ended badly': 'sum(qmemacct_job_name_day_failed_records{job_name=~"$job_name"})',
      'killed by memory': 'sum(qmemacct_job_name_day_killed_by_memory_records{job_name=~"$job_name"})',
    }),
  ],
};

const NODE: Dashboard = {
  name: 'host',
  title: 'qmemacct: host',
  variables: [{ name: 'host', label: 'Host', of: 'qmemacct_host_up', isOne: true }],
  panels: [
    graph('Memory', {
      'of the host': 'qmemacct_host_memory_bytes{host=~"$host"}',
      'requested by jobs': 'qmemacct_host_jobs_requested_bytes{host=~"$host"}',
      'in use': 'qmemacct_host_memory_used_bytes{host=~"$host"}',
      'used by jobs': 'qmemacct_host_jobs_used_bytes{host=~"$host"}',
    }),
    graph('Memory of its users', { '{{owner}}': 'qmemacct_node_owner_used_bytes{host=~"$host"}' }),
    graph('Swap', {
      'of the host': 'qmemacct_host_swap_bytes{host=~"$host"}',
      'in use': 'qmemacct_host_swap_used_bytes{host=~"$host"}',
    }),
    graph(
      'Waiting for memory, share of time',
      {
        'some tasks': 'rate(qmemacct_node_pressure_memory_some_seconds_total{host=~"$host"}[$__rate_interval])',
        'all tasks': 'rate(qmemacct_node_pressure_memory_full_seconds_total{host=~"$host"}[$__rate_interval])',
      },
      'ratio',
    ),
    graph('Slots and load', {
      'of its queues': 'qmemacct_host_slots{host=~"$host"}',
      'in use': 'qmemacct_host_slots_used{host=~"$host"}',
      load: 'qmemacct_host_load{host=~"$host"}',
      processors: 'qmemacct_host_processors{host=~"$host"}',
    }),
    graph('CPU time in use', { '{{host}}': 'qmemacct_node_cpu_busy_ratio{host=~"$host"}' }),
    graph('Processes that the kernel killed for lack of memory', {
      '{{host}}': 'increase(qmemacct_node_vmstat_oom_kill_total{host=~"$host"}[$__rate_interval])',
    }),
    graph(
      'Disks busy, share of time',
      { '{{device}}': 'rate(qmemacct_node_disk_busy_seconds_total{host=~"$host"}[$__rate_interval])' },
      'ratio',
    ),
    graph(
      'Network',
      {
        '{{interface}} in': 'rate(qmemacct_node_network_received_bytes_total{host=~"$host"}[$__rate_interval])',
        '{{interface}} out': 'rate(qmemacct_node_network_sent_bytes_total{host=~"$host"}[$__rate_interval])',
      },
      'bytes_per_second',
    ),
    graph('Local file systems in use', { '{{path}}': 'qmemacct_node_diskusage_used_ratio{host=~"$host"}' }),
  ],
};

const HEALTH: Dashboard = {
  name: 'health',
  title: 'qmemacct: its own health',
  variables: [],
  panels: [
    number('Accounting DB: 1 readable, 0 not', 'qmemacct_accounting_up'),
    number('Time since the server started', 'time() - qmemacct_start_time_seconds'),
    number(
      'Running jobs that a sampler watches',
      'qmemacct_running_sampled_jobs / (qmemacct_running_jobs > 0)',
      'ratio',
    ),
    number('Ended jobs without a sample, last 24 hours', 'sum(qmemacct_owner_day_unsampled_records)'),
    graph("Age of qmaster's answers", { '{{query}}': 'qmemacct_snapshot_age_seconds' }),
    graph('Queries that fail', { '{{query}}': 'qmemacct_query_failing' }),
    graph("Age of samplers' figures", {
      oldest: 'qmemacct_sampler_oldest_age_seconds',
      newest: 'qmemacct_sampler_newest_age_seconds',
    }),
    graph(
      "Records through PostgreSQL's inbox",
      {
        settled: 'rate(qmemacct_inbox_settled_records_total[$__rate_interval])',
        unreadable: 'rate(qmemacct_inbox_unreadable_records_total[$__rate_interval])',
      },
      'per_second',
    ),
    ranking('Hosts with the oldest heartbeat', '{{host}}', 'qmemacct_heartbeat_age_seconds'),
    ranking('Hosts with most records that wait', '{{host}}', 'qmemacct_heartbeat_waiting_records'),
    ranking('Hosts whose records wait longest', '{{host}}', 'qmemacct_heartbeat_waiting_age_seconds'),
    ranking('Records that the accounting DB refused', '{{host}}', 'qmemacct_heartbeat_refused_records'),
    ranking('Hosts with most data sources that fail', '{{host}}', 'qmemacct_heartbeat_failing_sources'),
    ranking('Hosts by version', '{{version}}', 'count by (version) (qmemacct_heartbeat_info)'),
  ],
};

function variableOf({ name, label, of, isOne = false }: Variable): QueryVariableBuilder {
  const variable = new QueryVariableBuilder(name)
    .label(label)
    .datasource(SOURCE)
    .query(`label_values(${of}, ${name})`)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);
  return isOne
    ? variable
    : variable.multi(true).includeAll(true).allValue('.*').current({ text: 'All', value: '$__all' });
}

function dashboardText({ name, title, variables, panels }: Dashboard): string {
  // The dashboards of its successor need Grafana 12 or later.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const builder = new DashboardBuilder(title)
    .uid(`qmemacct-${name}`)
    .tags(['qmemacct'])
    .time({ from: 'now-24h', to: 'now' })
    .refresh('1m')
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'));
  for (const variable of variables) builder.withVariable(variableOf(variable));
  for (const [index, panel] of panels.entries()) builder.withPanel(builtPanel(panel, index + 1));
  return `${JSON.stringify(builder.build(), null, 2)}\n`;
}

/** The text of each dashboard for Grafana, by the name of its file. */
export const DASHBOARDS: readonly { readonly file: string; readonly text: () => string }[] = [
  CLUSTER,
  OWNER,
  JOB_NAMES,
  NODE,
  HEALTH,
].map((dashboard) => ({ file: `${dashboard.name}.json`, text: () => dashboardText(dashboard) }));
