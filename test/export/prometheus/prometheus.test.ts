import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { metricFacts } from '../../../src/cli/metric-facts';
import { renderMetrics } from '../../../src/export/prometheus/metric';
import { nodeMetrics } from '../../../src/export/prometheus/node-metrics';
import { SERVER_METRICS } from '../../../src/export/prometheus/server-metrics';
import { viewCluster } from '../../../src/live/view';
import type { JobRecord } from '../../../src/record/record';
import { USUAL_RULES } from '../../../src/record/request-rules';
import { LiveState } from '../../../src/server/live/live-state';
import { HOSTILE_OWNER, running, sampleRecords, sampleSnapshot } from '../../live/snapshots';
import { ordinary } from '../../report/sample-records';
import { NOW, startTestSite, type TestSite } from '../../server/test-site';
import { temporaryDirectory } from '../../support/temporary-directory';

const PROMETHEUS = '/usr/bin/prometheus';
const PROMTOOL = '/usr/bin/promtool';
const without = (program: string): string | false =>
  !existsSync(program) && `${program} is not installed (Debian: prometheus)`;

const HOUR_MS = 3_600_000;
const ago = (hours: number): string => new Date(NOW - hours * HOUR_MS).toISOString();

function ended(job_id: number, owner: string, more: Partial<JobRecord> = {}): JobRecord {
  const times = { submitted_at: ago(4), started_at: ago(3), ended_at: ago(1), revision: NOW - HOUR_MS };
  return { ...ordinary, ...times, job_id, owner, project: 'genome', ...more };
}

/** A site where everything that /metrics knows has a value. */
function fullSite(t: TestContext, settings: object = {}): Promise<TestSite> {
  const samples = sampleRecords();
  const live = new LiveState({
    makeView: (given) => viewCluster(given, samples, { rules: USUAL_RULES, nowMs: NOW }),
    log: (line) => assert.fail(line),
    overdueMs: 600_000,
    now: () => NOW,
  });
  live.put(sampleSnapshot());
  return startTestSite(t, {
    live,
    records: [ended(1, 'alice'), ended(2, 'bob'), ended(3, 'a"b\\c\nd')],
    inbox: () => ({ settled: 5, unreadable: 1 }),
    settings: { ...settings },
  });
}

function assertGood(text: string): void {
  const { status, stdout, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], { input: text, encoding: 'utf8' });
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
}

const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);

it(
  'promtool has nothing against what the server answers, and every metric of the table is in it',
  { skip: without(PROMTOOL) },
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
  },
);

it('a single job has a series where the site says so, and nowhere else', async (t) => {
  const { text } = await (await fullSite(t)).get('/metrics');
  assert.doesNotMatch(text, /\bjob="/);
  assert.match(text, /^qmemacct_running_jobs 12$/m);
});

it('names no strangers where the site says so', async (t) => {
  const { text } = await (await fullSite(t, { serve_names: 'anonymous', metrics_jobs: 100 })).get('/metrics');
  assert.deepEqual([...new Set(Array.from(text.matchAll(/owner="([^"]*)"/g), ([, owner]) => owner))], ['anonymous']);
});

it('answers without a cluster and without an accounting DB', { skip: without(PROMTOOL) }, async (t) => {
  const site = await startTestSite(t, { snapshot: null });
  await site.get('/v1/summary?by=owner');
  const { status, text } = await site.get('/metrics');
  assert.equal(status, 200);
  assertGood(text);
  assert.match(text, /^qmemacct_accounting_up 0$/m);
  assert.doesNotMatch(text, /qmemacct_host_/);
});

it(
  'promtool has nothing against what a node writes, and every metric of the table is in it',
  { skip: without(PROMTOOL) },
  () => {
    const facts = metricFacts();
    const series = facts.map(({ name, instance, unit, kind }) => ({
      metric: name,
      instance: instance === null ? '' : 'a"b\\c\nd',
      unit,
      kind: kind === 'counter' ? ('counter' as const) : ('gauge' as const),
      at: [NOW - 1000, NOW],
      values: [1, 42],
    }));
    const limit = { h_vmem: ordinary.h_vmem };
    const records = [
      running(1, 'node01', [5e6, 6e6], limit),
      running(2, 'node01', [7e6], { ...limit, owner: HOSTILE_OWNER }),
    ];
    const outbox = { waiting: 2, oldest: NOW - 5000, refused: 0, reason: null };
    const figures = { series, records, outbox, version: '1.2.3', nowMs: NOW, mostJobs: 1 };
    const metrics = nodeMetrics(facts);
    const text = renderMetrics(metrics, figures);
    assertGood(text);
    assert.deepEqual(
      namesIn(text),
      metrics.map(({ name }) => name),
    );
    assert.match(text, /^qmemacct_node_outbox_oldest_age_seconds 5$/m);
    assert.deepEqual(text.match(/^qmemacct_node_job_used_bytes.*$/gm), [
      `qmemacct_node_job_used_bytes{job="2",task="",owner="${HOSTILE_OWNER}"} 7000000`,
    ]);
    assert.match(text, /^qmemacct_node_cpu_busy_ratio 0.42$/m);
  },
);

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

interface Queried {
  readonly data: {
    readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[];
  };
}

/** Waits until a Prometheus has an answer to the query. */
async function query(port: number, prometheus: ChildProcess, expression: string): Promise<Queried['data']['result']> {
  const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`;
  for (let tries = 0; tries < 600 && prometheus.exitCode === null; tries++) {
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok === true) {
      const { data } = (await answer.json()) as Queried;
      if (data.result.length > 0) return data.result;
    }
    await sleep(100);
  }
  return assert.fail(`no answer to ${expression}`);
}

it(
  'a real Prometheus scrapes the server and answers from it',
  { skip: without(PROMETHEUS), timeout: 180_000 },
  async (t) => {
    const site = await fullSite(t);
    const directory = temporaryDirectory();
    const config = join(directory, 'prometheus.yml');
    const target = `{job_name: qmemacct, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: ["127.0.0.1:${site.port}"]}]}`;
    writeFileSync(config, `scrape_configs: [${target}]\n`);
    const port = await freePort();
    const prometheus = spawn(
      PROMETHEUS,
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(directory, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
    try {
      const hosts = await query(port, prometheus, 'qmemacct_host_up');
      assert.deepEqual(
        hosts.map(({ metric }) => metric.host).sort(),
        sampleSnapshot()
          .hosts.value.map(({ name }) => name)
          .sort(),
      );
      const [up] = await query(port, prometheus, 'up{job="qmemacct"}');
      assert.equal(up?.value[1], '1');
      const [jobs] = await query(port, prometheus, 'sum(qmemacct_owner_running_jobs)');
      assert.equal(jobs?.value[1], '12');
      const [hostile] = await query(port, prometheus, 'qmemacct_owner_day_jobs{owner!~"alice|bob"}');
      assert.equal(hostile?.metric.owner, 'a"b\\c\nd');
    } finally {
      const ended = once(prometheus, 'exit');
      if (prometheus.exitCode === null && prometheus.kill()) await ended;
    }
  },
);
