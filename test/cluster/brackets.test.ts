import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseRecord, type Bracket, type JobRecord } from '../../src/record/record';
import { SETTINGS_FILE } from '../../src/record/settings';
import { readText } from '../../src/sources/files';
import { burner, type BurnerProgram } from '../burners/build';
import type { AccountingRecord } from './cell';
import { setArmWait } from './product';
import { isAlive, rssOf, type ProcessId } from './processes';
import { FIRST, oneOf } from '../tries';
import { client } from './kind';
import {
  assertHolds,
  assertNoQueueErrors,
  awaitFigures,
  burnerCommand,
  eventsObstacle,
  holds,
  mib,
  truthOf,
  LONGEST_HOLD_MS,
  withSite,
  gateFor,
  type Site,
  type Gate,
} from './site';
import { until } from '../support/until';

const limits = { timeout: 2_000_000 };
const HOST = 'ge1';
const FRESH_HOST = 'ge2';
const USER = 'gealice';

interface Ended {
  readonly job: string;
  readonly record: JobRecord;
  readonly line: AccountingRecord;
}

/** Submits to one host, as a script or (`-b y` among the arguments) a command. */
function submit({ cell }: Site, host: string, args: readonly string[], script?: string): Promise<string> {
  return cell.submit(USER, ['-q', `all.q@${host}`, ...args], script);
}

async function ended({ cell, product }: Site, job: string): Promise<Ended> {
  const [line] = await cell.waitFinished(job);
  assert.ok(line !== undefined, `job ${job}: no accounting line`);
  const record = await product.record(job);
  assert.deepEqual([line.failed, line.exit_status], ['0', '0']);
  return { job, record, line };
}

async function run(site: Site, host: string, args: readonly string[], script?: string): Promise<Ended> {
  return ended(site, await submit(site, host, args, script));
}

/** qsub's words for a burner that is the job's first process itself: without a shell around it. */
function bareBurner(
  { cell }: Site,
  name: BurnerProgram,
  truth: string,
  options: Readonly<Record<string, number>>,
): readonly string[] {
  const words = Object.entries(options).map(([key, value]) => `--${key}=${value}`);
  return ['-b', 'y', '-shell', 'n', burner(name), ...words, `--truth=${cell.layout.home(USER)}/${truth}`];
}

function assertProved(bracket: Bracket | null): void {
  assert.ok(bracket !== null, 'no bracket');
  assert.ok(bracket.proved, `open: ${bracket.open.join(', ')}`);
}

function assertOpen(bracket: Bracket | null, reason: string): void {
  assert.ok(bracket !== null, 'no bracket');
  assert.equal(bracket.upper_bytes, null);
  assert.ok(bracket.open.includes(reason as never), `open because of ${bracket.open.join(', ')}, not ${reason}`);
}

const metric = (record: JobRecord, name: string): number => record.metrics[name] ?? NaN;

/** The listener's process on a host; null: none runs. */
function listenerOf({ cell }: Site, host: string): ProcessId | null {
  const found = cell
    .processes(host)
    .filter(({ command }) => command.includes(`/sampler/listener/main.js ${SETTINGS_FILE} `));
  assert.ok(found.length <= 1, `${found.length} listeners on ${host}`);
  return found[0] ?? null;
}

/** Shell command that ends when a daemonised burner has written its truth: the job's end would kill the burner. */
const waitForTruth = (file: string): string =>
  `for i in $(seq 300); do [ -s "$HOME/${file}" ] && break; sleep 0.2; done`;

/** Shell command that starts short-lived children until the gate opens: only the kernel's events show them. */
const crowd = ({ path }: Gate): string => `until [ -e "${path}" ]; do /bin/true; sleep 0.05; done`;

const hasManyEndedChildren = (record: JobRecord): boolean => metric(record, 'taskstats_ended_processes') > 40;

/** Whether the job's sampler has got events from the listener. */
const hearsEvents = (record: JobRecord): boolean => metric(record, 'taskstats_processes') > 0;

/** The first job of a host without a listener, whose prolog does not wait: the job's first fork goes unheard. */
async function withoutListener(site: Site): Promise<void> {
  await until(() => listenerOf(site, HOST) === null, 'the end of the listener that the installation has started');
  const gate = gateFor(site.cell, USER, 'gap');
  const script = burnerCommand('steady', 'gap.truth', { mib: 120, hold: LONGEST_HOLD_MS, until: gate.path });
  const job = await submit(site, HOST, ['-N', 'gap'], `${script} & ${crowd(gate)}; wait`);
  await awaitFigures(site.cell, job, (figures) => hasManyEndedChildren(figures) && holds(mib(120))(figures));
  gate.open();
  const { record } = await ended(site, job);
  const truth = truthOf(site.cell, USER, 'gap.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.97);
  assertOpen(record.peak_rss, 'start-gap');
  assertOpen(record.peak_vmem, 'start-gap');
  assert.ok(listenerOf(site, HOST) !== null, 'the sampler started no listener');
  assert.equal(listenerOf(site, FRESH_HOST), null);
}

const CHILDREN = 1000;
const BURNERS = 2;
const CHILD_SECONDS = 0.02;

/** Each burner forks its share of the children one after the other. */
async function manyChildren(site: Site): Promise<void> {
  const events = `${burner('events')} --children=${CHILDREN / BURNERS} --seconds=${CHILD_SECONDS}`;
  const steady = burnerCommand('steady', 'many.truth', { mib: 150, hold: 3000 });
  const script = `${Array.from({ length: BURNERS }, () => `${events} &`).join(' ')} ${steady}; wait`;
  // dash reads no profile: it starts no other process than these.
  const { record, line } = await run(site, HOST, ['-N', 'many', '-b', 'y', '-shell', 'n', '/bin/dash', '-c', script]);
  const truth = truthOf(site.cell, USER, 'many.truth');
  const processes = CHILDREN + BURNERS + 2;
  assert.equal(record.processes, processes);
  assert.equal(metric(record, 'taskstats_processes'), processes);
  assert.equal(metric(record, 'taskstats_ended_processes'), processes);
  const kernel = Number(line.ru_utime) + Number(line.ru_stime);
  assert.ok(kernel >= CHILDREN * CHILD_SECONDS, `the kernel has ${kernel} s`);
  // A record of an exit is made before the process frees its memory: on some machines that takes a millisecond.
  for (const [what, seconds, share] of [
    ['cpu_seconds', record.cpu_seconds ?? NaN, 0.02],
    ['taskstats_cpu_seconds', metric(record, 'taskstats_cpu_seconds'), 0.06],
  ] as const)
    assert.ok(Math.abs(seconds - kernel) <= share * kernel, `${what}: ${seconds} s, the kernel has ${kernel} s`);
  for (const [bracket, value] of [
    [record.peak_rss, truth.rssSum],
    [record.peak_vmem, truth.vmemSum],
    [record.peak_process_vmem, truth.processVmem],
  ] as const) {
    assertProved(bracket);
    assertHolds(bracket, value, truth.uncertainty, 0.97);
    assert.ok((bracket?.upper_bytes ?? Infinity) < value * 1.2, `upper end ${bracket?.upper_bytes ?? NaN}`);
  }
}

const COUNTS = [70, 100] as const;

/** Runs two jobs that start together; tries again if the first one ended before the second began. */
async function runTwo(site: Site, tries = 5): Promise<readonly JobRecord[]> {
  const jobs: string[] = [];
  // Neither job starts before both are submitted.
  await site.cell.check(site.cell.master, [client('qmod'), '-d', 'all.q']);
  for (const children of COUNTS) {
    const options = { children, concurrency: 2, mib: 10, life: 40 };
    jobs.push(
      await submit(site, HOST, [
        '-N',
        `two${children}`,
        ...bareBurner(site, 'many-children', `two${children}.truth`, options),
      ]),
    );
  }
  await site.cell.check(site.cell.master, [client('qmod'), '-e', 'all.q']);
  const both = [];
  for (const job of jobs) both.push((await ended(site, job)).record);
  const at = (iso: string | null | undefined): number => Date.parse(iso ?? '');
  const lastStart = Math.max(...both.map(({ started_at: start }) => at(start)));
  if (both.every(({ ended_at: end }) => lastStart < at(end))) return both;
  assert.ok(tries > 1, 'the jobs did not run at the same time');
  return runTwo(site, tries - 1);
}

async function twoSimultaneousJobs(site: Site): Promise<void> {
  for (const [index, record] of (await runTwo(site)).entries()) {
    const children = COUNTS[index] ?? 0;
    const truth = truthOf(site.cell, USER, `two${children}.truth`);
    assert.equal(metric(record, 'taskstats_processes'), children + 1);
    assertProved(record.peak_rss);
    assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.5);
  }
}

/** What the first process held before it executed another program is bounded by its ru_maxrss. */
async function execChain(site: Site): Promise<void> {
  const [b, y, shell, n, ...command] = bareBurner(site, 'steady', 'chain.truth', { mib: 90, hold: 1200 });
  const words = [b, y, shell, n, '/usr/bin/env', ...command].map(String);
  await oneOf(3, async () => {
    const { record } = await run(site, HOST, ['-N', 'chain', '-l', 'h_vmem=1500M', ...words]);
    const truth = truthOf(site.cell, USER, 'chain.truth');
    assertProved(record.peak_rss);
    assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.97);
    assert.ok(!record.peak_rss?.sources.includes('limit'), 'ru_maxrss is the better bound');
    assertProved(record.peak_process_vmem);
    assertHolds(record.peak_process_vmem, truth.processVmem, truth.uncertainty, 0.97);
    assert.equal(record.peak_process_vmem?.upper_bytes, mib(1500));
    assert.ok(record.peak_process_vmem.sources.includes('limit'));
  });
}

async function shrinkingExec(site: Site): Promise<void> {
  const options = { mib: 100, hold: 120, small: 1, after: 1200 };
  const script = `${burnerCommand('shrink-by-exec', 'shrink.truth', options)}; true`;
  const { record } = await run(site, HOST, ['-N', 'shrink'], script);
  const truth = truthOf(site.cell, USER, 'shrink.truth');
  assertProved(record.peak_rss);
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.97);
}

async function boundedWithoutLimit(site: Site): Promise<void> {
  const script = burnerCommand('steady', 'plain.truth', { mib: 90, hold: 1200 });
  const { record } = await run(site, HOST, ['-N', 'plain', '-l', 'h_vmem=1500M'], `${script}; true`);
  const truth = truthOf(site.cell, USER, 'plain.truth');
  for (const [bracket, value] of [
    [record.peak_rss, truth.rssSum],
    [record.peak_vmem, truth.vmemSum],
    [record.peak_process_vmem, truth.processVmem],
  ] as const) {
    assertProved(bracket);
    assertHolds(bracket, value, truth.uncertainty, 0.97);
    assert.ok(!bracket?.sources.includes('limit'));
  }
}

async function unreapedProcess(site: Site): Promise<void> {
  const { cell } = site;
  await cell.setHVmem('NO', '0');
  try {
    // The shell in between ends at once: nobody waits for setsid's child, and what it held before each exec is lost.
    const script = `(setsid sh -c 'exec ${burnerCommand('steady', 'lost.truth', { mib: 60, hold: 800 })}' &); ${waitForTruth('lost.truth')}`;
    const { record } = await run(site, HOST, ['-N', 'lost'], script);
    const truth = truthOf(cell, USER, 'lost.truth');
    assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.97);
    assertOpen(record.peak_rss, 'exec');
  } finally {
    await cell.setHVmem('YES', '1G');
  }
}

async function daemonised(site: Site): Promise<void> {
  const script = `${burnerCommand('daemon', 'daemon.truth', { mib: 70, hold: 1500 })}; ${waitForTruth('daemon.truth')}`;
  const { record } = await run(site, HOST, ['-N', 'daemon'], script);
  const truth = truthOf(site.cell, USER, 'daemon.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.97);
  assertProved(record.peak_rss);
}

/** The live records of the jobs that run on a host. */
function liveRecords({ cell }: Site, host: string): readonly JobRecord[] {
  const live = join(cell.productDir(host, '/run/qmemacct'), 'live');
  const names = readdirSync(live).filter((name) => name.endsWith('.json'));
  // A live record is removed when its job ends.
  const texts = names.flatMap((name) => readText(join(live, name)) ?? []);
  return texts.flatMap((text) => {
    const record = parseRecord(JSON.parse(text));
    return record.ok ? [record.value] : [];
  });
}

async function daemonOutlivesJob(site: Site): Promise<void> {
  const { cell } = site;
  await cell.setGlobal({ execd_params: 'ENABLE_ADDGRP_KILL=false' });
  try {
    const gate = gateFor(cell, USER, 'outlives');
    const script = `${burnerCommand('daemon', 'outlives.truth', { mib: 70, hold: LONGEST_HOLD_MS })}; ${gate.wait}`;
    const job = await submit(site, HOST, ['-N', 'outlives'], script);
    await until(
      () => liveRecords(site, HOST).find(({ peak_rss: peak }) => (peak?.lower_bytes ?? 0) >= mib(70)) ?? null,
      () => `a sample of the daemon; the live records are ${JSON.stringify(liveRecords(site, HOST))}`,
    );
    gate.open();
    const { record } = await ended(site, job);
    // The daemon is still alive when the record is made; all it held until then is known.
    assert.equal(metric(record, 'taskstats_processes') - metric(record, 'taskstats_ended_processes'), 1);
    assertProved(record.peak_rss);
    assertHolds(record.peak_rss, mib(70), mib(2), 1);
  } finally {
    await cell.setGlobal({ execd_params: 'none' });
  }
}

/** All processes of a deleted job are still dying when the epilog begins. */
async function deletedJob(site: Site): Promise<void> {
  const { cell, product } = site;
  const burners = [1, 2].map(
    (n) => `${burnerCommand('steady', `deleted${n}.truth`, { mib: 300, hold: LONGEST_HOLD_MS })} &`,
  );
  const job = await submit(site, HOST, ['-N', 'deleted', '-l', 'h_vmem=2G'], `${burners.join(' ')} wait`);
  const held = (): readonly number[] =>
    cell
      .processes(HOST)
      .filter(({ command }) => /deleted\d\.truth/.test(command))
      .map(({ pid }) => rssOf(pid));
  await until(
    () => held().filter((bytes) => bytes >= mib(300)).length === 2,
    () => `the burners of ${job}: ${held().join(' ')} bytes`,
  );
  await cell.qdel([job]);
  await cell.waitFinished(job);
  const { peak_rss: peak } = await product.record(job);
  assertProved(peak);
  assert.ok((peak?.upper_bytes ?? 0) >= mib(600), `${peak?.upper_bytes ?? 0} bytes`);
}

async function killedListener(site: Site): Promise<void> {
  const [first, second] = [gateFor(site.cell, USER, 'killed'), gateFor(site.cell, USER, 'counted')];
  const burn = burnerCommand('steady', 'killed.truth', { mib: 110, hold: LONGEST_HOLD_MS, until: first.path });
  const job = await submit(site, HOST, ['-N', 'killed'], `${burn}; ${crowd(second)}`);
  await awaitFigures(site.cell, job, (figures) => hearsEvents(figures) && holds(mib(110))(figures));
  const listener = listenerOf(site, HOST);
  assert.ok(listener !== null, 'no listener');
  process.kill(listener.pid, 'SIGKILL');
  await until(() => ![undefined, listener.pid].includes(listenerOf(site, HOST)?.pid), 'the next listener');
  first.open();
  await awaitFigures(site.cell, job, hasManyEndedChildren);
  second.open();
  const { record } = await ended(site, job);
  const truth = truthOf(site.cell, USER, 'killed.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.97);
  assertOpen(record.peak_rss, 'listener-lost');
  const next = listenerOf(site, HOST);
  assert.ok(next !== null && next.pid !== listener.pid, 'no new listener');
  const third = gateFor(site.cell, USER, 'after');
  const later = await submit(site, HOST, ['-N', 'after'], third.wait);
  await awaitFigures(site.cell, later, hearsEvents);
  third.open();
  assertProved((await ended(site, later)).record.peak_rss);
}

/** Seconds from the end of the job's script to the end of our epilog, by the clock of a site's epilog chained behind. */
async function epilogSeconds({ cell }: Site, job: string): Promise<number> {
  const readSeconds = (name: string): number | null => {
    try {
      const text = readFileSync(join(cell.layout.home(USER), name), 'utf8');
      return text.endsWith('\n') ? Number(text) : null;
    } catch {
      return null;
    }
  };
  const last = readSeconds('last');
  assert.ok(last !== null);
  const end = await until(
    () => readSeconds(`epilog.${job}`),
    () => `the chained epilog of ${job}`,
  );
  return end - last;
}

async function stoppedListener(site: Site): Promise<void> {
  const { cell } = site;
  const mark = join(cell.stateDir, 'site-epilog.sh');
  writeFileSync(mark, `#!/bin/sh\ndate +%s.%N >${cell.layout.home(USER)}/epilog.$1\n`, { mode: 0o755 });
  const { epilog = '' } = Object.fromEntries(await cell.config());
  await cell.setGlobal({ epilog: `${epilog} -- root@${mark} $job_id` });
  const job = async (name: string): Promise<{ readonly number: string; readonly openGate: () => void }> => {
    const gate = gateFor(cell, USER, name);
    const number = await submit(site, HOST, ['-N', name], `${gate.wait}; date +%s.%N >~/last`);
    await awaitFigures(cell, number, hearsEvents);
    return { number, openGate: gate.open };
  };
  let tries = 0;
  // Other work on the machine may delay the epilog by a second.
  await oneOf(3, async () => {
    const good = await job(`good${++tries}`);
    good.openGate();
    const { record: usualRecord } = await ended(site, good.number);
    const usual = await epilogSeconds(site, good.number);
    assertProved(usualRecord.peak_rss);

    const bad = await job(`stopped${tries}`);
    const listener = listenerOf(site, HOST);
    assert.ok(listener !== null, 'no listener');
    process.kill(listener.pid, 'SIGSTOP');
    try {
      bad.openGate();
      const { record } = await ended(site, bad.number);
      const stopped = await epilogSeconds(site, bad.number);
      assertOpen(record.peak_rss, 'listener-lost');
      assert.equal(record.status, 'finished');
      assert.ok(stopped < usual + 1.5, `the epilog took ${stopped} s, otherwise ${usual} s`);
    } finally {
      if (isAlive(listener)) process.kill(listener.pid, 'SIGKILL');
    }
  });
}

async function firstOnAFreshHost(site: Site): Promise<void> {
  await setArmWait(site.cell, site.product, 900);
  // So that its hooks don't wait for other work on the machine; the sampler sets its own priority back.
  for (const { pid } of site.cell.processes(FRESH_HOST))
    try {
      setPriority(pid, FIRST);
    } catch {
      // Ended meanwhile.
    }
  assert.equal(listenerOf(site, FRESH_HOST), null);
  let tries = 0;
  // The prolog waits for 0.9 s: if the machine stands still meanwhile, sampler and listener start too late, and say so.
  const attempt = async (): Promise<void> => {
    const listener = listenerOf(site, FRESH_HOST);
    if (listener !== null) {
      process.kill(listener.pid, 'SIGKILL');
      await until(() => !isAlive(listener), 'the end of the listener');
    }
    const file = `armed${++tries}.truth`;
    const script = `${burnerCommand('steady', file, { mib: 80, hold: 1000 })}; true`;
    const { record } = await run(site, FRESH_HOST, ['-N', 'armed'], script);
    const truth = truthOf(site.cell, USER, file);
    const { peak_rss: peak } = record;
    assertHolds(peak, truth.rssSum, truth.uncertainty, 0.97);
    if (peak?.proved === false) assertOpen(peak, 'start-gap');
    assertProved(peak);
  };
  // Sampler and listener start one after the other, and load more than a bare Node.
  await oneOf(4, attempt, 200);
}

describe("a job's brackets on a real Grid Engine", () => {
  it("are proved if the kernel's events of the whole job were heard, else open", limits, async (t) => {
    const obstacle = await eventsObstacle();
    if (obstacle !== null) {
      t.skip(obstacle);
      return;
    }
    const settings = 'listener_linger = 600\ndelivery_jitter_ms = 0';
    await withSite(t, { settings }, async (site) => {
      await t.test('are open at the start if no listener ran and the prolog does not wait', () =>
        withoutListener(site),
      );
      await t.test('are proved for 1,000 children, each of which is counted', () => manyChildren(site));
      await t.test('are proved for two simultaneous jobs, each with its own processes', () =>
        twoSimultaneousJobs(site),
      );
      await t.test('are proved without the limit if no process executed another program', () =>
        boundedWithoutLimit(site),
      );
      await t.test('are proved if the first process executes another program', () => execChain(site));
      await t.test('are proved if a child executes a smaller program', () => shrinkingExec(site));
      await t.test('are open if a process that nobody waits for executed other programs', () => unreapedProcess(site));
      await t.test('are proved if the burner is a daemon', () => daemonised(site));
      await t.test('are proved if a daemon outlives the job', () => daemonOutlivesJob(site));
      await t.test('are proved if the job is deleted', () => deletedJob(site));
      await t.test('are open if the listener is killed during the job, and proved for the next job', () =>
        killedListener(site),
      );
      await t.test('are open if the listener hangs, which does not delay the epilog', () => stoppedListener(site));
      await t.test('are proved for the first job of a host whose prolog waits', () => firstOnAFreshHost(site));
      await t.test('leave no queue instance in error', () => assertNoQueueErrors(site.cell));
    });
  });
});
