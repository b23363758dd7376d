import { createServer as createHttp, type ServerResponse } from 'node:http';
import { createServer as createTcp, type AddressInfo, type Server } from 'node:net';
import { openMetricSink, openRecordSink, sendAll, type Sink } from '../../src/export/push/sink';
import type { Point } from '../../src/export/push/point';
import type { SinkSettings } from '../../src/record/export-sinks';
import { formatCount } from '../../src/report/format/units';
import { realisticRecords } from '../accounting/realistic-record';
import type { Row } from './bench';

/** The cost of a pushing sink for an item: written, sent, and received by a server on this machine that ignores it. */

const POINTS = 100_000;
const RECORDS = 10_000;

type Pushed = Pick<SinkSettings, 'kind' | 'what'>;

const METRIC_SINKS: readonly (Pushed & { readonly address: string })[] = [
  { kind: 'influx', what: 'cluster', address: 'http://127.0.0.1/write?db=x' },
  { kind: 'otlp', what: 'cluster', address: 'http://127.0.0.1/v1/metrics' },
  { kind: 'graphite', what: 'cluster', address: 'tcp://127.0.0.1' },
  { kind: 'graphite-pickle', what: 'cluster', address: 'tcp://127.0.0.1' },
];

const settingsOf = ({ kind, what }: Pushed, address: string): SinkSettings => ({
  ...{ name: kind, kind, what, address, interval: 60, labels: {}, user: '', credentials: '', ca: '' },
  ...{ names: 'qmemacct', spool_mib: 64 },
});

/** The answer of Elasticsearch to a bulk; other sinks only read the status. */
function answer(body: string, response: ServerResponse): void {
  const items = body.match(/^\{"create"/gm) ?? [];
  response.end(JSON.stringify({ errors: false, items: items.map(() => ({ create: { status: 201 } })) }));
}

const takeHttp = (): Server =>
  createHttp((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => answer(Buffer.concat(pieces).toString('latin1'), response));
  });

const takeTcp = (): Server =>
  createTcp((socket) => {
    socket.resume();
    socket.on('error', () => undefined);
  });

async function withServer<T>(server: Server, work: (port: number) => Promise<T>): Promise<T> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await work((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

async function sendingRow<Item>(kind: string, sink: Sink<Item>, items: readonly Item[]): Promise<Row> {
  const before = process.cpuUsage();
  const began = performance.now();
  const outcome = await sendAll(sink, items);
  const ms = performance.now() - began;
  if (outcome.kind !== 'sent' || outcome.refused > 0) throw new Error(`${kind}: ${JSON.stringify(outcome)}`);
  const { user, system } = process.cpuUsage(before);
  const cpu = ((user + system) / items.length).toFixed(1);
  const note = `${formatCount(Math.round((items.length / ms) * 1000))} a second; CPU ${cpu} us, with the server's`;
  return { what: kind, unit: 'us', values: [(ms * 1000) / items.length], note };
}

const points = (): readonly Point[] =>
  Array.from({ length: POINTS }, (_item, index) => ({
    metric: `qmemacct_node_figure_${index % 200}_bytes`,
    ...{ type: 'gauge', unit: 'bytes', value: index * 4096, at: Date.UTC(2026, 10, 1) + index },
    labels: { cluster: 'hpc', host: `node${index % 97}`, device: `sd${index % 7}` },
  }));

export async function pushRows(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const sent = points();
  for (const { address, ...sink } of METRIC_SINKS)
    await withServer(address.startsWith('tcp') ? takeTcp() : takeHttp(), async (port) => {
      const at = address.replace('127.0.0.1', `127.0.0.1:${port}`);
      rows.push(await sendingRow(`${sink.kind}, a point`, await openMetricSink(settingsOf(sink, at)), sent));
    });
  const { next } = realisticRecords();
  const records = Array.from({ length: RECORDS }, () => next());
  const sink = { kind: 'elasticsearch', what: 'records' } as const;
  await withServer(takeHttp(), async (port) => {
    const opened = await openRecordSink(settingsOf(sink, `http://127.0.0.1:${port}/qmemacct`));
    rows.push(await sendingRow('elasticsearch, a record', opened, records));
  });
  return rows;
}
