import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import { ordinary } from '../report/sample-records';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { loadServer } from './http-load';
import { temporaryDirectory } from '../support/temporary-directory';

/** `qmemacct serve` with 500 clients at once, who share this machine with it. */

const CLIENTS = 500;
/** At least one new snapshot. */
const SECONDS = 11;
const SITES = [
  { hosts: 50, jobs: 60 },
  { hosts: 500, jobs: 10_000 },
] as const;

const REQUESTS: readonly (readonly [what: string, path: string, headers: string])[] = [
  ['/qhost', '/qhost', ''],
  ['/qhost, packed', '/qhost', 'Accept-Encoding: gzip\r\n'],
  ['/v1/live, one owner', '/v1/live?owner=user7', ''],
  ['/v1/health', '/v1/health', ''],
  ['/v1/job (accounting DB)', '/v1/job/4711', ''],
];

type Server = ChildProcessByStdio<Writable, Readable, null>;

function rssMib(server: Server, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${server.pid ?? 0}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? NaN) / 1024;
}

async function siteSection(site: (typeof SITES)[number], { quick, progress }: BenchOptions): Promise<Section> {
  const directory = temporaryDirectory();
  const words = [join(__dirname, 'serve-site.js'), directory, String(site.hosts), String(site.jobs)];
  const store = openSqliteStore(join(directory, 'accounting.db'), 0o600);
  await store.merge([ordinary]);
  await store.close();
  const server: Server = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const [said] = (await once(server.stdout, 'data')) as [Buffer];
    const port = Number(said.toString());
    const rows: Row[] = [{ what: 'RSS at rest', unit: 'MiB', values: [rssMib(server, 'VmRSS')] }];
    for (const [what, path, headers] of REQUESTS) {
      progress(`serve: ${site.jobs} jobs, ${what}`);
      const text = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
      const { ms, failures, seconds } = await loadServer(port, text, CLIENTS, quick ? 2 : SECONDS);
      rows.push(
        { what, unit: 'requests/s', values: [ms.length / seconds], note: `${failures} failures` },
        { what: `${what}: time to the last byte`, unit: 'ms', values: ms },
      );
    }
    rows.push({ what: 'RSS at most', unit: 'MiB', values: [rssMib(server, 'VmHWM')] });
    const title = `serve: ${CLIENTS} clients at once, ${site.hosts} hosts, ${site.jobs} jobs, a new snapshot every 10 s`;
    return { title, rows, notes: ['the clients run on this machine, too'] };
  } finally {
    server.stdin.end();
    server.kill('SIGTERM');
  }
}

export const serveBench: Bench = {
  name: 'serve',
  about: '500 clients at once: requests a second, waiting times, memory of the server',
  run: async (options) => {
    const sections: Section[] = [];
    for (const site of SITES) sections.push(await siteSection(site, options));
    return sections;
  },
};
