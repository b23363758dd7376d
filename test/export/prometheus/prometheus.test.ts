import assert from 'node:assert/strict';
import { it } from 'node:test';
import { boolean, list, nullable, number, object, optional, string } from '../../../src/base/shape';
import { metricFacts } from '../../../src/cli/metric-facts';
import { renderMetrics } from '../../../src/export/prometheus/metric';
import { nodeMetrics } from '../../../src/export/prometheus/node-metrics';
import { SERVER_METRICS } from '../../../src/export/prometheus/server-metrics';
import { DASHBOARDS } from '../../dashboards/dashboards';
import { answer, GIB, host, HOSTILE_OWNER, noAnswer, running, sampleSnapshot, snapshot } from '../../live/snapshots';
import { startTestSite } from '../../server/test-site';
import { fullNodeText, fullSite } from './full-site';
import { assertGood, noPromtool } from './promtool';

const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);

it(
  'promtool accepts the answer of the server, which has every metric of the table',
  { skip: noPromtool },
  async (t) => {
    const { text, headers } = await (await fullSite(t, { metrics_jobs: 3 })).get('/metrics');
    assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
    assertGood(text);
    assert.deepEqual(
      namesIn(text),
      SERVER_METRICS.map(({ name }) => name),
    );
    assert.equal(text.match(/^qmemacct_job_used_bytes/gm)?.length, 3);
    assert.match(text, /^qmemacct_owner_day_jobs\{owner="a\\"b\\\\c\\nd"\} 1$/m);
    assert.match(
      text,
      /^qmemacct_owner_day_unused_by_grid_engine_byte_seconds\{owner="a\\"b\\\\c\\nd"\} 38654705664000$/m,
    );
    assert.match(text, /^qmemacct_heartbeat_age_seconds\{cluster="cell",host="node01"\} 36$/m);
    assert.match(text, /^qmemacct_heartbeat_waiting_age_seconds\{cluster="cell",host="node01"\} 7200$/m);
    assert.match(text, /^qmemacct_heartbeat_failing_sources\{cluster="cell",host="node01"\} 1$/m);
    assert.match(text, /^qmemacct_heartbeat_info\{cluster="cell",host="node02",version="1.2.3",scope="job"\} 1$/m);
    assert.match(text, /^qmemacct_job_name_day_jobs\{job_name="align_reads_#"\} 2$/m);
  },
);

it("a job's peak counts its ended tasks, too, as the live view does", async (t) => {
  const site = await fullSite(t, { metrics_jobs: 100 });
  assert.match((await site.get('/metrics')).text, /^qmemacct_job_peak_bytes\{job_id="104",[^}]*\} 2684354560$/m);
  assert.match((await site.get('/v1/live')).text, /"job_id":104,.*?"maxvmem_bytes":2684354560,/);
});

it('a single job has no series by default', async (t) => {
  const { text } = await (await fullSite(t)).get('/metrics');
  assert.doesNotMatch(text, /\bjob_id="/);
  assert.match(text, /^qmemacct_running_jobs 12$/m);
});

it('as many kinds of jobs have series as metrics_job_names allows', async (t) => {
  const series = async (metrics_job_names: number): Promise<number | undefined> =>
    (await (await fullSite(t, { metrics_job_names })).get('/metrics')).text.match(/^qmemacct_job_name_day_jobs/gm)
      ?.length;
  assert.deepEqual([await series(0), await series(1), await series(100)], [undefined, 1, 2]);
});

it('the metrics name nobody where serve_names is anonymous', async (t) => {
  const { text } = await (await fullSite(t, { serve_names: 'anonymous', metrics_jobs: 100 })).get('/metrics');
  const names = Array.from(text.matchAll(/\b(?:owner|job_name)="([^"]*)"/g), ([, name]) => name);
  assert.deepEqual([...new Set(names)], ['anonymous']);
});

it('the server answers without a cluster and without an accounting DB', { skip: noPromtool }, async (t) => {
  const site = await startTestSite(t, { snapshot: null });
  await site.get('/v1/summary?by=owner');
  const { status, text } = await site.get('/metrics');
  assert.equal(status, 200);
  assertGood(text);
  assert.match(text, /^qmemacct_accounting_up 0$/m);
  assert.doesNotMatch(text, /qmemacct_host_/);
});

const held = nullable(number());
const heldOnHosts = object({ hosts: list(object({ peak_bytes: held, used_bytes: held })) });

it('metrics and JSON have no memory use before Grid Engine has reported it, and no limit where there is none', async (t) => {
  const site = await startTestSite(t, { snapshot: { ...sampleSnapshot(), details: noAnswer([]) } });
  const { text } = await site.get('/metrics');
  assert.match(text, /^qmemacct_owner_running_jobs\{owner="alice"\} \d+$/m);
  assert.doesNotMatch(text, /_(?:jobs|running)_(?:used|peak)_bytes\{/);
  const { hosts } = heldOnHosts.read((await site.get('/v1/hosts')).json());
  assert.ok(hosts.every(({ peak_bytes, used_bytes }) => peak_bytes === null && used_bytes === null));
  assert.doesNotMatch(text, /^qmemacct_owner_running_limit_bytes\{owner="erin"\}/m);
  const idle = await startTestSite(t, { snapshot: snapshot({ hosts: answer([host('node09')]) }) });
  assert.match((await idle.get('/metrics')).text, /^qmemacct_host_jobs_used_bytes\{host="node09"\} 0$/m);
});

it('promtool accepts the metrics of a node, which are all metrics of the table', { skip: noPromtool }, () => {
  const text = fullNodeText();
  assertGood(text);
  assert.deepEqual(
    namesIn(text),
    nodeMetrics(metricFacts()).map(({ name }) => name),
  );
  assert.match(text, /^qmemacct_node_outbox_oldest_age_seconds 5$/m);
  assert.deepEqual(text.match(/^qmemacct_node_job_used_bytes.*$/gm), [
    `qmemacct_node_job_used_bytes{job_id="2",task="",owner="${HOSTILE_OWNER}"} 7000000`,
  ]);
  assert.match(text, /^qmemacct_node_cpu_busy_ratio 0.42$/m);
});

it('a parallel job is one job of its node: its limit counts once, and its peak is no more than what was seen', () => {
  const h_vmem = { request_bytes: 2 * GIB, limit_bytes: 6 * GIB, per: 'slot' } as const;
  const records = [
    running(103, 'node01', [GIB, 2 * GIB], { h_vmem }),
    running(103, 'node01', [2 * GIB, GIB], { h_vmem, pe_task_id: '1.node01' }),
    running(104, 'node01', [2 * GIB, GIB], { h_vmem }),
  ];
  const outbox = { waiting: 0, oldest: null, refused: 0, reason: null };
  const source = { series: [], records, outbox, version: '1.2.3', nowMs: 0, mostJobs: 1 };
  const text = renderMetrics(nodeMetrics([]), source);
  const figures = text.match(/^qmemacct_node_(?:running|owner|job)_.*$/gm)?.map((line) => line.replace(/\{.*\}/, ''));
  assert.deepEqual(figures, [
    'qmemacct_node_running_jobs 2',
    'qmemacct_node_owner_jobs 2',
    `qmemacct_node_owner_used_bytes ${4 * GIB}`,
    `qmemacct_node_owner_peak_bytes ${5 * GIB}`,
    `qmemacct_node_owner_limit_bytes ${12 * GIB}`,
    `qmemacct_node_job_used_bytes ${3 * GIB}`,
    `qmemacct_node_job_peak_bytes ${3 * GIB}`,
    `qmemacct_node_job_limit_bytes ${6 * GIB}`,
  ]);
});

const panel = object({ type: string, targets: list(object({ instant: optional(boolean) })) });
const dashboard = object({ panels: list(panel) });

it('a number of a dashboard is what is so now, not the last one of a series that ended hours ago', () => {
  const panels = DASHBOARDS.flatMap(({ text }) => dashboard.read(JSON.parse(text())).panels);
  const numbers = panels.filter(({ type }) => type === 'stat').flatMap(({ targets }) => targets);
  assert.ok(numbers.length > 0);
  assert.ok(numbers.every(({ instant }) => instant === true));
});
