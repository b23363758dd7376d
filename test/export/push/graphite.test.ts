import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { metricFacts } from '../../../src/cli/metric-facts';
import { nodeMetrics } from '../../../src/export/prometheus/node-metrics';
import { FRUCTOSA_PLACES } from '../../../src/export/push/fructosa';
import { graphitePart, graphiteSink, graphiteValues } from '../../../src/export/push/graphite';
import { pointsOf } from '../../../src/export/push/point';
import { PATIENCE_MS, SENT, type Outcome } from '../../../src/export/push/sink';
import type { MetricSeries } from '../../../src/report/series/metric-series';
import { AT, certificate, noOpenssl, point, sinkOf, tcpServer } from './servers';
import { createServer as createTls } from 'node:tls';
import { listenOnPort } from '../../support/listening';

const SECONDS = AT / 1000;
const noPython = spawnSync('python3', ['--version']).status === 0 ? false : 'no python3 here';

/** Carbon: reads to the end, then closes. */
async function carbon(t: TestContext): Promise<{ readonly port: number; readonly heard: Buffer[] }> {
  const heard: Buffer[] = [];
  const port = await tcpServer(t, (socket) => {
    const pieces: Buffer[] = [];
    socket.on('data', (piece) => pieces.push(piece));
    socket.on('end', () => {
      heard.push(Buffer.concat(pieces));
      socket.end();
    });
  });
  return { port, heard };
}

const sinkAt = (port: number, kind: 'graphite' | 'graphite-pickle' = 'graphite', labels = {}) =>
  sinkOf({ kind, address: `tcp://127.0.0.1:${port}`, what: 'node', labels });

const POINTS = [
  point({ labels: { host: 'node01.example.org' } }),
  point({
    metric: 'qmemacct_node_job_used_bytes',
    labels: { host: 'node01.example.org', job: '4711', task: '', owner: 'eve\n.x 1 2' },
    value: 1.5,
  }),
];
const PATHS = [
  'qmemacct.node01_example_org.node_cpu_logical',
  'qmemacct.node01_example_org.node_job_used_bytes.4711.-.eve%0A%2Ex%201%202',
];

describe('Graphite', () => {
  it('gets lines', async (t) => {
    const { port, heard } = await carbon(t);
    assert.deepEqual(await graphiteSink(sinkAt(port), PATIENCE_MS).send(POINTS), SENT);
    const expected = `${PATHS[0] ?? ''} 8 ${SECONDS}\n${PATHS[1] ?? ''} 1.5 ${SECONDS}\n`;
    assert.deepEqual(heard.map(String), [expected]);
  });

  it('gets pickles that Python reads', { skip: noPython }, async (t) => {
    const { port, heard } = await carbon(t);
    const many = Array.from({ length: 1201 }, (_item, index) =>
      point({ value: index / 3, labels: { host: `n${index}` } }),
    );
    assert.deepEqual(await graphiteSink(sinkAt(port, 'graphite-pickle'), PATIENCE_MS).send([...POINTS, ...many]), SENT);
    // As carbon's receiver does: a length in 4 bytes, then a list of (path, (time, value)).
    const script = `
import json, pickle, struct, sys
data, found = sys.stdin.buffer.read(), []
while data:
    length, = struct.unpack('!L', data[:4])
    assert length <= 2 ** 20
    found += pickle.loads(data[4:4 + length])
    data = data[4 + length:]
json.dump(found, sys.stdout)`;
    const read = spawnSync('python3', ['-c', script], { input: heard[0], encoding: 'utf8', maxBuffer: 2 ** 24 });
    assert.equal(read.status, 0, read.stderr);
    assert.deepEqual(JSON.parse(read.stdout), [
      [PATHS[0], [SECONDS, 8]],
      [PATHS[1], [SECONDS, 1.5]],
      ...many.map(({ value }, index) => [`qmemacct.n${index}.node_cpu_logical`, [SECONDS, value]]),
    ]);
  });

  it('gets paths that begin with the labels of the site', () => {
    const [first] = graphiteValues([point({ labels: { site: 'a.b', host: 'n', disk: 'sda' } })], {
      ...sinkAt(1, 'graphite', { site: 'a.b' }),
    });
    assert.equal(first?.path, 'qmemacct.a%2Eb.n.node_cpu_logical.sda');
  });

  it('gets different paths for long names that differ in the last letter', () => {
    const long = '/scratch/' + 'a '.repeat(121);
    const parts = ['x', 'y', 'xé'].map((end) => graphitePart(long + end));
    assert.equal(new Set(parts).size, 3);
    for (const before of ['', 'x', 'xx']) {
      const part = graphitePart(before + '/'.repeat(100));
      assert.ok(part.length <= 200);
      assert.match(part, /^x*(?:%2F)+-[0-9a-f]{12}$/);
    }
    assert.equal(graphitePart('x'.repeat(200)), 'x'.repeat(200));
  });

  it('is sent points again later where it does not read all of them', async (t) => {
    const large = Array.from({ length: 100_000 }, (_item, index) => point({ labels: { host: `n${index}` } }));
    const sent = (port: number, patienceMs = PATIENCE_MS): Promise<Outcome> =>
      graphiteSink(sinkAt(port), patienceMs).send(large);
    const isLater = async (sending: Promise<Outcome>, reason: RegExp): Promise<void> => {
      const outcome = await sending;
      assert.ok(outcome.kind === 'later');
      assert.match(outcome.reason, reason);
    };
    const inTheMiddle = await tcpServer(t, (socket) => socket.once('data', () => socket.destroy()));
    await isLater(sent(inTheMiddle), /ECONNRESET|EPIPE|before it had read all/);
    await isLater(sent(await tcpServer(t, () => undefined), 300), /not taken within 0.3 s/);
    await isLater(sent(1), /ECONNREFUSED/);
  });

  it('is reached by TLS where its certificate is valid', { skip: noOpenssl }, async (t) => {
    const own = certificate('IP:127.0.0.1');
    const heard: string[] = [];
    const server = createTls(own, (socket) => {
      socket.on('data', (piece) => heard.push(String(piece)));
      socket.on('error', () => undefined);
    });
    const address = `tls://127.0.0.1:${await listenOnPort(t, server)}`;
    const to = (ca: string): Promise<Outcome> =>
      graphiteSink(sinkOf({ kind: 'graphite', address, what: 'node', ca }), PATIENCE_MS).send(POINTS);
    assert.deepEqual(await to(own.path), SENT);
    assert.match(heard.join(''), /^qmemacct\.node01_example_org\.node_cpu_logical 8/);
    const refused = await to('');
    assert.ok(refused.kind === 'later');
    assert.match(refused.reason, /self-signed certificate; is it the right server/);
  });
});

describe("FrUCToSA's names", () => {
  const settings = { ...sinkAt(1), names: 'fructosa' } as const;

  it('belong to existing metrics', () => {
    const known = new Set(nodeMetrics(metricFacts()).map(({ name }) => name));
    assert.deepEqual(
      [...FRUCTOSA_PLACES.keys()].filter((name) => !known.has(name)),
      [],
    );
  });

  it("are the names that FrUCToSA's agents use", () => {
    const of = (metric: string, value: number, labels = {}) =>
      point({ metric: `qmemacct_node_${metric}`, value, labels: { host: 'node01.example.org', ...labels } });
    const values = graphiteValues(
      [
        of('meminfo_memtotal_bytes', 64),
        of('meminfo_used_ratio', 0.25),
        of('cpu_per_cpu_busy_ratio', 0.5, { cpu: 'cpu12' }),
        of('cpu_logical', 4),
        of('disk_reads_total', 3, { device: 'sda' }),
        of('disk_reads_total', 4, { device: 'sdb' }),
        of('disk_busy_seconds_total', 2, { device: 'sda' }),
        of('diskusage_total_bytes', 10, { path: '/' }),
        of('diskusage_total_bytes', 99, { path: '/home' }),
        of('outbox_records', 1),
      ],
      settings,
    );
    assert.deepEqual(
      values.map(({ path, value, at }) => [path, value, at]),
      [
        ['node01.VirtualMemory.total', 64, SECONDS],
        ['node01.VirtualMemory.percent', 25, SECONDS],
        ['node01.CPUPercent.12', 50, SECONDS],
        ['node01.CPUCount', 4, SECONDS],
        ['node01.DiskIOCounters.read_count', 7, SECONDS],
        ['node01.DiskIOCounters.busy_time', 2000, SECONDS],
        ['node01.DiskUsage.total', 10, SECONDS],
      ],
    );
  });

  it('have the sum of the instances with the newest time only', () => {
    const instances = (times: Readonly<Record<string, number>>): readonly MetricSeries[] =>
      Object.entries(times).map(([instance, at]) => ({
        ...{ metric: 'disk_reads', instance, unit: 'count', kind: 'counter', at: [at], values: [3] },
      }));
    const sent = (series: readonly MetricSeries[]): unknown => {
      const outbox = { waiting: 0, refused: 0, oldest: null, reason: null };
      const figures = { series, records: [], outbox, version: '1', nowMs: AT, mostJobs: 0 };
      const points = pointsOf(nodeMetrics(metricFacts()), figures, { labels: { host: 'node01' }, at: AT });
      return graphiteValues(points, settings).map(({ path, value, at }) => [path, value, at]);
    };
    const path = 'node01.DiskIOCounters.read_count';
    assert.deepEqual(sent(instances({ sda: AT, sdb: AT })), [[path, 6, SECONDS]]);
    assert.deepEqual(sent(instances({ sda: AT + 5000, sdb: AT })), [[path, 3, SECONDS + 5]]);
  });
});
