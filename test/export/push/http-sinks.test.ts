import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { elasticsearchSink, indexTemplate } from '../../../src/export/push/elasticsearch';
import { influxSink } from '../../../src/export/push/influx';
import { otlpSink } from '../../../src/export/push/otlp';
import { later, PATIENCE_MS, sendAll, SENT, type Outcome } from '../../../src/export/push/sink';
import type { SinkSettings } from '../../../src/record/export-sinks';
import { PLAIN_COLUMNS } from '../../../src/record/plain-columns';
import { job, T0 } from '../../accounting/suite/fixture';
import { temporaryDirectory } from '../../support/temporary-directory';
import { AT, certificate, httpServer, noOpenssl, point, alwaysAnswers, sinkOf, tcpServer, type Asked } from './servers';

const influxAt = (port: number, changes: Partial<ReturnType<typeof sinkOf>> = {}) => ({
  ...sinkOf({ kind: 'influx', address: `http://127.0.0.1:${port}/write?db=x`, what: 'node' }),
  ...changes,
});

/** Sends one point to InfluxDB. */
const sendOne = (settings: ReturnType<typeof sinkOf>, patienceMs = PATIENCE_MS): Promise<Outcome> =>
  influxSink(settings, patienceMs).send([point()]);

async function isLater(sending: Promise<Outcome>, reason: RegExp): Promise<number> {
  const outcome = await sending;
  assert.ok(outcome.kind === 'later', JSON.stringify(outcome));
  assert.match(outcome.reason, reason);
  assert.ok(!outcome.reason.includes('\n'));
  return outcome.waitMs;
}

function secretFile(text: string): string {
  const path = join(temporaryDirectory(), 'secret');
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return path;
}

describe('an HTTP sink', () => {
  it('keeps points for later where the server may still take them', async (t) => {
    const answering = async (status: number, headers = {}): Promise<Outcome> =>
      sendOne(influxAt((await httpServer(t, alwaysAnswers(status, 'no\nreason', headers))).port));
    await isLater(answering(401), /status 401: it rejects the user or token/);
    await isLater(answering(404), /check "address"/);
    await isLater(answering(503), /status 503: no\\x0areason/);
    await isLater(answering(301), /status 301/);
    assert.equal(await isLater(answering(429, { 'retry-after': '7' }), /overloaded/), 7000);
    const inAMinute = new Date(Date.now() + 60_000).toUTCString();
    const wait = await isLater(answering(503, { 'retry-after': inAMinute }), /503/);
    assert.ok(wait > 0 && wait <= 60_000, String(wait));
    assert.equal(await isLater(answering(503, { 'retry-after': 'soon' }), /503/), 0);
  });

  it('keeps points for later where there is no whole answer', async (t) => {
    const port = (handle: Parameters<typeof tcpServer>[1]): Promise<number> => tcpServer(t, handle);
    const garbage = await port((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.2\r\n')));
    await isLater(sendOne(influxAt(garbage)), /Parse Error/);
    const half = await port((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 204 No\r\ncontent-length: 9\r\n\r\nno')),
    );
    await isLater(sendOne(influxAt(half)), /aborted|hang up|Parse Error/);
    const hangsUp = await port((socket) => socket.once('data', () => socket.destroy()));
    await isLater(sendOne(influxAt(hangsUp)), /hang up|ECONNRESET/);
    const silent = await port(() => undefined);
    await isLater(sendOne(influxAt(silent), 200), /no answer within 0.2 s/);
    await isLater(sendOne(influxAt(1)), /ECONNREFUSED/);
    const endless = await httpServer(t, (_asked, response) => {
      const more = (error?: Error | null): void => {
        if (!error && !response.destroyed) response.write(Buffer.alloc(1024 ** 2), more);
      };
      more();
    });
    await isLater(sendOne(influxAt(endless.port)), /longer than/);
  });

  it('shows a password or token to nobody but the server', async (t) => {
    const server = await httpServer(t, alwaysAnswers(204));
    const credentials = secretFile('s3cret');
    await sendOne(influxAt(server.port, { credentials }));
    await sendOne(influxAt(server.port, { credentials, user: 'bob' }));
    await otlpSink(influxAt(server.port, { credentials }), PATIENCE_MS).send([point()]);
    const basic = `Basic ${Buffer.from('bob:s3cret').toString('base64')}`;
    const given = server.asked.map(({ headers }) => headers.authorization);
    assert.deepEqual(given, ['Token s3cret', basic, 'Bearer s3cret']);
    chmodSync(credentials, 0o644);
    await isLater(sendOne(influxAt(server.port, { credentials })), /others may read .*chmod 600/);
    assert.equal(server.asked.length, 3);
  });

  it('checks certificates', { skip: noOpenssl }, async (t) => {
    const [right, strange] = [certificate('IP:127.0.0.1'), certificate('DNS:other.example')];
    const ended = JSON.stringify({ errors: false, items: [{ create: { status: 201 } }] });
    const to = async (own: typeof right, ca: string, send = sendOne): Promise<Outcome> => {
      const { port } = await httpServer(t, alwaysAnswers(200, ended), own);
      return send(influxAt(port, { address: `https://127.0.0.1:${port}/write`, ca }));
    };
    const others = [
      (settings: SinkSettings) => otlpSink(settings, PATIENCE_MS).send([point()]),
      (settings: SinkSettings) => elasticsearchSink(settings, PATIENCE_MS).send([job(1, T0)]),
    ];
    for (const send of others) {
      assert.deepEqual(await to(right, right.path, send), { kind: 'sent', refused: 0, reason: '' });
      await isLater(to(right, '', send), /self-signed certificate; is it the right server/);
      await isLater(to(strange, strange.path, send), /altname|IP/);
    }
    assert.deepEqual(await to(right, right.path), SENT);
    await isLater(to(right, ''), /self-signed certificate; is it the right server\? "ca" names/);
    await isLater(to(right, strange.path), /self-signed|certificate/);
    await isLater(to(strange, strange.path), /altname|IP/);
    await isLater(to(right, '/nonexistent.pem'), /nonexistent\.pem/);
  });

  it('keeps points for later where an empty request is refused in the same words, as by a proxy or a port of HTTPS', async (t) => {
    const points = [point(), point()];
    const plain = 'Client sent an HTTP request to an HTTPS server.';
    for (const make of [influxSink, otlpSink]) {
      for (const [status, text, reason] of [
        [400, plain, /status 400: Client sent/],
        [413, '<html>', /too large/],
      ] as const) {
        const { port } = await httpServer(t, alwaysAnswers(status, text));
        await isLater(sendAll(make(influxAt(port), PATIENCE_MS), points), reason);
      }
      const refusing = await httpServer(t, ({ body }, response) => {
        const isEmpty = body === '' || body.includes('"resourceMetrics":[]');
        response.writeHead(400).end(isEmpty ? 'writing requires points' : 'unable to parse');
      });
      const outcome = await sendAll(make(influxAt(refusing.port), PATIENCE_MS), points);
      assert.deepEqual(outcome, { kind: 'sent', refused: 2, reason: 'status 400: unable to parse' });
    }
  });

  it('halves a request that is too large, and counts a point that is too large alone as refused', async (t) => {
    const server = await httpServer(t, ({ body }, response) => {
      const isLarge = body.split('\n').length > 3 || body.includes('99');
      response.writeHead(isLarge ? 413 : 204).end();
    });
    const points = [1, 2, 99, 4, 5].map((value) => point({ value }));
    const outcome = await sendAll(influxSink(influxAt(server.port), PATIENCE_MS), points);
    assert.deepEqual(outcome, { kind: 'sent', refused: 1, reason: 'it is too large for the server' });
    const taken = server.asked.filter(({ body }) => body.split('\n').length <= 3 && !body.includes('99'));
    const values = taken.flatMap(({ body }) => [...body.matchAll(/value=(\d+)/g)].map(([, value]) => Number(value)));
    assert.deepEqual(values, [1, 2, 4, 5]);
  });
});

describe('InfluxDB', () => {
  it('gets lines of its protocol, at the address of either version', async (t) => {
    const server = await httpServer(t, alwaysAnswers(204));
    const labels = { host: 'node 1', path: 'a=b,c', empty: '' };
    for (const path of ['write?db=x', 'api/v2/write?org=o&bucket=b']) {
      const settings = influxAt(server.port, { address: `http://127.0.0.1:${server.port}/${path}` });
      assert.deepEqual(await influxSink(settings, PATIENCE_MS).send([point({ labels }), point({ value: 0.5 })]), SENT);
    }
    assert.deepEqual(
      server.asked.map(({ url }) => url),
      ['/write?db=x&precision=ms', '/api/v2/write?org=o&bucket=b&precision=ms'],
    );
    assert.equal(
      server.asked[0]?.body,
      `qmemacct_node_cpu_logical,host=node\\ 1,path=a\\=b\\,c value=8 ${AT}\nqmemacct_node_cpu_logical value=0.5 ${AT}\n`,
    );
  });

  it('may refuse some points of a write or all, which are counted', async (t) => {
    const partial = '{"error":"partial write: points beyond retention policy dropped=2"}';
    for (const [text, refused] of [
      [partial, 2],
      ['{"code":"invalid","message":"unable to parse"}', 3],
    ] as const) {
      const { port } = await httpServer(t, alwaysAnswers(400, text));
      const outcome = await influxSink(influxAt(port), PATIENCE_MS).send([point(), point(), point()]);
      assert.deepEqual(outcome, { kind: 'sent', refused, reason: `status 400: ${text}` });
    }
  });
});

describe('OTLP', () => {
  it('gets gauges and sums', async (t) => {
    const server = await httpServer(t, alwaysAnswers(200, '{}'));
    const address = `http://127.0.0.1:${server.port}/v1/metrics`;
    const counter = point({
      metric: 'qmemacct_node_cpu_busy_seconds_total',
      type: 'counter',
      unit: 'seconds',
      labels: { host: 'n' },
      value: 3,
    });
    const settings = sinkOf({ kind: 'otlp', address, what: 'node' });
    assert.deepEqual(await otlpSink(settings, PATIENCE_MS).send([point(), counter]), SENT);
    const [{ url, headers, body }] = server.asked as [Asked];
    assert.deepEqual([url, headers['content-type']], ['/v1/metrics', 'application/json']);
    const attributes = [{ key: 'host', value: { stringValue: 'n' } }];
    const timeUnixNano = `${AT}000000`;
    assert.deepEqual(JSON.parse(body), {
      resourceMetrics: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'qmemacct' } }] },
          scopeMetrics: [
            {
              scope: { name: 'qmemacct' },
              metrics: [
                {
                  name: 'qmemacct_node_cpu_logical',
                  unit: '',
                  gauge: { dataPoints: [{ attributes: [], timeUnixNano, asDouble: 8 }] },
                },
                {
                  name: 'qmemacct_node_cpu_busy_seconds_total',
                  unit: 's',
                  sum: {
                    aggregationTemporality: 2,
                    isMonotonic: true,
                    dataPoints: [{ attributes, timeUnixNano, asDouble: 3 }],
                  },
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it('may refuse some points, which are counted', async (t) => {
    const partial = '{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"too\\nold"}}';
    for (const [text, expected] of [
      [partial, { kind: 'sent', refused: 2, reason: 'too\\x0aold' }],
      ['', SENT],
      ['nonsense', SENT],
    ] as const) {
      const { port } = await httpServer(t, alwaysAnswers(200, text));
      assert.deepEqual(await otlpSink(influxAt(port), PATIENCE_MS).send([point(), point()]), expected);
    }
  });
});

describe('Elasticsearch', () => {
  const settingsOf = (port: number) =>
    sinkOf({ kind: 'elasticsearch', address: `http://127.0.0.1:${port}/qmemacct-2026`, what: 'records' });
  const records = [job(1, T0), job(2, T0), job(3, T0)];
  const bulk = async (t: TestContext, status: number, text: string): Promise<Outcome> => {
    const { port } = await httpServer(t, alwaysAnswers(status, text));
    return elasticsearchSink(settingsOf(port), PATIENCE_MS).send(records);
  };
  const answerOf = (...statuses: readonly number[]): string =>
    JSON.stringify({
      errors: statuses.some((status) => status > 299),
      items: statuses.map((status) => ({
        create: { status, ...(status > 299 ? { error: { reason: `reason ${status}` } } : {}) },
      })),
    });

  it('gets all columns of each record, under an id that depends on the run only', async (t) => {
    const server = await httpServer(t, alwaysAnswers(200, answerOf(201, 201, 201)));
    const sink = elasticsearchSink(settingsOf(server.port), PATIENCE_MS);
    assert.deepEqual(await sink.send(records), SENT);
    await sink.send(records.map((record) => ({ ...record, cpu_seconds: 7, revision: 99 })));
    const [first, second] = server.asked.map(({ body }) =>
      body
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    );
    assert.equal(server.asked[0]?.url, '/qmemacct-2026/_bulk');
    assert.equal(server.asked[0].headers['content-type'], 'application/x-ndjson');
    const ids = first?.filter((_line, index) => index % 2 === 0).map((line) => line.create);
    assert.equal(new Set(ids?.map((id) => JSON.stringify(id))).size, 3);
    assert.deepEqual(
      second?.filter((_line, index) => index % 2 === 0).map((line) => line.create),
      ids,
    );
    const { '@timestamp': at, ...document } = first?.[1] ?? {};
    assert.equal(at, records[0]?.ended_at);
    assert.deepEqual(
      document,
      JSON.parse(JSON.stringify(Object.fromEntries(PLAIN_COLUMNS.map(({ name, value }) => [name, value(job(1, T0))])))),
    );
  });

  it('keeps each record once: an existing record counts as sent, a refused record is counted', async (t) => {
    assert.deepEqual(await bulk(t, 200, answerOf(201, 409, 200)), SENT);
    const reason = '{"reason":"reason 400"}';
    assert.deepEqual(await bulk(t, 200, answerOf(201, 400, 409)), { kind: 'sent', refused: 1, reason });
  });

  it('gets all records again where one was not taken', async (t) => {
    await isLater(bulk(t, 200, answerOf(201, 429, 400)), /status 429 for a record: .*reason 429/);
    await isLater(bulk(t, 200, answerOf(201, 201)), /answered for 2 of 3 records/);
    await isLater(bulk(t, 200, '<html>login</html>'), /is not JSON: is it Elasticsearch or OpenSearch/);
    await isLater(bulk(t, 200, '{"took":1}'), /errors is not true or false/);
    await isLater(bulk(t, 400, 'The plain HTTP request was sent to HTTPS port'), /plain HTTP request/);
    await isLater(bulk(t, 429, ''), /overloaded/);
    assert.deepEqual(await bulk(t, 413, ''), { kind: 'too-large' });
  });

  it('is tested without a record', async (t) => {
    const { port, asked } = await httpServer(t, alwaysAnswers(400, '{"error":"request body is required"}'));
    assert.equal((await elasticsearchSink(settingsOf(port), PATIENCE_MS).test()).kind, 'sent');
    assert.equal(asked[0]?.body, '\n');
    const refusing = await httpServer(t, alwaysAnswers(403));
    const outcome = await elasticsearchSink(settingsOf(refusing.port), PATIENCE_MS).test();
    assert.deepEqual(outcome, later('status 403: the user or token may not write there'));
  });

  it('has a template with a type for every column', () => {
    const { template } = indexTemplate() as { readonly template: { mappings: { properties: Record<string, object> } } };
    const { properties } = template.mappings;
    assert.deepEqual(Object.keys(properties), ['@timestamp', ...PLAIN_COLUMNS.map(({ name }) => name)]);
    assert.deepEqual(properties.requests, { type: 'object', enabled: false });
    assert.deepEqual(properties.peak_rss_lower_bytes, { type: 'long' });
  });
});
