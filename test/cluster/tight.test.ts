import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobRecord } from '../../src/record/record';
import { SETTINGS_FILE } from '../../src/record/settings';
import { readText } from '../../src/sources/files';
import type { Truth } from '../burners/build';
import type { AccountingRecord, Cell } from './cell';
import { kind } from './kind';
import { parallelEnvironments } from './parallel-environments';
import { isAlive, type ProcessId } from './processes';
import {
  assertHolds,
  assertNoQueueErrors,
  awaitFigures,
  burnerCommand,
  holds,
  mib,
  truthOf,
  LONGEST_HOLD_MS,
  withSite,
  gateFor,
  type Site,
  type Gate,
} from './site';
import { openingLines, taskCommand, taskTruths, tightScript, type TightTask } from './tight';
import { until } from '../support/until';

const limits = { timeout: 2_000_000 };
const USER = 'gealice';
/** Memory of one `qrsh -inherit` in the script's own process tree, with its short-lived forks. */
const QRSH_BYTES = mib(32);
const HOLD = 2500;

const steady = (on: TightTask['on'], size: number, hold = HOLD, afterMs = 0): TightTask => ({
  on,
  burner: 'steady',
  options: { mib: size, hold },
  afterMs,
});

/** A task that holds its memory until the gate opens. */
function steadyUntil(on: TightTask['on'], size: number, gate: Gate): TightTask {
  const task = steady(on, size, LONGEST_HOLD_MS);
  return { ...task, options: { ...task.options, until: gate.path } };
}

const seconds = (iso: string | null): number => Date.parse(iso ?? '') / 1000;
const peTaskOf = (line: AccountingRecord): string | null => (line.pe_taskid === 'NONE' ? null : line.pe_taskid);

/** A job for a parallel environment. */
interface Variant {
  readonly pe: string;
  readonly slots: number;
  readonly tasks: readonly TightTask[];
}

const BOTH = [steady('master', 40), steady('other', 50), steady('other', 60)];

const VARIANTS: readonly Variant[] = [
  { pe: 'tight', slots: 4, tasks: BOTH },
  { pe: 'tight-first', slots: 4, tasks: BOTH },
  { pe: 'tight-summary', slots: 4, tasks: BOTH },
  { pe: 'tight-first-summary', slots: 4, tasks: BOTH },
  { pe: 'tight-fixed1', slots: 2, tasks: [steady('master', 40), steady('other', 50)] },
  { pe: 'tight-fixed2', slots: 4, tasks: BOTH },
  { pe: 'tight-slots', slots: 3, tasks: [steady('master', 40), steady('master', 50)] },
];

/** Needs more slots than one host has. Runs alone: with so many slots taken, other jobs would not get both hosts. */
const FILL: Variant = { pe: 'tight-fill', slots: 66, tasks: [steady('master', 40), steady('other', 50)] };

interface VariantRun extends Variant {
  readonly job: string;
  readonly lines: readonly AccountingRecord[];
  readonly truths: ReadonlyMap<string, Truth>;
  /** The truth of the script's own burner. */
  readonly own: Truth;
}

function submitTight({ cell }: Site, name: string, pe: string, slots: number, script: string): Promise<string> {
  // RLIMIT_AS is this times the host's slots, for each task alone.
  const request = ['-pe', pe, String(slots), '-l', slots > 60 ? 'h_vmem=200M' : 'h_vmem=500M'];
  return cell.submit(USER, ['-N', name, '-j', 'y', ...request], script);
}

const nameOf = ({ pe }: Variant): string => `v-${pe}`;

async function runVariants(site: Site): Promise<readonly VariantRun[]> {
  return [...(await runAtOnce(site, VARIANTS)), ...(await runAtOnce(site, [FILL]))];
}

async function runAtOnce(site: Site, variants: readonly Variant[]): Promise<readonly VariantRun[]> {
  const { cell } = site;
  const jobs: string[] = [];
  for (const variant of variants) {
    const name = nameOf(variant);
    const own = burnerCommand('steady', `${name}.own`, { mib: 70, hold: HOLD });
    jobs.push(await submitTight(site, name, variant.pe, variant.slots, tightScript(name, variant.tasks, own)));
  }
  const ran: VariantRun[] = [];
  for (const [index, variant] of variants.entries()) {
    const job = jobs[index] ?? '';
    const lines = await cell.waitFinished(job);
    const name = nameOf(variant);
    const truths = taskTruths(cell, USER, name);
    assert.equal(truths.size, variant.tasks.length, `${name}: ${[...truths.keys()].join(', ')}`);
    ran.push({ ...variant, job, lines, truths, own: truthOf(cell, USER, `${name}.own`) });
  }
  return ran;
}

/** Asserts what import and reports rely on in Grid Engine's lines of such a job. */
function assertAccounting({ pe, slots, job, lines, truths }: VariantRun): void {
  const what = `${pe}, job ${job}`;
  const summary = parallelEnvironments.find(({ name }) => name === pe)?.accountingSummary ?? false;
  const master = lines.find((line) => peTaskOf(line) === null);
  assert.ok(master !== undefined, `${what}: no line of the master`);
  assert.equal(lines.at(-1), master, `${what}: the master's line is the last`);
  for (const line of lines) {
    assert.deepEqual([line.failed, line.exit_status], ['0', '0'], what);
    assert.deepEqual([line.granted_pe, line.slots, line.job_name], [pe, String(slots), `v-${pe}`], what);
  }
  const tasks = lines.filter((line) => line !== master);
  assert.deepEqual(tasks.map(peTaskOf).sort(), summary ? [] : [...truths.keys()].sort(), what);
  for (const line of tasks) {
    assert.equal(line.hostname, line.pe_taskid.split('.')[1], what);
    const kib = (truths.get(line.pe_taskid)?.rssSum ?? Infinity) / 1024;
    assert.ok(Number(line.ru_maxrss) >= kib * 0.97 && Number(line.ru_maxrss) < kib * 1.2, `${what}: ${line.ru_maxrss}`);
  }
  // A summary's ru_maxrss is the sum over the tasks and the script, though they need not have peaked at the same time.
  const all = [...truths.values()].reduce((sum, { rssSum }) => sum + rssSum, 0) / 1024;
  const maxrss = Number(master.ru_maxrss);
  assert.ok(summary ? maxrss > all : maxrss < all, `${what}: ru_maxrss ${maxrss} KiB, of the tasks ${all} KiB`);
}

/** Asserts that the script's record holds its burner and the `qrsh` of each task. */
function assertMasterHolds(record: JobRecord, { own, tasks }: VariantRun): void {
  assertHolds(record.peak_rss, own.rssSum, own.uncertainty + tasks.length * QRSH_BYTES, 0.97);
}

const DIRECTORY_OF_TASK = [
  'addgrpid',
  'config',
  'environment',
  'error',
  'exit_status',
  'job_pid',
  'pid',
  'trace',
] as const;

const activeJobs = (cell: Cell, host: string): string => join(cell.layout.spool, 'execd', host, 'active_jobs');

function configOf(directory: string): ReadonlyMap<string, string> {
  const lines = readFileSync(join(directory, 'config'), 'utf8').split('\n');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

/** The spool directories of tasks, which the sampler's service follows, while the tasks run and afterwards. */
async function directories(site: Site): Promise<void> {
  const { cell } = site;
  const gate = gateFor(cell, USER, 'dirs');
  const tasks = (['master', 'other', 'other'] as const).map((on) => steadyUntil(on, 10, gate));
  const script = tightScript('dirs', tasks, 'echo $SGE_TASK_ID >dirs.$SGE_TASK_ID');
  const args = ['-N', 'dirs', '-t', '3-5:2', '-pe', 'tight', '4', '-l', 'h_vmem=500M'];
  const job = await cell.submit(USER, args, script);
  const found = await until(
    () => {
      const directories = cell.execHosts.flatMap((host) => taskDirectories(cell, host, job));
      const complete = directories.filter(({ files }) => DIRECTORY_OF_TASK.every((name) => files.includes(name)));
      return complete.length === 6 ? complete : null;
    },
    () =>
      `six tasks' directories: ${JSON.stringify(cell.execHosts.flatMap((host) => taskDirectories(cell, host, job)))}`,
    20,
  );
  for (const { host, task, name, path, files, siblings } of found) {
    // Open Cluster Scheduler 9.2 makes a pipe there as well.
    assert.deepEqual(files.filter((name) => name !== 'signal_pipe').sort(), DIRECTORY_OF_TASK);
    assert.equal(name.split('.')[1], host);
    const owner = statSync(path);
    assert.equal(owner.mode & 0o7777, 0o755);
    assert.equal(statSync(join(path, 'config')).uid, owner.uid);
    assert.notEqual(statSync(join(path, 'trace')).uid, owner.uid);
    const config = configOf(path);
    const hostSlots = kind.tasksNameTheirSlots ? '2' : '0';
    assert.deepEqual(
      ['job_id', 'ja_task_id', 'pe_task_id', 'job_name', 'job_owner', 'host', 'host_slots', 'h_vmem', 'prolog'].map(
        (key) => config.get(key),
      ),
      [job, String(task), name, 'petask', USER, host, hostSlots, '500M', 'none'],
    );
    assert.notEqual(readFileSync(join(path, 'addgrpid'), 'utf8'), '');
    // Where `config` has no slots of the host, the shepherd can't multiply the limit by them.
    const bytes = mib(500) * (kind.tasksNameTheirSlots ? 2 : 1);
    const limits = (): string =>
      readText(join('/proc', readFileSync(join(path, 'job_pid'), 'utf8').trim(), 'limits')) ?? '';
    // The shepherd writes the pid while its child still sets its limits.
    await until(
      () => new RegExp(`^Max address space +${bytes} +${bytes} `, 'm').test(limits()),
      () => `${bytes} bytes of address space in ${limits()}`,
    );
    // On the other host the job's directory holds nothing but the directories of its tasks.
    const isMaster = siblings.includes('config');
    assert.equal(config.get('pe_slots'), isMaster ? '4' : '2');
    if (!isMaster)
      assert.ok(
        siblings.every((sibling) => /^[12]\.ge\d$/.test(sibling)),
        siblings.join(' '),
      );
  }
  gate.open();
  await cell.waitFinished(job);
  await until(
    () => cell.execHosts.every((host) => taskDirectories(cell, host, job).length === 0),
    'the removal of the directories',
  );
}

interface TaskDirectory {
  readonly host: string;
  readonly task: number;
  readonly name: string;
  readonly path: string;
  readonly files: readonly string[];
  /** Names in the same parent directory. */
  readonly siblings: readonly string[];
}

function taskDirectories(cell: Cell, host: string, job: string): readonly TaskDirectory[] {
  const parent = activeJobs(cell, host);
  return namesIn(parent)
    .filter((name) => name.startsWith(`${job}.`))
    .flatMap((directory) => {
      const siblings = namesIn(join(parent, directory));
      return siblings
        .filter((name) => /^\d+\.ge\d$/.test(name))
        .map((name) => {
          const path = join(parent, directory, name);
          return { host, task: Number(directory.split('.')[1]), name, path, files: namesIn(path), siblings };
        });
    });
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/**
 * Whether a task's exit status is unknown: Grid Engine removes the task's directory soon after its end (Open Cluster
 * Scheduler at once), and on a loaded machine the service comes too late to read it.
 */
const isLost = ({ status, pe_task_id: task }: JobRecord): boolean => task !== null && status === 'lost';

/** Whether a record has Grid Engine's line alone so far: another job's import came before the node's own record. */
const isAccountingAlone = ({ trust }: JobRecord): boolean => trust === 'accounting';

/** All records of a job. If a task is lost, its accounting line is imported, which has its exit status. */
async function allRecordsOf({ product, cell }: Site, job: string, count: number): Promise<readonly JobRecord[]> {
  const find = (): Promise<readonly JobRecord[]> =>
    until(async () => {
      const records = (await product.records(job, count)).map(({ record }) => record);
      return !records.some(isAccountingAlone) && records;
    }, `records of job ${job} that are sampled`);
  const records = await find();
  if (!records.some(isLost)) return records;
  await cell.waitFinished(job);
  // 1: nothing new, since another job's import came before.
  const { status, stderr } = await product.run('ge1', 'import');
  assert.ok(status === 0 || status === 1, stderr);
  return find();
}

/** The records of one job by PE task id; null: the script's own. */
async function recordsOf(site: Site, job: string, count: number): Promise<ReadonlyMap<string | null, JobRecord>> {
  const all = await allRecordsOf(site, job, count);
  const records = new Map(all.map((record) => [record.pe_task_id, record]));
  assert.equal(records.size, all.length, `job ${job}: two records of one task`);
  assert.equal(records.size, count);
  return records;
}

function taskRecord(records: ReadonlyMap<string | null, JobRecord>, id: string | null): JobRecord {
  const record = records.get(id);
  assert.ok(record !== undefined, `no record of ${id ?? 'the master'}, but of ${[...records.keys()].join(', ')}`);
  if (!isLost(record))
    assert.equal(record.status, 'finished', `${id ?? 'the master'}, ${record.trust}: ${record.notes.join(' ')}`);
  if (id !== null) assert.equal(record.host, id.split('.')[1]);
  return record;
}

function assertTaskHolds(record: JobRecord, truth: Truth): void {
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.97);
  assertHolds(record.peak_process_vmem, truth.processVmem, truth.uncertainty, 0.97);
  assertHolds(record.peak_vmem, truth.vmemSum, truth.uncertainty, 0.97);
}

/** Asserts that our record of a task agrees with Grid Engine's line. */
function assertAgrees(record: JobRecord, line: AccountingRecord): void {
  const what = `job ${line.job_number}, ${line.pe_taskid}`;
  assert.deepEqual(
    [record.job_id, record.task_id ?? 0, record.owner, record.queue, record.host, record.pe, record.exit_status],
    [
      Number(line.job_number),
      Number(line.task_number),
      line.owner,
      line.qname,
      line.hostname,
      line.granted_pe,
      Number(line.exit_status),
    ],
    `${what}; ${record.notes.join(' ')}`,
  );
  const times = [
    ['start', record.started_at, line.start_time],
    // A lost task's end is when the service missed it.
    ...(isLost(record) ? [] : [['end', record.ended_at, line.end_time] as const]),
  ] as const;
  for (const [which, ours, its] of times)
    assert.ok(Math.abs(seconds(ours) - Number(its)) <= 2, `${what}: ${which} at ${seconds(ours)}, not ${its}`);
}

async function everyVariant(site: Site): Promise<void> {
  for (const ran of await runVariants(site)) {
    assertAccounting(ran);
    const records = await recordsOf(site, ran.job, 1 + ran.tasks.length);
    assertMasterHolds(taskRecord(records, null), ran);
    for (const [id, truth] of ran.truths) {
      const record = taskRecord(records, id);
      assertTaskHolds(record, truth);
      assert.equal(record.peak_rss?.command, 'steady');
      assert.equal(record.trust, 'root');
    }
    for (const line of ran.lines) assertAgrees(taskRecord(records, peTaskOf(line)), line);
    assertHostsSlots(ran, records);
  }
}

/** Asserts that the hosts' slots add up to the job's, and that each task's limit is its request times them. */
function assertHostsSlots(ran: VariantRun, records: ReadonlyMap<string | null, JobRecord>): void {
  const perHost = new Map([...records.values()].map((record) => [record.host, record.host_slots ?? 0]));
  const sum = [...perHost.values()].reduce((all, slots) => all + slots, 0);
  assert.equal(sum, ran.slots, `${ran.pe}: ${JSON.stringify([...perHost])}`);
  for (const { host_slots: slots, h_vmem: memory } of records.values())
    assert.equal(memory?.limit_bytes, (memory?.request_bytes ?? 0) * (slots ?? 0));
}

async function arrayOfParallelTasks(site: Site): Promise<void> {
  const tasks = [steady('master', 30), steady('other', 50)];
  const own = burnerCommand('steady', 'par.$SGE_TASK_ID.own', { mib: 40, hold: HOLD });
  const args = ['-N', 'par', '-t', '2-4:2', '-pe', 'tight', '2', '-l', 'h_vmem=500M'];
  const job = await site.cell.submit(USER, args, tightScript('par', tasks, own));
  const lines = await site.cell.waitFinished(job);
  assert.equal(lines.length, 6);
  const records = await allRecordsOf(site, job, 6);
  for (const line of lines) {
    const record = records.find(
      ({ task_id: task, pe_task_id: peTask }) => task === Number(line.task_number) && peTask === peTaskOf(line),
    );
    assert.ok(record !== undefined, `no record of ${line.task_number} ${line.pe_taskid}`);
    assertAgrees(record, line);
    const truth = taskTruths(site.cell, USER, 'par', line.task_number).get(line.pe_taskid);
    if (record.pe_task_id !== null) assertTaskHolds(record, truth ?? assert.fail('no truth'));
  }
}

/** One task starts when the other one on its host has ended. */
async function lateTask(site: Site): Promise<void> {
  const tasks = [steady('other', 40), steady('other', 80, HOLD, 6000)];
  const job = await submitTight(site, 'late', 'tight', 4, tightScript('late', tasks));
  const lines = await site.cell.waitFinished(job);
  const records = await recordsOf(site, job, 3);
  const ids = [...taskTruths(site.cell, USER, 'late')];
  assert.deepEqual(
    ids.map(([, { rssSum }]) => rssSum > mib(70)),
    [false, true],
  );
  for (const [id, truth] of ids) assertTaskHolds(taskRecord(records, id), truth);
  for (const line of lines) assertAgrees(taskRecord(records, peTaskOf(line)), line);
}

const SHORT_TASKS = 12;

/** Tasks so short that the service can miss them while they run. */
async function shortTasks(site: Site): Promise<void> {
  const one = `qrsh -inherit -nostdin $2 'head -c 20000000 /dev/zero | tail -c 1 >/dev/null; exit 3'`;
  const script = [...openingLines(), `for i in $(seq ${SHORT_TASKS / 2}); do ${one} & ${one}; wait; done`].join('\n');
  const job = await submitTight(site, 'short', 'tight', 4, script);
  const lines = await site.cell.waitFinished(job);
  assert.equal(lines.length, SHORT_TASKS + 1);
  const records = await recordsOf(site, job, SHORT_TASKS + 1);
  for (const line of lines) assertAgrees(taskRecord(records, peTaskOf(line)), line);
}

const { SIGHUP, SIGKILL } = constants.signals;

/** Grid Engine ends the tasks when the script has ended; on the script's host within about a second. */
async function tasksOutliveScript(site: Site): Promise<void> {
  const gate = gateFor(site.cell, USER, 'outlived');
  const tasks = [steady('master', 60, 600_000), steady('other', 60, 600_000)];
  const begin = tasks.map((task) => `${taskCommand('out', task)} &`);
  const job = await submitTight(site, 'out', 'tight', 4, [...openingLines(), ...begin, gate.wait, ''].join('\n'));
  await awaitFigures(site.cell, job, holds(mib(59)), 2);
  gate.open();
  const lines = await site.cell.waitFinished(job);
  const records = await recordsOf(site, job, 3);
  const master = taskRecord(records, null);
  assert.equal(master.exit_status, 0);
  for (const line of lines) {
    const id = peTaskOf(line);
    const record = taskRecord(records, id);
    assertAgrees(record, line);
    if (id === null) continue;
    // If the task's qrsh ends first, the shepherd closes its terminal, and the kernel sends SIGHUP.
    const signal = record.signal === SIGHUP ? SIGHUP : SIGKILL;
    assert.deepEqual([line.failed, record.signal, record.exit_status], ['100', signal, 128 + signal]);
    assertHolds(record.peak_rss, mib(60), mib(4), 0.97);
    // Grid Engine's times are in whole seconds.
    if (record.host === master.host) assert.ok(seconds(record.ended_at) > seconds(master.ended_at) - 1);
  }
}

/** Grid Engine may lose the end of a task that runs across the restart, and notice that of others after a minute. */
async function execdRestarts(site: Site): Promise<void> {
  const { cell } = site;
  const tasks = (['master', 'other'] as const).flatMap((on) => [steady(on, 50, 12_000), steady(on, 40, 4000)]);
  const gate = gateFor(cell, USER, 'restarted');
  const late = `${gate.wait}; ${taskCommand('restart', steady('other', 80))}`;
  const job = await submitTight(site, 'restart', 'tight', 4, tightScript('restart', tasks, late));
  const [running] = await cell.waitRunning(job);
  // Collected, since on a busy machine the first task has ended before the last one begins.
  const begun = new Set<string>();
  await until(
    () => {
      for (const host of cell.execHosts)
        for (const directory of taskDirectories(cell, host, job)) begun.add(directory.path);
      return begun.size === 4 || null;
    },
    () => `four tasks, not ${begun.size}`,
  );
  await sleep(2000);
  const starts = (host: string): number => readText(cell.layout.execdMessages(host))?.split('starting up').length ?? 0;
  const before = new Map(cell.execHosts.map((host) => [host, starts(host)]));
  await Promise.all(cell.execHosts.map((host) => cell.stopExecd(host)));
  await sleep(4000);
  await Promise.all(cell.execHosts.map((host) => cell.startExecd(host)));
  // execd logs its start once qmaster knows it; a qrsh that comes earlier would delay that for as long as it waits.
  await until(
    () => cell.execHosts.every((host) => starts(host) > (before.get(host) ?? 0)),
    'both execds registered with qmaster',
  );
  gate.open();
  const records = await recordsOf(site, job, 6);
  const truths = taskTruths(cell, USER, 'restart');
  assert.equal(truths.size, 5);
  for (const [id, truth] of truths) assertTaskHolds(taskRecord(records, id), truth);
  const [, masterHost] = running?.queue?.split('@') ?? [];
  assert.equal(taskRecord(records, null).host, masterHost);
  for (const id of records.keys()) {
    const record = taskRecord(records, id);
    if (!isLost(record)) assert.equal(record.exit_status, 0);
  }
}

/** The process of the sampler's service on a host; null: none runs. */
function serviceOf({ cell }: Site, host: string): ProcessId | null {
  const found = cell
    .processes(host)
    .filter(({ command }) => command.endsWith(`/sampler/service/main.js ${SETTINGS_FILE}`));
  assert.ok(found.length <= 1, `${found.length} services on ${host}`);
  return found[0] ?? null;
}

/** Starts the service as cron does each minute, again and again: that does nothing while the old one is ending. */
async function startService(site: Site, host: string): Promise<void> {
  const { cell, product } = site;
  await until(
    async () => {
      await cell.check(host, ['sh', '-p', join(product.prefix, 'current/hooks/sampler.sh'), '--detach']);
      await sleep(200);
      return serviceOf(site, host);
    },
    () => `a service on ${host}`,
  );
}

async function serviceIsKilled(site: Site): Promise<void> {
  const { cell } = site;
  const gate = gateFor(cell, USER, 'killed');
  const tasks = (['master', 'other'] as const).map((on) => steadyUntil(on, 60, gate));
  const job = await submitTight(site, 'killed', 'tight', 4, tightScript('killed', tasks));
  const isHeld = holds(mib(59));
  await awaitFigures(cell, job, isHeld, 2);
  for (const host of cell.execHosts) {
    const service = serviceOf(site, host);
    assert.ok(service !== null, `no service on ${host}`);
    process.kill(service.pid, 'SIGKILL');
    await until(() => !isAlive(service), 'the end of the service');
    await startService(site, host);
  }
  const restarted = Date.now();
  await awaitFigures(cell, job, (record) => record.revision > restarted && isHeld(record), 2);
  gate.open();
  const lines = await cell.waitFinished(job);
  const records = await recordsOf(site, job, 3);
  for (const [id, truth] of taskTruths(cell, USER, 'killed')) assertTaskHolds(taskRecord(records, id), truth);
  for (const line of lines) assertAgrees(taskRecord(records, peTaskOf(line)), line);
  assert.ok(cell.execHosts.every((host) => serviceOf(site, host) !== null));
}

describe('tightly integrated jobs on a real Grid Engine', () => {
  it('get a record of their script and of each task on its host in the job scope', limits, async (t) => {
    await withSite(t, {}, async (site) => {
      await t.test('Grid Engine makes a spool directory for each task, with its limits', () => directories(site));
      await t.test('the record and the accounting lines are right for every parallel environment', async () => {
        for (const ran of await runVariants(site)) {
          assertAccounting(ran);
          const local = ran.tasks.filter(({ on }) => on === 'master').length;
          const records = await recordsOf(site, ran.job, 1 + local);
          const script = taskRecord(records, null);
          assertMasterHolds(script, ran);
          for (const [id, record] of records) {
            if (id === null) continue;
            assert.deepEqual([record.host, record.trust], [script.host, 'root']);
            assertTaskHolds(record, ran.truths.get(id) ?? assert.fail(id));
          }
          for (const line of ran.lines)
            if (records.has(peTaskOf(line))) assertAgrees(taskRecord(records, peTaskOf(line)), line);
        }
      });
      await t.test('no queue instance is in error', () => assertNoQueueErrors(site.cell));
    });
  });

  it('get a record of each task in the node scope', { ...limits, concurrency: 4 }, async (t) => {
    await withSite(t, { settings: 'scope = "node"\ndelivery_jitter_ms = 0' }, async (site) => {
      for (const host of site.cell.execHosts) assert.ok(serviceOf(site, host) !== null, `no service on ${host}`);
      await t.test('under every parallel environment', () => everyVariant(site));
      // Side by side: each waits for Grid Engine most of the time.
      await Promise.all([
        t.test('for each parallel task of an array job', () => arrayOfParallelTasks(site)),
        t.test('for a task that starts late', () => lateTask(site)),
        t.test('for many short tasks', () => shortTasks(site)),
        t.test('for tasks that Grid Engine ends after the script', () => tasksOutliveScript(site)),
      ]);
      await t.test('when execd restarts on both hosts', () => execdRestarts(site));
      await t.test('when the service is killed on both hosts', () => serviceIsKilled(site));
      await t.test('no queue instance is in error', () => assertNoQueueErrors(site.cell));
    });
  });
});
