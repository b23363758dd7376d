import { mkdirSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeStatus } from '../../src/record/node-status';
import type { JobRecord } from '../../src/record/record';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import { noPostgres } from '../accounting/postgres/server';
import { heartbeatOf, realisticRecords, seededRandom } from '../accounting/realistic-record';
import { lineOf, startDeliverer, type DeliveredRow, type Deliverer } from '../accounting/run-deliverer';
import { statusOf } from '../accounting/suite/node-suite';
import { temporaryDirectory } from '../support/temporary-directory';
import type { Bench, BenchOptions, Section } from './bench';
import { fillPostgres, HOOKS, type PostgresHistory } from './history-postgres';
import { median, quantile } from './statistics';
import { startWebSite } from './web-site';
import { see } from './web-viewers';

/**
 * A cell of 2,000 hosts with 10,000 running jobs, of which 50,000 a day end: its heartbeats and deliveries into
 * PostgreSQL while `qmemacct serve` merges them and answers for pages; then the same faster, until something falls behind.
 */

const HOSTS = 2000;
const JOBS_OF_A_HOST = 5;
const JOBS_A_DAY = 50_000;
const SPEEDS = [1, 3, 10, 30] as const;
/** Deliverers that keep running: the cost of starting one is measured by another benchmark. */
const POOL = 40;
const SEED = 1;

interface Host {
  readonly status: NodeStatus;
  readonly running: JobRecord[];
}

/** Records of jobs that start now: with numbers and hosts of this cell. */
function jobsOfNow(): (host: number) => JobRecord {
  const { next } = realisticRecords(SEED);
  let number = 50_000_000;
  return (host) => {
    const record = next();
    const later = Date.now() - Date.parse(record.started_at ?? '');
    const moved = (time: string | null): string | null =>
      time === null ? null : new Date(Date.parse(time) + later).toISOString();
    return {
      ...record,
      job_id: number++,
      task_id: null,
      host: `node${host}`,
      submitted_at: moved(record.submitted_at),
      started_at: moved(record.started_at),
      ended_at: null,
    };
  };
}

/** Deliverers that take lines of records one host after the other. */
class Pool {
  private readonly idle: { readonly deliverer: Deliverer; readonly hear: AsyncIterator<string> }[] = [];
  private readonly all: readonly Deliverer[];

  constructor(url: string) {
    this.all = Array.from({ length: POOL }, () => startDeliverer(['--accounting', url, '--patience', '600']));
    for (const deliverer of this.all)
      this.idle.push({
        deliverer,
        hear: createInterface({ input: deliverer.process.stdout })[Symbol.asyncIterator](),
      });
  }

  get free(): boolean {
    return this.idle.length > 0;
  }

  /** Resolves when all are in the accounting DB. */
  async deliver(status: NodeStatus, records: readonly JobRecord[]): Promise<void> {
    const one = this.idle.pop();
    if (one === undefined) throw new Error('no deliverer is free');
    const lines = records.map((record, id) => lineOf(id, record)).join('');
    one.deliverer.process.stdin.write(`${lines}${JSON.stringify({ node: status })}\n`);
    for (const { job_id: job } of records) {
      const line = await one.hear.next();
      const row = line.done === true ? null : (JSON.parse(line.value) as DeliveredRow);
      if (row?.ok !== true) throw new Error(`job ${job}: a deliverer said ${row?.error ?? 'nothing'}`);
    }
    this.idle.push(one);
  }

  async end(): Promise<void> {
    for (const { process: child } of this.all) child.stdin.end();
    await Promise.all(this.all.map(({ finished }) => finished));
  }

  kill(): void {
    for (const { process: child } of this.all) child.kill();
  }
}

interface Delivered {
  /** ms from when a host has something to send until it is stored. */
  readonly waits: readonly number[];
  readonly records: number;
  /** Hosts whose turn came and was not over at the end. */
  readonly late: number;
}

/** The hosts at work at `speed` times their usual pace; each heartbeat has all running jobs of its host. */
class Cell {
  private readonly newJob = jobsOfNow();
  private readonly random = seededRandom(SEED);
  private readonly hosts: readonly Host[] = Array.from({ length: HOSTS }, (_none, host) => ({
    status: statusOf(`node${host}`, { cluster: 'hpc', scope: 'node', last_job_at: new Date().toISOString() }),
    running: Array.from({ length: JOBS_OF_A_HOST }, () => this.newJob(host)),
  }));
  private turn = 0;
  /** Delivered records of jobs that have ended. */
  readonly ended: JobRecord[] = [];

  constructor(readonly pool: Pool) {}

  /** Reports every running job once. */
  async begin(): Promise<void> {
    for (let index = 0; index < HOSTS;) {
      if (this.pool.free) void this.send(index++, []);
      else await sleep(1);
    }
  }

  async during(seconds: number, speed: number): Promise<Delivered> {
    const waits: number[] = [];
    let records = 0;
    const queue: { readonly host: number; readonly ended: readonly JobRecord[]; readonly due: number }[] = [];
    const [beatMs, endMs] = [(DEFAULT_SETTINGS.heartbeat * 1000) / HOSTS / speed, 86_400_000 / JOBS_A_DAY / speed];
    const began = performance.now();
    let [beats, ends] = [0, 0];
    for (let now = 0; now < seconds * 1000; now = performance.now() - began) {
      for (; beats * beatMs <= now; beats++) queue.push({ host: this.turn++ % HOSTS, ended: [], due: beats * beatMs });
      for (; ends * endMs <= now; ends++) queue.push({ ...this.endOne(), due: ends * endMs });
      while (this.pool.free) {
        const next = queue.shift();
        if (next === undefined) break;
        void this.send(next.host, next.ended).then((sent) => {
          waits.push(performance.now() - began - next.due);
          records += sent;
        });
      }
      await sleep(1);
    }
    return { waits, records, late: queue.length };
  }

  private endOne(): { readonly host: number; readonly ended: readonly JobRecord[] } {
    const host = Math.floor(this.random() * HOSTS);
    const { running } = this.hosts[host] as Host;
    const record = running.shift() as JobRecord;
    running.push(this.newJob(host));
    return { host, ended: [{ ...record, ended_at: new Date().toISOString(), revision: Date.now() }] };
  }

  /** Resolves to the number of records sent. */
  private async send(host: number, ended: readonly JobRecord[]): Promise<number> {
    const { status, running } = this.hosts[host] as Host;
    const revision = Date.now();
    const records = ended.length > 0 ? ended : running.map((record) => ({ ...heartbeatOf(record), revision }));
    await this.pool.deliver(status, records);
    this.ended.push(...ended);
    return records.length;
  }
}

const PAGES = {
  'running jobs': '/?jobs=1',
  'all jobs, 7 days': '/jobs',
  'the cluster, 30 days': '/cluster',
  'all nodes': '/v1/nodes',
} as const;

/** The median time of each page while `work` goes on, one page after the other. */
async function viewDuring<T>(port: number, work: Promise<T>): Promise<readonly [T, readonly number[]]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times = Object.values(PAGES).map((): number[] => []);
  let over = false;
  const done = work.finally(() => (over = true));
  while (!over)
    for (const [index, path] of Object.values(PAGES).entries()) {
      const { ms, status } = await see(port, path, agent);
      if (status !== 200) throw new Error(`${path} was answered with status ${status}`);
      times[index]?.push(ms);
      await sleep(50);
    }
  agent.destroy();
  return [await done, times.map(median)];
}

/** Throws where a job that ended is missing or stored twice. */
async function requireEnded(history: PostgresHistory, ended: readonly JobRecord[]): Promise<void> {
  const reader = history.open();
  for (const { job_id } of ended) {
    const { records } = await reader.job({ job_id, all: true });
    if (records.length !== 1 || records[0]?.record.ended_at === null)
      throw new Error(`job ${job_id} is there ${records.length} times, or not ended`);
  }
  await reader.close();
}

async function measure(history: PostgresHistory, options: BenchOptions): Promise<Section> {
  const seconds = options.quick ? 20 : 60;
  const clients = join(temporaryDirectory(), 'cell');
  mkdirSync(clients);
  const site = await startWebSite(clients, history.url(), HOSTS * JOBS_OF_A_HOST);
  const pool = new Pool(history.url(HOOKS));
  const cell = new Cell(pool);
  const lines: (readonly string[])[] = [
    ['pace', 'records/s', 'wait', '99 %', 'late', 'CPU of serve', ...Object.keys(PAGES)],
  ];
  try {
    await cell.begin();
    for (const speed of options.quick ? SPEEDS.slice(0, 2) : SPEEDS) {
      options.progress(`cell: ${speed} times its pace`);
      const cpu = site.cpuSeconds();
      const [{ waits, records, late }, pages] = await viewDuring(site.port, cell.during(seconds, speed));
      lines.push([
        `${speed}`,
        (records / seconds).toFixed(0),
        `${median(waits).toFixed(0)} ms`,
        `${quantile(waits, 0.99).toFixed(0)} ms`,
        `${late} hosts`,
        `${(((site.cpuSeconds() - cpu) / seconds) * 100).toFixed(0)} %`,
        ...pages.map((ms) => `${ms.toFixed(0)} ms`),
      ]);
    }
    await pool.end();
    await requireEnded(history, cell.ended);
  } finally {
    pool.kill();
    await site.stop();
  }
  return {
    title: `cell: ${HOSTS} hosts, ${HOSTS * JOBS_OF_A_HOST} running jobs, ${JOBS_A_DAY} a day end; ${history.records} records before`,
    rows: [],
    table: lines,
    notes: [
      `${cell.ended.length} jobs ended, and each is there once. All of it shares this machine: ${POOL} deliverers, ` +
        'PostgreSQL, qmemacct serve and who asks for pages.',
    ],
  };
}

async function run(options: BenchOptions): Promise<readonly Section[]> {
  if (noPostgres !== false) return [{ title: `cell: not measured, ${noPostgres}`, rows: [] }];
  const size = options.jobs ?? (options.quick ? 100_000 : 1_000_000);
  const history = await fillPostgres(size, Date.now(), SEED, options.progress);
  try {
    return [await measure(history, options)];
  } finally {
    await history.remove();
  }
}

export const cellBench: Bench = {
  name: 'cell',
  about:
    '2,000 hosts with 10,000 running jobs into PostgreSQL, and pages meanwhile; then at 3, 10 and 30 times its pace',
  run,
};
