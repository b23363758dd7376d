import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { rssOf } from './processes';
import {
  assertHolds,
  assertQueuesWell,
  awaitFigures,
  burnerCommand,
  holds,
  mib,
  truthOf,
  UNTIL_TOLD,
  withSite,
  wordFor,
  type Site,
} from './site';
import { until } from '../support/until';

const limits = { timeout: 2_000_000 };

/** Whether root here may raise hard limits again (CAP_SYS_RESOURCE): then no job is ever sampled in the small mode. */
async function canLift({ cell }: Site): Promise<boolean> {
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
  assert.equal(record.sampler?.mode, (await canLift(site)) ? 'full' : 'small');
}

async function noRoomForASampler(t: TestContext, site: Site): Promise<void> {
  const { cell, product } = site;
  // Beside a job with a sampler: so the node's listener is there, which starts what has no room under the limit.
  const host = 'ge2';
  const word = wordFor(cell, 'gealice', 'beside');
  const beside = await cell.submit(
    'gealice',
    ['-N', 'beside', '-l', 'h_vmem=1G', '-q', `all.q@${host}`],
    burnerCommand('steady', 'beside.truth', { mib: 20, hold: 240_000, until: word.path }),
  );
  // It writes the file once it can be asked.
  await until(
    () => existsSync(join(cell.productDir(host, '/run/qmemacct'), 'listener', 'pid')),
    () => `the listener of ${host}`,
  );
  const script = burnerCommand('steady', 'tiny.truth', { mib: 30, hold: 500 });
  const tiny = ['-N', 'tiny', '-l', 'h_vmem=50M', '-q', `all.q@${host}`];
  const job = await cell.submit('gealice', tiny, `${script}; exit 5`);
  const [line] = await cell.waitFinished(job);
  assert.ok(line !== undefined);
  if (await canLift(site)) return;
  // No flush, and no other job's sampler ends meanwhile.
  const record = await product.record(job);
  t.diagnostic(`the record was there ${Date.now() - Date.parse(record.ended_at ?? '')} ms after the job's end`);
  word.give();
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
  // 10 MiB is the least that Grid Engine sets; bash itself may not start there, but the hooks must not add to it.
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
    const word = wordFor(cell, 'gealice', 'descriptors');
    const script = `ulimit -n; for i in $(seq 60); do sleep 600 & done; ${word.wait}; kill $(jobs -p)`;
    const job = await cell.submit(
      'gealice',
      ['-N', 'descriptors', '-l', 'h_vmem=1G', '-o', 'desc.out', '-j', 'y'],
      script,
    );
    await awaitFigures(cell, job, ({ max_processes: most }) => (most ?? 0) >= 61);
    word.give();
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
  if (!(await canLift(site))) assert.match(record.notes.join(' '), /file size limit/);
}

async function littleCpuTime({ cell, product }: Site): Promise<void> {
  // 120 processes at 20 readings a second take the sampler past half of 2 s, on a fast machine later than on a slow one.
  const word = wordFor(cell, 'gealice', 'cpu');
  const burn = burnerCommand('steady', 'cpu.truth', { mib: 60, hold: UNTIL_TOLD, until: word.path });
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
  word.give();
  await cell.waitFinished(job);
  const record = await product.record(job);
  const truth = truthOf(cell, 'gealice', 'cpu.truth');
  assertHolds(record.peak_rss, truth.rssSum + sleepersHeld, truth.uncertainty, 0.97);
  assert.equal(record.trust, 'root');
  assert.equal(record.status, 'finished');
  // The limit is 2 s, and half of it is the mark for handing over.
  assert.ok(
    (record.sampler?.cpu_seconds ?? 0) > 1,
    `the sampler took ${record.sampler?.cpu_seconds ?? 0} s of CPU time`,
  );
  assert.ok((record.samples ?? 0) > 30, `${record.samples ?? 0} samples`);
  assert.ok((record.longest_gap_seconds ?? 99) < 60, `a gap of ${record.longest_gap_seconds ?? 0} s`);
}

describe("jobs whose limits can't be lifted", () => {
  it('are sampled as far as the limits allow, and nothing is lost', { ...limits, concurrency: 5 }, async (t) => {
    const settings = 'interval = 0.05\ncpu_budget_percent = 100';
    await withSite(t, { settings }, async (site) => {
      // Side by side: each waits for Grid Engine most of the time. The descriptors are the whole cell's.
      await Promise.all([
        t.test('h_vmem=300M: the small mode', () => smallMode(site)),
        t.test('h_vmem=10M', () => smallestAddressSpace(site)),
        t.test('h_fsize=1M', () => smallFiles(site)),
        t.test('h_cpu=2: handed over to a successor', () => littleCpuTime(site)),
      ]);
      await t.test('h_vmem=50M: unsampled, with figures from usage', (inner) => noRoomForASampler(inner, site));
      await t.test('100 descriptors', () => fewDescriptors(site));
      await t.test('no queue instance is in error', () => assertQueuesWell(site.cell));
    });
  });
});
