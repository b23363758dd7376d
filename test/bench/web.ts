import { mkdirSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RELOAD_SECONDS } from '../../src/server/web/page';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import type { Bench, BenchOptions, Row, Section } from './bench';
import type { BudgetName } from './budgets';
import { FIRST_JOB, fillHistory, type History } from './history-fill';
import { keptHistory } from './history-kept';
import { hostName } from './history-week';
import { startWebSite, type WebSite } from './web-site';
import { see, watchPages } from './web-viewers';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';

/** How long the pages of `qmemacct serve` take over years of a site and 10,000 running jobs, and what viewers cost. */

const SEED = 1;
const QUICK_RECORDS = 100_000;
const USUAL_RECORDS = 1_000_000;
const RUNNING = 10_000;
const VIEWERS = 200;

type Page = readonly [what: string, path: (turn: number) => string, budget: BudgetName];

/** Each turn requests another page, so that no answer comes from a cache. */
function pagesOf({ week, weeks }: History): readonly Page[] {
  const jobs = week.jobs * weeks;
  const job = (turn: number): number => FIRST_JOB + ((turn * 7919) % jobs);
  const host = (turn: number): string => hostName(turn * 37);
  const kind = week.runs.find(({ record }) => record?.owner === 'bob')?.record?.job_name ?? 'none';
  const live: Page[] = [
    ['now', (turn) => `/?jobs=${1 + turn}&hosts=1`, 'page of 10,000 running jobs'],
    ['now, one user', (turn) => `/?owner=user${turn % 97}`, 'page of 10,000 running jobs'],
    ['a running job', (turn) => `/job/${1 + turn}?all=true`, 'page of 10,000 running jobs'],
  ];
  const kept: Page[] = [
    ['a job', (turn) => `/job/${job(turn)}`, 'page over the history'],
    [
      'three jobs compared',
      (turn) => `/compare?jobs=${[1, 2, 3].map((step) => job(turn + step)).join()}`,
      'page over the history',
    ],
    ['a kind of job', () => `/class?owner=bob&job_name=${encodeURIComponent(kind)}`, 'page over the history'],
    ['all jobs, 7 days', () => '/jobs', 'page over the history'],
    ['all jobs, 30 days', () => '/jobs?since=30d', 'page over the history'],
    ['a user, 7 days', () => '/jobs?owner=bob', 'page over the history'],
    ['a user, 30 days', () => '/jobs?owner=bob&since=30d', 'page over the history'],
    ['the user with most jobs, 30 days', () => '/jobs?owner=user000&since=30d', 'page over the history'],
    ['a project, 7 days', (turn) => `/jobs?project=group${turn % 40}`, 'page over the history'],
    ['all jobs, largest peak first', () => '/jobs?sort=peak', 'page over the history'],
    ['jobs that ended badly, 7 days', () => '/jobs?failed=true', 'page over the history'],
    ['a queue, 30 days', () => '/jobs?queue=gpu.q&since=30d', 'page over the history'],
    ['a name pattern, 7 days', () => '/jobs?job_name=al*', 'page over the history'],
    ['a pattern of no name, 30 days', (turn) => `/jobs?job_name=none${turn}*&since=30d`, 'page over the history'],
    ['a host, 7 days', (turn) => `/jobs?host=${host(turn)}`, 'page over the history'],
    [
      'the user with most jobs, most unused first, 30 days',
      () => '/jobs?owner=user000&since=30d&sort=unused',
      'page over the history',
    ],
    ['all jobs, most CPU first, a year', () => '/jobs?sort=cpu&since=365d', 'page over the history'],
    [
      'a project, most unused first, 30 days',
      (turn) => `/jobs?project=group${turn % 40}&sort=unused&since=30d`,
      'page over the history',
    ],
    ['the cluster, 30 days', () => '/cluster', 'page over the history'],
    ['the cluster, a year', () => '/cluster?since=365d', 'page over the history'],
  ];
  return [...live, ...kept];
}

/** Waits until the server knows all running jobs and their usage. */
async function untilLive(port: number): Promise<void> {
  await until(
    async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/live?limit=1`);
      return answer.ok && (await answer.text()).includes('"usage_at":"');
    },
    'the usage of jobs',
    500,
  );
}

/** Delivers records of jobs that have just ended, each of another job. */
function delivery({ store, week, weeks }: History): {
  readonly deliver: () => Promise<void>;
  readonly close: () => Promise<void>;
} {
  const open = openSqliteStore(store, 0o640);
  const sampled = week.runs.flatMap(({ record }) => record ?? []);
  const first = FIRST_JOB + week.jobs * weeks;
  let count = 0;
  return {
    deliver: async () => {
      const like = sampled[count % sampled.length];
      if (like === undefined) throw new Error('no record to deliver');
      const now = Date.now();
      const ended_at = new Date(now).toISOString();
      const [outcome] = await open.merge([
        { ...like, job_id: first + count, run_id: `web.${now}.${count}`, ended_at, revision: now },
      ]);
      if (outcome?.ok !== true) throw new Error(outcome?.error ?? 'not merged');
      count++;
    },
    close: () => open.close(),
  };
}

async function pageRows(
  site: WebSite,
  history: History,
  runs: number,
  progress: BenchOptions['progress'],
): Promise<readonly Row[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const nodes = delivery(history);
  await untilLive(site.port);
  const rows: Row[] = [];
  for (const [what, path, budget] of pagesOf(history)) {
    progress(`web: ${what}`);
    const ms: number[] = [];
    let bytes = 0;
    let cpu = 0;
    for (let turn = 0; turn < runs; turn++) {
      await nodes.deliver();
      const seen = await see(site.port, path(turn), agent);
      if (seen.status !== 200) throw new Error(`${path(turn)} was answered with status ${seen.status}`);
      ms.push(seen.ms);
      bytes = Math.max(bytes, seen.bytes);
      if (turn === 0) cpu = site.cpuSeconds();
    }
    const each = ((site.cpuSeconds() - cpu) * 1000) / Math.max(1, runs - 1);
    const note = `CPU ${each.toFixed(0)} ms each; the first ${(ms[0] ?? 0).toFixed(0)} ms; ${Math.round(bytes / 1024)} KiB packed`;
    rows.push({ what, unit: 'ms', values: ms.slice(1), budget, note });
  }
  agent.destroy();
  await nodes.close();
  return rows;
}

interface Span {
  /** Percent of a core. */
  readonly cpu: number;
  readonly callsPerMinute: number;
}

async function during(site: WebSite, work: () => Promise<unknown>): Promise<Span> {
  const [cpu, calls, began] = [site.cpuSeconds(), site.calls(), performance.now()];
  await work();
  const seconds = (performance.now() - began) / 1000;
  return {
    cpu: ((site.cpuSeconds() - cpu) / seconds) * 100,
    callsPerMinute: ((site.calls() - calls) / seconds) * 60,
  };
}

async function viewerRows(site: WebSite, seconds: number, progress: BenchOptions['progress']): Promise<readonly Row[]> {
  progress('web: no viewers');
  const alone = await during(site, () => sleep(seconds * 1000));
  progress(`web: ${VIEWERS} viewers`);
  const paths = ['/', '/', '/?owner=user7', '/?queue=all.q', '/?shade=slots', '/job/17', '/job/4711', '/?jobs=2'];
  let views = { ms: [] as readonly number[], failures: 0 };
  const watched = await during(site, async () => {
    views = await watchPages(site.port, paths, { viewers: VIEWERS, everySeconds: RELOAD_SECONDS, seconds });
  });
  return [
    {
      what: 'the server without viewers',
      unit: '%',
      values: [alone.cpu],
      note: 'of a core: it reads what qstat prints',
    },
    { what: `the server with ${VIEWERS} viewers`, unit: '%', values: [watched.cpu] },
    { what: 'what the viewers cost', unit: '%', values: [watched.cpu - alone.cpu], budget: '200 viewers' },
    { what: 'calls of qstat and qhost without viewers', unit: '1/min', values: [alone.callsPerMinute] },
    { what: 'calls of qstat and qhost with viewers', unit: '1/min', values: [watched.callsPerMinute] },
    {
      what: 'a refresh',
      unit: 'ms',
      values: views.ms,
      budget: 'page of 10,000 running jobs',
      note: `${views.failures} failures`,
    },
  ];
}

async function run({ quick, jobs, weeks, keep, progress }: BenchOptions): Promise<readonly Section[]> {
  const directory = temporaryDirectory();
  const size = jobs ?? (quick ? QUICK_RECORDS : USUAL_RECORDS);
  const make = keep === null ? fillHistory : keptHistory;
  const history = await make(keep ?? directory, { records: size, weeks }, Date.now(), SEED, progress);
  const clients = join(directory, 'cell');
  mkdirSync(clients);
  const site = await startWebSite(clients, history.store, RUNNING);
  try {
    return [
      {
        title: `web: pages over ${history.records} records of ${history.weeks} weeks, ${RUNNING} running jobs`,
        rows: await pageRows(site, history, quick ? 10 : 30, progress),
        notes: [
          'time to the last byte, one request after the other, a record delivered before each; this program shares the machine',
        ],
      },
      {
        title: `web: ${VIEWERS} viewers of running jobs, each page refreshed every ${RELOAD_SECONDS} s`,
        rows: await viewerRows(site, quick ? 60 : 180, progress),
      },
    ];
  } finally {
    await site.stop();
  }
}

export const webBench: Bench = {
  name: 'web',
  about: 'the pages over years of a site (--jobs, --keep) and 10,000 running jobs; 200 viewers at once',
  run,
};
