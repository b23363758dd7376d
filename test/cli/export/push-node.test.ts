import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { cpus, hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { list, number, object, optional, string } from '../../../src/base/shape';
import { loadSettings } from '../../../src/record/settings';
import { openNodeReader } from '../../../src/sampler/node-store/node-reader';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import { runningRecords } from '../../../src/sampler/node-store/live-records';
import { assertGood, noPromtool } from '../../export/prometheus/promtool';
import { httpServer, alwaysAnswers, tcpServer } from '../../export/push/servers';
import { heldJob, shepherdObstacle, startJob, type Site } from '../../sampler/fake-shepherd';
import { nodeSite, startService } from '../../sampler/service/node-site';
import { qmemacctMeanwhile } from '../../support/qmemacct';
import { until } from '../../support/until';

const HOST = hostname();

/** A node whose service has recorded a running job and series of the node, with these sinks configured. */
async function nodeAtWork(t: TestContext, sinks: readonly (readonly [kind: string, address: string])[]): Promise<Site> {
  const site = nodeSite(t, { settings: ['node_series_always = true', 'heartbeat = 1'] });
  const tables = sinks.map(
    ([kind, address]) =>
      `[[export]]\nname = "${kind}"\nkind = "${kind}"\naddress = "${address}"\nwhat = "node"\nlabels = { site = "north" }\n`,
  );
  appendFileSync(site.settings, `export_dir = "${join(site.directory, 'export')}"\n${tables.join('')}`);
  await startService(site);
  const job = startJob(site, heldJob(site).command);
  await job.step('start');
  const settings = loadSettings(site.settings);
  await until(() => runningRecords(settings).some(({ peak_rss: peak }) => peak !== null), 'a record of the job');
  await until(() => {
    new NodeStore(site.state).close();
    const reader = openNodeReader(site.state);
    try {
      return reader.readSeries(null, ['meminfo_memtotal_bytes'], 0, Date.now()).length > 0;
    } finally {
      reader.close();
    }
  }, 'series of the node');
  return site;
}

const run = ({ settings }: Site, ...words: readonly string[]): ReturnType<typeof qmemacctMeanwhile> =>
  qmemacctMeanwhile(['--config', settings, ...words]);

interface Value {
  readonly value: number;
  readonly at: number;
}

/** Graphite's lines by path. */
function graphiteValues(text: string): ReadonlyMap<string, Value> {
  return new Map(
    text
      .trimEnd()
      .split('\n')
      .map((line): readonly [string, Value] => {
        const [path = '', value, seconds] = line.split(' ');
        return [path, { value: Number(value), at: Number(seconds) * 1000 }];
      }),
  );
}

const attributes = list(object({ key: string, value: object({ stringValue: string }) }), 32);
const dataPoints = object({ dataPoints: list(object({ attributes, asDouble: number() }), Infinity) });
const otlpMetric = object({ name: string, unit: string, gauge: optional(dataPoints), sum: optional(dataPoints) });
const otlpBody = object({
  resourceMetrics: list(object({ scopeMetrics: list(object({ metrics: list(otlpMetric) }), 1) }), 1),
});

/** User time of all CPUs so far, in s. */
const userSeconds = (): number => cpus().reduce((sum, { times }) => sum + times.user / 1000, 0);

describe('figures of a node', { skip: shepherdObstacle() ?? false, timeout: 2_000_000 }, () => {
  it('go from its service to each sink, with plain names, in base units, at the time of their reading', async (t) => {
    const lines: string[] = [];
    const graphite = await tcpServer(t, (socket) => {
      socket.on('data', (piece) => lines.push(String(piece)));
      socket.on('end', () => socket.end());
    });
    const [influx, otlp] = [await httpServer(t, alwaysAnswers(204)), await httpServer(t, alwaysAnswers(200, '{}'))];
    const before = { at: Math.floor(Date.now() / 1000) * 1000, user: userSeconds() };
    const site = await nodeAtWork(t, [
      ['graphite', `tcp://127.0.0.1:${graphite}`],
      ['influx', `http://127.0.0.1:${influx.port}/write?db=x`],
      ['otlp', `http://127.0.0.1:${otlp.port}/v1/metrics`],
    ]);
    assert.deepEqual(await run(site, 'export', 'push', '--once'), { status: 0, stdout: '', stderr: '' });

    const values = graphiteValues(lines.join(''));
    const of = (name: string): Value => {
      const prefix = `qmemacct.north.${HOST.replaceAll('.', '_')}`;
      return values.get(`${prefix}.${name}`) ?? assert.fail(`no ${name} in ${[...values.keys()].join(' ')}`);
    };
    const [, kib] = /^MemTotal: +(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
    const memory = of('node_meminfo_memtotal_bytes');
    assert.equal(memory.value, Number(kib) * 1024);
    assert.ok(memory.at >= before.at && memory.at <= Date.now(), String(memory.at));
    assert.equal(of('node_cpu_logical').value, cpus().length);
    const used = of('node_meminfo_used_ratio').value;
    assert.ok(used > 0 && used < 1, String(used));
    const user = of('node_cpu_user_seconds_total').value;
    assert.ok(user >= before.user - 1 && user <= userSeconds() + 1, `${user}`);
    assert.equal(of('node_running_jobs').value, 1);
    assert.equal(of('node_owner_jobs.alice').value, 1);
    const rss = of('node_owner_used_bytes.alice').value;
    assert.ok(rss > 100_000 && rss < 2 ** 30, String(rss));

    const body = otlpBody.read(JSON.parse(otlp.asked.map((one) => one.body).join('')));
    const metrics = body.resourceMetrics.flatMap((resource) => resource.scopeMetrics).flatMap((scope) => scope.metrics);
    const ofOtlp = (name: string): (typeof metrics)[number] =>
      metrics.find((metric) => metric.name === `qmemacct_node_${name}`) ?? assert.fail(name);
    const labels = [
      { key: 'site', value: { stringValue: 'north' } },
      { key: 'host', value: { stringValue: HOST } },
    ];
    assert.deepEqual(ofOtlp('meminfo_memtotal_bytes'), {
      name: 'qmemacct_node_meminfo_memtotal_bytes',
      unit: 'By',
      gauge: { dataPoints: [{ attributes: labels, asDouble: memory.value }] },
    });
    assert.deepEqual([ofOtlp('cpu_user_seconds_total').unit, ofOtlp('meminfo_used_ratio').unit], ['s', '1']);
    assert.equal(ofOtlp('cpu_user_seconds_total').sum?.dataPoints.length, 1);

    const influxLines = influx.asked.map((one) => one.body).join('');
    assert.ok(
      influxLines.includes(`\nqmemacct_node_meminfo_memtotal_bytes,site=north,host=${HOST} value=${memory.value} `),
    );

    const { stdout: text } = await run(site, 'node', '--prometheus');
    assert.ok(text.includes(`\nqmemacct_node_meminfo_memtotal_bytes ${memory.value}\n`), text);
    if (noPromtool === false) assertGood(text);
  });
});
