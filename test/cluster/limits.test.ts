import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { rssOf } from './processes';
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
} from './site';
import { until } from '../support/until';

const limits = { timeout: 2_000_000 };

/** Whether root may raise hard limits here (CAP_SYS_RESOURCE): then no job is sampled in the small mode. */
async function canRaiseLimits({ cell }: Site): Promise<boolean> {
  return (await cell.on('ge1', 'ulimit -v 1000000; ulimit -v unlimited')).status === 0;
}

async function smallMode(site: Site): Promise<void> {
  const { cell, product } = site;
  const script = burnerCommand('steady', 'small.truth', { mib: 150, hold: 4000 });
  const job = await cell.submit('gealice', ['-N', 'small', '-l', 'h_vmem=300M'], script);
  await cell.waitFinished(job);
  const record = await product.record(job);
  const truth = truthOf(cell, 'gealice', 'small.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.97);
  assert.equal(record.trust, 'root');
  assert.equal(record.sampler?.mode, (await canRaiseLimits(site)) ? 'full' : 'small');
}

async function noRoomForASampler(t: TestContext, site: Site): Promise<void> {
  const { cell, product } = site;
  // Beside a job with a sampler, so that a listener runs, which starts processes for which the limit leaves no room.
  const host = 'ge2';
  const gate = gateFor(cell, 'gealice', 'beside');
  const beside = await cell.submit(
    'gealice',
    ['-N', 'beside', '-l', 'h_vmem=1G', '-q', `all.q@${host}`],
    burnerCommand('steady', 'beside.truth', { mib: 20, hold: 240_000, until: gate.path }),
  );
  // The listener writes this file once it takes connections.
  await until(
    () => existsSync(join(cell.productDir(host, '/run/qmemacct'), 'listener', 'pid')),
    () => `the listener of ${host}`,
  );
  const script = burnerCommand('steady', 'tiny.truth', { mib: 30, hold: 500 });
  const tiny = ['-N', 'tiny', '-l', 'h_vmem=50M', '-q', `all.q@${host}`];
  const job = await cell.submit('gealice', tiny, `${script}; exit 5`);
  const [line] = await cell.waitFinished(job);
  assert.ok(line !== undefined);
  if (await canRaiseLimits(site)) return;
  // The record must come without a flush, and while no other job's sampler ends.
  const record = await product.record(job);
  t.diagnostic(`the record was there ${Date.now() - Date.parse(record.ended_at ?? '')} ms after the job's end`);
  gate.open();
  await cell.waitFinished(beside);
  assert.equal(record.status, 'unsampled');
  assert.equal(record.trust, 'usage');
  assert.equal(record.exit_status, 5);
  assert.equal(record.owner, 'gealice');
  assert.match(record.notes.join(' '), /no room for a sampler/);
  const truth = truthOf(cell, 'gealice', 'tiny.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.9);
  assert.deepEqual(record.peak_rss?.sources, ['usage']);
}

async function smallestAddressSpace({ cell, product }: Site): Promise<void> {
  // 10 MiB is the least that Grid Engine sets: bash itself may not start, but no hook may fail.
  const job = await cell.submit('gebob', ['-N', 'least', '-l', 'h_vmem=10M', '-S', '/bin/sh'], 'exit 0');
  const [line] = await cell.waitFinished(job);
  assert.ok(line !== undefined);
  assert.ok(!['8', '15'].includes(line.failed), `a hook failed: ${line.failed}`);
  await product.run(line.hostname, 'flush');
  await product.record(job);
}

async function fewDescriptors({ cell, product }: Site): Promise<void> {
  await cell.setGlobal({ execd_params: 'S_DESCRIPTORS=100,H_DESCRIPTORS=100' });
  try {
    const gate = gateFor(cell, 'gealice', 'descriptors');
    const script = `ulimit -n; for i in $(seq 60); do sleep 600 & done; ${gate.wait}; kill $(jobs -p)`;
    const job = await cell.submit(
      'gealice',
      ['-N', 'descriptors', '-l', 'h_vmem=1G', '-o', 'desc.out', '-j', 'y'],
      script,
    );
    await awaitFigures(cell, job, ({ max_processes: most }) => (most ?? 0) >= 61);
    gate.open();
    await cell.waitFinished(job);
    const record = await product.record(job);
    assert.equal((await cell.check('ge1', `cat ${cell.layout.home('gealice')}/desc.out`)).trim(), '100');
    assert.ok((record.max_processes ?? 0) >= 61, `${record.max_processes ?? 0} processes seen at once`);
    assert.equal(record.trust, 'root');
  } finally {
    await cell.setGlobal({ execd_params: 'none' });
  }
}

async function smallFiles(site: Site): Promise<void> {
  const { cell, product } = site;
  const script = burnerCommand('steady', 'files.truth', { mib: 80, hold: 4000 });
  const job = await cell.submit('gealice', ['-N', 'files', '-l', 'h_vmem=1G,h_fsize=1M'], script);
  const [line] = await cell.waitFinished(job);
  await product.run(line?.hostname ?? '', 'flush');
  const record = await product.record(job);
  const truth = truthOf(cell, 'gealice', 'files.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.95);
  assert.equal(record.trust, 'root');
  if (!(await canRaiseLimits(site))) assert.match(record.notes.join(' '), /file size limit/);
}

async function littleCpuTime({ cell, product }: Site): Promise<void> {
  // Reading 120 processes 20 times a second, the sampler sooner or later takes more than half of the 2 s.
  const gate = gateFor(cell, 'gealice', 'cpu');
  const burn = burnerCommand('steady', 'cpu.truth', { mib: 60, hold: LONGEST_HOLD_MS, until: gate.path });
  const script = `for i in $(seq 120); do sleep 3000 & done; ${burn}; kill $(jobs -p)`;
  const job = await cell.submit('gealice', ['-N', 'cputime', '-l', 'h_vmem=1G,h_cpu=2'], script);
  const samplers = (): readonly number[] =>
    cell.execHosts
      .flatMap((host) => cell.processes(host))
      .filter(({ command }) => command.includes('sampler/main.js') && command.includes(`job=${job} `))
      .map(({ pid }) => pid);
  const first = await until(
    () => samplers()[0] ?? null,
    () => `a sampler of ${job}`,
  );
  await until(
    () => samplers().some((pid) => pid !== first),
    () => `a second sampler of ${job}`,
  );
  const sleepers = (): readonly number[] =>
    cell.execHosts
      .flatMap((host) => cell.processes(host))
      .flatMap(({ pid, command }) => (command === 'sleep 3000' ? [rssOf(pid)] : []));
  const sleepersHeld = await until(
    () => {
      const each = sleepers();
      return each.length === 120 ? each.reduce((sum, bytes) => sum + bytes, 0) : null;
    },
    () => `120 sleeping processes, not ${sleepers().length}`,
  );
  await awaitFigures(cell, job, holds(mib(60) + 0.97 * sleepersHeld));
  gate.open();
  await cell.waitFinished(job);
  const record = await product.record(job);
  const truth = truthOf(cell, 'gealice', 'cpu.truth');
  assertHolds(record.peak_rss, truth.rssSum + sleepersHeld, truth.uncertainty, 0.97);
  assert.equal(record.trust, 'root');
  assert.equal(record.status, 'finished');
  // The sampler hands over to a successor at half of its limit of 2 s.
  assert.ok(
    (record.sampler?.cpu_seconds ?? 0) > 1,
    `the sampler took ${record.sampler?.cpu_seconds ?? 0} s of CPU time`,
  );
  assert.ok((record.samples ?? 0) > 30, `${record.samples ?? 0} samples`);
  assert.ok((record.longest_gap_seconds ?? 99) < 60, `a gap of ${record.longest_gap_seconds ?? 0} s`);
}

describe("jobs whose limits can't be raised, on a real Grid Engine", () => {
  it('are sampled as far as their limits allow, and each gets a record', { ...limits, concurrency: 5 }, async (t) => {
    const settings = 'interval = 0.05\ncpu_budget_percent = 100';
    await withSite(t, { settings }, async (site) => {
      // Side by side: each waits for Grid Engine most of the time. The limit of descriptors is set for the whole cell.
      await Promise.all([
        t.test('in the small mode with h_vmem=300M', () => smallMode(site)),
        t.test('with h_vmem=10M, at least by a record and without a failed hook', () => smallestAddressSpace(site)),
        t.test('with h_fsize=1M', () => smallFiles(site)),
        t.test('with h_cpu=2, by samplers that hand over to a successor', () => littleCpuTime(site)),
      ]);
      await t.test("not at all with h_vmem=50M, where the record has Grid Engine's usage", (inner) =>
        noRoomForASampler(inner, site),
      );
      await t.test('with 100 descriptors', () => fewDescriptors(site));
      await t.test('without putting a queue instance into error', () => assertNoQueueErrors(site.cell));
    });
  });
});
