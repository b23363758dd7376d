import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteReader } from '../../src/accounting/sqlite/sqlite-store';
import type { JobSum } from '../../src/accounting/job-sum';
import { readQhost } from '../../src/gridengine/qhost/read-qhost';
import { readJobList } from '../../src/gridengine/qstat/read-job-list';
import type { AnswerReader } from '../../src/gridengine/reading';
import type { JobRecord } from '../../src/record/record';
import { SETTINGS_FILE } from '../../src/record/settings';
import type { Truth } from '../burners/build';
import { askClients, type ClientAnswers } from './client-answers';
import {
  assertAgreement,
  type HostsJson,
  type LiveJson,
  type Views,
  type PartOfJson,
  type QhostJson,
  type QstatJson,
} from './live-agreement';
import { timeHooks, type HookName, type HookTimes } from './hook-times';
import { client, goodEnds, kind } from './kind';
import { emptyCell, fillCell, submitSingles } from './load';
import {
  assertHolds,
  assertNoQueueErrors,
  burnerCommand,
  mib,
  truthOf,
  LONGEST_HOLD_MS,
  withSite,
  gateFor,
  type Site,
  type Gate,
} from './site';
import { taskTruths, tightScript, type TightTask } from './tight';
import { watchAs } from './watcher';
import { COMMAND } from '../support/qmemacct';
import { until } from '../support/until';

const limits = { timeout: 2_000_000 };
const MASTER = 'ge0';
const QMEMACCT = ['node', COMMAND] as const;
const PORT = 8181;
const SHORT_INTERVALS = 'poll_interval = 1\nusage_interval = 1\nheartbeat = 2\n';
/** At most this much memory is held by the shell around a burner, or by one `qrsh` of the script. */
const SHELL_BYTES = mib(24);

/** What a command prints as JSON. Fails if it has warnings or another exit status than 0. */
async function json<T>({ cell }: Site, words: readonly string[], user = 'root'): Promise<T> {
  const { status, stdout, stderr } = await cell.on(MASTER, [...QMEMACCT, ...words], { user });
  assert.equal(status, 0, `${words.join(' ')}: ${stderr}${stdout}`);
  assert.equal(stderr, '', words.join(' '));
  return JSON.parse(stdout) as T;
}

function getText({ cell }: Site, path: string): Promise<string> {
  const code = `fetch('http://127.0.0.1:${PORT}${path}').then((answer) => answer.text()).then(console.log)`;
  return cell.check(MASTER, ['node', '-e', code]);
}

async function get<T>(site: Site, path: string): Promise<T> {
  return JSON.parse(await getText(site, path)) as T;
}

/** Writes the settings of the login host, which an installation of the execution hosts leaves without any. */
async function writeSettings({ cell, product }: Site): Promise<void> {
  const stdin = `${SHORT_INTERVALS}accounting = "${product.accounting}"\n`;
  await cell.check(MASTER, `cat >${SETTINGS_FILE} && chmod 644 ${SETTINGS_FILE}`, { stdin });
}

/** Starts a server and waits until it has an answer of qmaster. */
async function startServer(site: Site): Promise<ChildProcess> {
  const { cell } = site;
  const { argv, env } = cell.command(MASTER, [...QMEMACCT, 'serve', '--port', String(PORT)]);
  const server = spawn(argv[0] ?? '', argv.slice(1), { env, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  await until(
    () => output.includes(': serves '),
    () => `the start of the server: ${output}`,
  );
  const hasSnapshot = async (): Promise<boolean> => !(await getText(site, '/v1/snapshot')).includes('nothing is known');
  await until(hasSnapshot, 'a snapshot with an answer of qmaster', 200);
  return server;
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const end = once(server, 'exit');
  server.kill();
  assert.deepEqual(await end, [0, null]);
}

const task = (on: TightTask['on'], size: number, { path }: Gate): TightTask => ({
  on,
  burner: 'steady',
  options: { mib: size, hold: LONGEST_HOLD_MS, until: path },
});

interface Jobs {
  readonly parallel: string;
  readonly serial: string;
  readonly array: string;
  readonly suspended: string;
}

/** Submits a job of each kind; all of them run when this resolves. */
async function submitKinds({ cell }: Site, gates: Readonly<Record<'gealice' | 'gebob', Gate>>): Promise<Jobs> {
  const burn = (truth: string, size: number, user: 'gealice' | 'gebob' = 'gealice'): string =>
    burnerCommand('steady', truth, { mib: size, hold: LONGEST_HOLD_MS, until: gates[user].path });
  const submit = (user: string, name: string, request: string, script: string, ...args: string[]): Promise<string> =>
    cell.submit(user, ['-N', name, '-j', 'y', '-l', `h_vmem=${request}`, ...args], script);
  const tasks = [task('master', 40, gates.gealice), task('other', 50, gates.gealice), task('other', 60, gates.gealice)];
  const jobs = {
    parallel: await submit(
      'gealice',
      'par',
      '500M',
      tightScript('par', tasks, burn('par.own', 70)),
      '-pe',
      'tight',
      '4',
    ),
    serial: await submit('gebob', 'a<b&"c', '300M', burn('serial', 100, 'gebob')),
    array: await submit('gealice', 'arr', '0.2G', burn('arr.$SGE_TASK_ID', 30), '-t', '1-2'),
    suspended: await submit('gebob', 'susp', '250M', 'sleep 600'),
  };
  for (const [job, count] of [
    [jobs.parallel, 1],
    [jobs.serial, 1],
    [jobs.array, 2],
    [jobs.suspended, 1],
  ] as const)
    await cell.waitRunning(job, count);
  await cell.check(MASTER, [client('qmod'), '-sj', jobs.suspended]);
  return jobs;
}

/** Views of one state: the clients' answers are the same before and after the product's, which agree with them. */
async function settledViews(site: Site, jobs: Jobs): Promise<Views> {
  const ids = Object.values(jobs) as string[];
  const names = new Map([
    [Number(jobs.parallel), 'par'],
    [Number(jobs.serial), 'a<b&"c'],
    [Number(jobs.array), 'arr'],
    [Number(jobs.suspended), 'susp'],
  ]);
  const isComplete = ({ jobs: byJob }: ClientAnswers): boolean =>
    byJob.get(Number(jobs.parallel))?.tasks[0]?.slaves.length === 3 &&
    [...byJob.values()].every(({ tasks }) =>
      tasks.every(({ maxvmem, slaves }) => [maxvmem, ...slaves.map((slave) => slave.maxvmem)].every((one) => one > 0)),
    );
  let settledAt: number | null = null;
  let difference = 'none between ours and theirs';
  return until(
    async () => {
      const before = await askClients(site.cell, ids);
      // The server and the CLI ask qmaster every second; on a machine that stood still their answers are older.
      await sleep(1500);
      const [live, hosts, qhost, qstat] = await Promise.all([
        json<LiveJson>(site, ['live', '--json']),
        json<HostsJson>(site, ['hosts', '-u', '--json']),
        get<QhostJson>(site, '/qhost'),
        get<QstatJson>(site, '/qstat'),
      ]);
      const clients = await askClients(site.cell, ids);
      if (!isComplete(before) || flat(clients) !== flat(before)) return null;
      settledAt ??= Date.now();
      if (!areFiguresSince(settledAt, hosts, jobs)) return null;
      const views = { names, clients, live, hosts, qhost, qstat };
      try {
        assertAgreement(views);
      } catch (error) {
        difference = String(error);
        return null;
      }
      return views;
    },
    async () => `views that agree; clients: ${flat(await askClients(site.cell, ids))}; last difference: ${difference}`,
  );
}

/** Whether every host's figures of every task are there (else sums are unknown), made since the burners are at rest. */
const areFiguresSince = (at: number, { hosts }: HostsJson, { suspended }: Jobs): boolean =>
  hosts.every(({ jobs }) =>
    jobs.every(
      ({ job_id: job, rss_bytes: rss, figures_at: figuresAt }) =>
        job === Number(suspended) || (rss !== null && Date.parse(figuresAt ?? '') >= at),
    ),
  );

const flat = ({ hosts, jobs }: ClientAnswers): string => JSON.stringify([[...hosts], [...jobs]]);

const keyOf = (job: number, host: string): string => `${job}@${host}`;

/** The truths of each job's burners by job and host, when all have ended. */
function truthsOf({ cell }: Site, jobs: Jobs, { clients }: Views): ReadonlyMap<string, readonly Truth[]> {
  const truths = new Map<string, Truth[]>();
  const add = (job: string, host: string, truth: Truth): void => {
    const key = keyOf(Number(job), host);
    truths.set(key, [...(truths.get(key) ?? []), truth]);
  };
  const masterOf = (job: string, task: number | null): string =>
    [...clients.hosts].find(([, host]) =>
      host.jobs.some((part) => part.job === Number(job) && part.task === task && part.master),
    )?.[0] ?? '';
  add(jobs.parallel, masterOf(jobs.parallel, null), truthOf(cell, 'gealice', 'par.own'));
  for (const [id, truth] of taskTruths(cell, 'gealice', 'par')) add(jobs.parallel, id.split('.')[1] ?? '', truth);
  add(jobs.serial, masterOf(jobs.serial, null), truthOf(cell, 'gebob', 'serial'));
  return truths;
}

const sumOf = (truths: readonly Truth[]): number => truths.reduce((sum, { rssSum }) => sum + rssSum, 0);

/** Asserts that `hosts` shows the samplers' figures of every job on every host. */
function assertFiguresArrived({ hosts }: Views, now: number, { suspended }: Jobs): void {
  for (const { host, jobs } of hosts.hosts)
    for (const part of jobs.filter(({ job_id: job }) => job !== Number(suspended))) {
      const age = now - Date.parse(part.figures_at ?? '');
      assert.ok(age >= -1000, `job ${part.job_id} on ${host}: figures of ${part.figures_at}, ${age} ms`);
      assert.ok(part.rss_bytes !== null && part.peak_lower_bytes !== null);
    }
}

/** Asserts that the figures shown while the jobs ran hold what the burners wrote at their end. */
function assertFiguresHold({ hosts }: Views, truths: ReadonlyMap<string, readonly Truth[]>): void {
  const of = new Map<string, PartOfJson>(
    hosts.hosts.flatMap(({ host, jobs }) => jobs.map((part) => [keyOf(part.job_id, host), part])),
  );
  assert.equal(truths.size, 3);
  for (const [key, burners] of truths) {
    const part = of.get(key);
    assert.ok(part !== undefined, key);
    const truth = sumOf(burners);
    const around = SHELL_BYTES * (burners.length + (part.tasks.length > 0 ? 2 : 0));
    const rss = part.rss_bytes ?? NaN;
    assert.ok(rss >= 0.97 * truth && rss <= truth + around, `${key}: RSS ${rss}, of the burners ${truth}`);
    assert.ok((part.peak_lower_bytes ?? Infinity) <= truth + around, `${key}: ${part.peak_lower_bytes} of ${truth}`);
    assert.ok((part.peak_upper_bytes ?? Infinity) >= truth, `${key}: ${part.peak_upper_bytes} of ${truth}`);
  }
}

async function commandsAgreeWithClients(site: Site): Promise<void> {
  const { cell } = site;
  const gates = { gealice: gateFor(cell, 'gealice', 'seen'), gebob: gateFor(cell, 'gebob', 'seen') };
  const jobs = await submitKinds(site, gates);
  const server = await startServer(site);
  try {
    const views = await settledViews(site, jobs);
    assertFiguresArrived(views, Date.now(), jobs);
    await userGetsTheSame(site, views);
    await xmlEqualsClients(site);
    await saysSuspended(site, jobs);
    await cell.qdel([jobs.suspended]);
    gates.gealice.open();
    gates.gebob.open();
    for (const job of [jobs.parallel, jobs.serial, jobs.array]) await cell.waitFinished(job);
    const truths = truthsOf(site, jobs, views);
    assertFiguresHold(views, truths);
    await jobSumHolds(site, jobs, truths);
  } finally {
    await stopServer(server);
    await emptyCell(cell);
  }
}

/** Asserts that `job` of a suspended job, once it has a record, says what suspends it, and for how long it has been. */
async function saysSuspended({ cell }: Site, { suspended }: Jobs): Promise<void> {
  const shown = (): Promise<string> => cell.check(MASTER, [...QMEMACCT, 'job', suspended]);
  const text = await until(
    async () => {
      const screen = await shown();
      return /^ {2}Suspended +\d/m.test(screen) ? screen : null;
    },
    () => `a record of job ${suspended} with the time in which it was suspended`,
  );
  assert.match(text, /^Job \d+ .* suspended\n[^]*Its owner or an admin has suspended it; qmod -usj/);
}

/** Asserts that a user, who can't read the accounting DB, gets the same from the server's socket. */
async function userGetsTheSame(site: Site, { live, hosts }: Views): Promise<void> {
  const hers = await json<LiveJson>(site, ['live', '--json'], 'gealice');
  const herHosts = await json<HostsJson>(site, ['hosts', '-u', '--json'], 'gealice');
  assert.deepEqual([hers.problems, herHosts.problems], [[], []]);
  const summary = ({ jobs }: LiveJson): unknown =>
    jobs.map((job) => [job.job_id, job.task_id, job.owner, job.job_name, job.limit_bytes, job.hosts.length]);
  assert.deepEqual(summary(hers), summary(live));
  assert.deepEqual(
    herHosts.hosts.map(({ host, requested_bytes: requested, jobs }) => [host, requested, jobs.length]),
    hosts.hosts.map(({ host, requested_bytes: requested, jobs }) => [host, requested, jobs.length]),
  );
  const figures = herHosts.hosts.flatMap(({ jobs }) => jobs.map(({ figures_at: at }) => at));
  assert.ok(
    figures.every((at) => at !== null),
    `heartbeats reach her: ${figures.join(', ')}`,
  );
}

function read<T>(reader: (found: (item: T) => void) => AnswerReader, xml: string): readonly T[] {
  const items: T[] = [];
  const reading = reader((item) => items.push(item));
  reading.write(Buffer.from(xml));
  assert.equal(reading.end().state, 'complete');
  return items;
}

/** Asserts that the server's XML has the same jobs and hosts as that of Grid Engine's clients. */
async function xmlEqualsClients(site: Site): Promise<void> {
  const rows = (xml: string): readonly string[] =>
    read(readJobList, xml)
      .map(({ job, tasks, name, owner, state, queueInstance, slots }) =>
        JSON.stringify([job, tasks, name, owner, state, queueInstance, slots]),
      )
      .sort();
  const hosts = (xml: string): readonly unknown[] =>
    read(readQhost, xml).map(({ name, queues, jobs }) => [
      name,
      queues.map(({ name: queue, type, slots, slotsUsed, state }) => [queue, type, slots, slotsUsed, state]),
      jobs.map(({ job, task, owner, state, queueInstance, role }) => [job, task, owner, state, queueInstance, role]),
    ]);
  const command = [client('qhost'), '-q', '-j', '-xml'];
  assert.deepEqual(rows(await getText(site, '/qstat.xml')), rows(await site.cell.qstat(['-u', '*', '-r', '-xml'])));
  assert.deepEqual(
    rows(await getText(site, '/qstat.xml?full=true')),
    rows(await site.cell.qstat(['-u', '*', '-f', '-r', '-xml'])),
  );
  assert.deepEqual(hosts(await getText(site, '/qhost.xml')), hosts(await site.cell.check(MASTER, command)));
}

/** Asserts that the parallel job has one sum, whose brackets hold on each host and altogether. */
async function jobSumHolds(site: Site, jobs: Jobs, truths: ReadonlyMap<string, readonly Truth[]>): Promise<void> {
  const records = await site.product.records(jobs.parallel, 4);
  const { sums } = await json<{ readonly sums: readonly JobSum[] }>(site, ['job', jobs.parallel, '--json']);
  const [sum] = sums;
  assert.ok(sum !== undefined && sums.length === 1);
  const ofHost = (host: string): readonly Truth[] => truths.get(keyOf(Number(jobs.parallel), host)) ?? [];
  const all = site.cell.execHosts.flatMap(ofHost);
  assert.equal(all.length, 4);
  assertHolds(sum.peak_rss, sumOf(all), 6 * SHELL_BYTES);
  const together = sum.together_rss_bytes ?? NaN;
  assert.ok(together >= 0.97 * sumOf(all) && together <= sumOf(all) + 6 * SHELL_BYTES, `${together} of ${sumOf(all)}`);
  assert.deepEqual(sum.hosts.map(({ host }) => host).sort(), [...site.cell.execHosts].sort());
  const master = records.find(({ record }) => record.pe_task_id === null)?.record.host;
  for (const host of sum.hosts) {
    assert.deepEqual(
      [host.slots, host.seen, host.master, host.tasks],
      [2, true, host.host === master, host.host === master ? 1 : 2],
    );
    assertHolds(host.peak_rss, sumOf(ofHost(host.host)), 4 * SHELL_BYTES);
  }
}

async function watchSurvivesQmasterRestart(t: TestContext, { cell }: Site): Promise<void> {
  const job = await cell.submit('gebob', ['-N', 'watched', '-l', 'h_vmem=300M'], 'sleep 600');
  await cell.waitRunning(job);
  const watcher = watchAs(cell, MASTER, 'gealice', [...QMEMACCT, 'live', '--watch', '1']);
  const showsJob = (lines: readonly string[]): boolean =>
    lines.some((line) => line.startsWith(job) && line.includes('watched'));
  const problem = (lines: readonly string[]): string[] =>
    lines.filter((line) => line.includes('qmaster does not answer'));
  try {
    const before = await watcher.awaitScreen('the job', showsJob);
    assert.deepEqual(problem(before), []);
    await cell.stopMaster();
    const gone = Date.now();
    const without = await watcher.awaitScreen(
      'the end of qmaster, with the age of what is shown',
      (lines) => problem(lines).length > 0 && /(list|,) [1-9]\d* s\b.* old$/.test(lines[0] ?? ''),
    );
    t.diagnostic(`qmaster gone, shown after ${Date.now() - gone} ms: ${without[0] ?? ''} | ${without[1] ?? ''}`);
    assert.equal(problem(without).length, 1);
    assert.ok(showsJob(without), without.join('\n'));
    await cell.startMaster();
    const back = Date.now();
    const after = await watcher.awaitScreen(
      'the job again, and no problem with qmaster',
      (lines) => problem(lines).length === 0 && showsJob(lines) && / list [01] s,|:\d\d$/.test(lines[0] ?? ''),
    );
    t.diagnostic(`qmaster back, shown after ${Date.now() - back} ms: ${after[0] ?? ''}`);
    watcher.type('q');
    const text = await watcher.ended();
    assert.match(text, /status=0\r?\n/);
    const of = (name: string): string => new RegExp(`${name}=(\\S+)`).exec(text)?.[1] ?? `no ${name}`;
    assert.equal(of('after'), of('before'), 'how the terminal is set');
    const last = (code: string): number => text.lastIndexOf(`\u001b[?${code}`);
    assert.ok(last('1049l') > last('1049h') && last('25h') > last('25l') && last('7h') > last('7l'));
  } finally {
    watcher.kill();
  }
}

/** An array job whose tasks run one at a time; root's command asks qmaster, an ordinary user's asks the server. */
async function countsTasksToCome(site: Site): Promise<void> {
  const { cell } = site;
  const gate = gateFor(cell, 'gealice', 'tocome');
  const script = `[ "$SGE_TASK_ID" = 1 ] && exit 0\n${gate.wait}`;
  const job = await cell.submit('gealice', ['-N', 'tocome', '-t', '1-3', '-tc', '1', '-l', 'h_vmem=300M'], script);
  const awaitOutput = async (user: string, line: RegExp, ...options: readonly string[]): Promise<void> => {
    let last = '';
    await until(
      async () => {
        const { stdout, stderr } = await cell.on(MASTER, [...QMEMACCT, 'job', job, ...options], { user });
        last = stdout + stderr;
        return line.test(stdout) ? true : null;
      },
      () => `${line} for ${user}: ${last}`,
    );
  };
  const amid = /^ {2}1 of 3 tasks has ended, 1 runs, 1 to come$/m;
  await awaitOutput('root', amid);
  const server = await startServer(site);
  try {
    await awaitOutput('gealice', amid);
    await awaitOutput('gealice', /"ended":1,"running":1,"to_come":1}\n\]}\n$/, '--json');
    gate.open();
    await cell.waitFinished(job);
    await awaitOutput('gealice', /^Ended +3 ok$/m);
    await awaitOutput('gealice', /"ended":3,"running":0,"to_come":null}\n\]}\n$/, '--json');
  } finally {
    await stopServer(server);
    await emptyCell(cell);
  }
}

const SHORT_JOBS = 20;
const SLOTS = 7;

/** Runs the short jobs, of which none starts before all are submitted; `took`: seconds until the last accounting line. */
async function runShortJobs({ cell }: Site): Promise<{ readonly jobs: ReadonlySet<string>; readonly took: number }> {
  await cell.check(MASTER, [client('qmod'), '-d', 'all.q']);
  const jobs = new Set(await submitSingles(cell, SHORT_JOBS, { script: 'sleep 1', args: ['-l', 'h_vmem=300M'] }));
  const begun = Date.now();
  await cell.check(MASTER, [client('qmod'), '-e', 'all.q']);
  const ended = (): number => cell.accounting().filter(({ job_number: job }) => jobs.has(job)).length;
  await until(
    () => ended() >= SHORT_JOBS,
    () => `the end of ${SHORT_JOBS} jobs: ${ended()} have ended`,
    100,
  );
  return { jobs, took: (Date.now() - begun) / 1000 };
}

/** The jobs' records, as soon as each job has one. Fails if a job has two. */
async function recordsOf({ product }: Site, jobs: ReadonlySet<string>): Promise<readonly JobRecord[]> {
  const found = new Map<string, JobRecord>();
  const reader = openSqliteReader(product.accounting);
  try {
    return await until(
      async () => {
        for (const job of jobs) {
          if (found.has(job)) continue;
          const { records } = await reader.job({ job_id: Number(job), all: true });
          const [first, ...others] = records.map(({ record }) => record).filter(({ status }) => status !== 'running');
          assert.equal(others.length, 0, `job ${job} has more than one record`);
          if (first !== undefined) found.set(job, first);
        }
        return found.size === jobs.size ? [...found.values()] : null;
      },
      () => `records of all ${jobs.size} jobs: none of ${[...jobs].filter((job) => !found.has(job)).join(', ')}`,
      500,
    );
  } finally {
    await reader.close();
  }
}

function quantile(values: Iterable<number>, share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

const inMs = (values: Iterable<number>): string =>
  [0.5, 0.95, 1].map((share) => quantile(values, share).toFixed(0)).join(' / ');

interface HookDurations {
  readonly prolog: readonly number[];
  readonly epilog: readonly number[];
}

function hookDurations(times: HookTimes, jobs: ReadonlySet<string>): HookDurations {
  const of = (hook: HookName): readonly number[] =>
    [...times.of(hook)].flatMap(([job, ms]) => (jobs.has(job) ? ms : []));
  return { prolog: of('prolog'), epilog: of('epilog') };
}

const describeDurations = ({ prolog, epilog }: HookDurations): string =>
  `held by the prolog ${inMs(prolog)} ms, by the epilog ${inMs(epilog)} ms (median / 95 % / most)`;

async function manyShortJobs(t: TestContext, site: Site): Promise<void> {
  const { cell } = site;
  await cell.setQueue({ slots: String(SLOTS) });
  const times = await timeHooks(cell);
  const { jobs, took } = await runShortJobs(site);
  const held = hookDurations(times, jobs);
  const records = await recordsOf(site, jobs);
  const lines = new Map(cell.accounting().map((line) => [line.job_number, line]));
  for (const record of records) {
    const line = lines.get(String(record.job_id));
    const what = `job ${record.job_id}: ${JSON.stringify({ ...record, series: null })}`;
    assert.deepEqual([record.status, record.host], ['finished', line?.hostname], what);
    assert.ok(goodEnds.includes(record.exit_status), what);
    assert.ok((record.samples ?? 0) > 0 || (record.processes ?? 0) > 0 || record.trust === 'usage', what);
    const late = Date.parse(record.started_at ?? '') / 1000 - Number(line?.start_time);
    assert.ok(Math.abs(late) <= 2, `${late} s; ${what}`);
  }
  await assertNoQueueErrors(cell);
  const sampled = records.filter(({ samples }) => (samples ?? 0) > 0).length;
  t.diagnostic(
    `${SHORT_JOBS} jobs of 1 s on ${2 * SLOTS} slots: ${took.toFixed(1)} s, ${(SHORT_JOBS / took).toFixed(2)} jobs/s`,
  );
  t.diagnostic(`records ${records.length}, with samples ${sampled}`);
  t.diagnostic(describeDurations(held));
  assert.deepEqual([held.prolog.length, held.epilog.length], [SHORT_JOBS, SHORT_JOBS]);
}

const RUNNING = 10;
const PENDING = 200;

async function timed<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const begun = performance.now();
  const value = await work();
  return { value, ms: Math.round(performance.now() - begun) };
}

/** Tasks in a list such as `1-5:2,9`: four. */
function countTasks(text: string | null): number {
  if (text === null) return 1;
  return text.split(',').reduce((sum, range) => {
    const [, from, to, step] = /^(\d+)(?:-(\d+):(\d+))?$/.exec(range) ?? assert.fail(`tasks ${text}`);
    return sum + (to === undefined ? 1 : Math.floor((Number(to) - Number(from)) / Number(step)) + 1);
  }, 0);
}

async function manyPendingJobs(t: TestContext, site: Site): Promise<void> {
  const { cell } = site;
  // Submitted first, so that single jobs run and not array tasks alone.
  const args = ['-l', 'h_vmem=200M'];
  await submitSingles(cell, RUNNING / 2, { args });
  await fillCell(cell, RUNNING, PENDING - RUNNING / 2, { args });
  const clientMs = async (...args: readonly string[]): Promise<number> =>
    (await timed(() => cell.check(MASTER, [client(args[0] === '-F' ? 'qhost' : 'qstat'), ...args, '-xml']))).ms;
  const ids = [...new Set((await cell.tasks()).flatMap(({ job, state }) => (state === 'r' ? job : [])))];
  const running = await clientMs('-u', '*', '-s', 'rs', '-r', '-ext', '-urg');
  const pending = await clientMs('-u', '*', '-s', 'p', '-r', '-ext', '-urg');
  const details = await clientMs('-j', ids.join(','));
  const hostsAlone = await clientMs('-F', '-q', '-j');

  await sleep(1100);
  const live = await timed(() => json<LiveJson>(site, ['live', '--pending', '--json']));
  const again = await timed(() => json<LiveJson>(site, ['live', '--pending', '--json']));
  const hosts = await timed(() => json<HostsJson>(site, ['hosts', '--json']));
  const text = await timed(() => cell.check(MASTER, [...QMEMACCT, 'hosts', '-u']));
  for (const { value } of [live, again]) {
    assert.equal(value.jobs.length, RUNNING);
    assert.equal(
      (value.pending ?? []).reduce((sum, { tasks }) => sum + countTasks(tasks), 0),
      PENDING,
    );
  }
  assert.deepEqual(
    hosts.value.hosts.map(({ host, slots, slots_used: used, jobs, requested_bytes: requested }) => [
      host,
      slots,
      used,
      jobs.length,
      requested,
    ]),
    cell.execHosts.map((host) => [host, RUNNING / 2, RUNNING / 2, RUNNING / 2, (RUNNING / 2) * mib(200)]),
  );
  t.diagnostic(
    `${RUNNING} running, ${PENDING} waiting; qstat running ${running} ms, waiting ${pending} ms, -j of ${ids.length} ${details} ms, qhost ${hostsAlone} ms`,
  );
  t.diagnostic(
    `live --pending --json ${live.ms} ms, again ${again.ms} ms; hosts --json ${hosts.ms} ms; hosts -u ${text.ms} ms`,
  );
  await emptyCell(cell);
}

describe('live commands and the server on a real Grid Engine', () => {
  it('show jobs, hosts and qmaster as they are', limits, async (t) => {
    const settings = `scope = "node"\ndelivery_jitter_ms = 0\n${SHORT_INTERVALS}`;
    await withSite(t, { settings }, async (site) => {
      await writeSettings(site);
      await t.test('hosts, live, /qhost and /qstat agree with qhost and qstat', () => commandsAgreeWithClients(site));
      await t.test('job shows how many tasks of an array job are to come', () => countsTasksToCome(site));
      // These two are about load, which does not depend on the kind of Grid Engine.
      if (kind.dialect !== 'ocs') {
        await t.test(`live and hosts show all of ${PENDING} pending tasks`, (t) => manyPendingJobs(t, site));
        await t.test(`each of ${SHORT_JOBS} jobs of a second gets one record`, (t) => manyShortJobs(t, site));
      }
      await t.test('live --watch shows that qmaster is gone, and that it is back', (t) =>
        watchSurvivesQmasterRestart(t, site),
      );
    });
  });
});
