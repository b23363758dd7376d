import { spawnSync } from 'node:child_process';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer as createHttp, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { SinkSettings } from '../../../src/record/export-sinks';
import type { Point } from '../../../src/export/push/point';
import { parseSettings, settingsToml, type Settings } from '../../../src/record/settings';
import { listenOnPort } from '../../support/listening';
import { temporaryDirectory } from '../../support/temporary-directory';

/** Servers on this machine that sinks are tried against. */

/** A request that a server received. */
export interface Asked {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HttpServer {
  readonly port: number;
  readonly asked: Asked[];
}

/** A server that keeps its requests and answers by `answer`. */
export async function httpServer(
  t: TestContext,
  answer: (asked: Asked, response: ServerResponse) => void,
  tls?: { readonly key: Buffer; readonly cert: Buffer },
): Promise<HttpServer> {
  const asked: Asked[] = [];
  const handle: Parameters<typeof createHttp>[1] = (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const one = { url: request.url ?? '', headers: request.headers, body: Buffer.concat(pieces).toString('utf8') };
      asked.push(one);
      answer(one, response);
    });
  };
  return { port: await listenOnPort(t, tls === undefined ? createHttp(handle) : createHttps(tls, handle)), asked };
}

/** The same answer to every request. */
export const alwaysAnswers =
  (status: number, text = '', headers: Readonly<Record<string, string>> = {}) =>
  (_asked: Asked, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(text);

/** A server that calls `handle` with each connection; its port. */
export function tcpServer(t: TestContext, handle: (socket: Socket) => void): Promise<number> {
  return listenOnPort(t, createTcp({ allowHalfOpen: true }, handle));
}

export const noOpenssl = spawnSync('openssl', ['version']).status === 0 ? false : 'no openssl here';

/** A key and a self-signed certificate for these names: `IP:127.0.0.1`. */
export function certificate(names: string): { readonly key: Buffer; readonly cert: Buffer; readonly path: string } {
  const directory = temporaryDirectory();
  const [key, path] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const words = ['req', '-x509', ...kind, '-subj', '/CN=sink', '-addext', `subjectAltName=${names}`];
  const made = spawnSync('openssl', [...words, '-keyout', key, '-out', path], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  return { key: readFileSync(key), cert: readFileSync(path), path };
}

type SinkTable = Partial<SinkSettings> & Pick<SinkSettings, 'kind' | 'address' | 'what'>;

/** Settings with these sinks, each named after its kind, as they are read from a file. */
export function sinkSettings(sinks: readonly SinkTable[], others: Partial<Settings> = {}): Settings {
  const tables = sinks.map((sink) => ({ name: sink.kind, ...sink }));
  return parseSettings(settingsToml({ ...others, export: tables as unknown as readonly SinkSettings[] }), 'x.toml');
}

/** The settings of one sink. */
export function sinkOf(sink: SinkTable): SinkSettings {
  return sinkSettings([sink]).export[0] ?? assert.fail();
}

export const AT = Date.UTC(2026, 10, 21, 12);

export function point(changes: Partial<Point> = {}): Point {
  return { metric: 'qmemacct_node_cpu_logical', type: 'gauge', unit: '', labels: {}, value: 8, at: AT, ...changes };
}
