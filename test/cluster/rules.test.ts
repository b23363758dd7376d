import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SETTINGS_FILE } from '../../src/record/settings';
import { SHIPPED_RULES } from '../../src/report/rules/shipped';
import { readText } from '../../src/sources/files';
import { A100, GIB, setStub, stubLibrary, stubObstacle, T4, TWO_GPUS } from '../native/nvml-stub';
import { classesIn, shippedRule } from '../support/rules';
import { until } from '../support/until';
import { awaitFigures, burnerCommand, siteObstacle, withSite, gateFor, type Site, type Gate } from './site';

const USER = 'gealice';

/** Shipped rules with bounds for few jobs that run for seconds. */
const RULES = [
  shippedRule('leak', '10min', '10s'),
  shippedRule('swarm', '200', '5'),
  shippedRule('gpu-idle', '5min', '5s'),
].join('\n');

/** Computes on one of its slots for a time in which starts and ends, slow on a busy host, are little. */
const ONE_SLOT = `${burnerCommand('steady', 'beside.truth', { mib: 80, hold: 600_000 })} & beside=$!
perl -e '1 while time - $^T < 45'
kill $beside`;

/** Three threads that compute all the time, on one slot. */
const THREE_THREADS = `timeout 30 ${burnerCommand('cpu', 'threads.truth', { threads: 3, seconds: 600 })} || true`;

/** Holds a little more memory at each step; each eighth of the run has several samples. */
const GROWS = `exec perl -e 'for (1 .. 100) { push @held, "x" x (4 << 20); select undef, undef, undef, 0.3 }'`;

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly tasks?: number;
  readonly script: string;
  readonly has: readonly string[];
  readonly hasNot: readonly string[];
}

const casesOf = (gate: Gate): readonly Case[] => [
  {
    name: 'idle',
    args: ['-pe', 'smp', '2', '-l', 'h_vmem=500M,h_rt=1:00:00'],
    script: 'sleep 15',
    has: ['h-rt-too-long', 'idle-cores', 'memory-far-below'],
    hasNot: ['memory-close', 'serial', 'leak', 'oversubscribed', 'swapping'],
  },
  {
    name: 'close',
    args: ['-l', 'h_vmem=500M,h_rt=0:30:00'],
    script: burnerCommand('steady', 'close.truth', { mib: 455, hold: 4000 }),
    has: ['memory-close'],
    hasNot: ['memory-far-below', 'h-rt-too-long', 'serial', 'oversubscribed'],
  },
  {
    name: 'serial',
    args: ['-pe', 'smp', '2', '-l', 'h_vmem=100M'],
    script: ONE_SLOT,
    has: ['serial'],
    hasNot: ['memory-far-below', 'memory-close', 'leak', 'idle-cores', 'oversubscribed'],
  },
  {
    name: 'threads',
    args: ['-l', 'h_vmem=500M'],
    script: THREE_THREADS,
    has: ['oversubscribed'],
    hasNot: ['serial', 'idle-cores', 'leak', 'swapping'],
  },
  {
    name: 'grows',
    args: ['-l', 'h_vmem=1G'],
    script: GROWS,
    has: ['leak'],
    hasNot: ['serial', 'memory-far-below', 'memory-close', 'oversubscribed', 'swarm'],
  },
  {
    name: 'short',
    args: ['-t', '1-5', '-l', 'h_vmem=100M'],
    tasks: 5,
    script: 'true',
    has: ['swarm'],
    hasNot: ['leak', 'h-rt-too-long', 'idle-cores'],
  },
  {
    name: 'gpu-waits',
    args: ['-l', 'h_vmem=500M', '-v', `CUDA_VISIBLE_DEVICES=${T4}`],
    script: gate.wait,
    has: ['gpu-idle'],
    hasNot: ['oversubscribed', 'serial'],
  },
  {
    name: 'gpu-computes',
    args: ['-l', 'h_vmem=500M', '-v', `CUDA_VISIBLE_DEVICES=${A100}`],
    script: `echo $$ >"$HOME/computes.pid"; ${gate.wait}`,
    has: [],
    hasNot: ['gpu-idle'],
  },
];

/** NVML's answers for the first GPU while this process computes there alone. */
const usedBy = (pid: string): Parameters<typeof setStub>[0] => ({
  '0.compute': `${pid}:${GIB}`,
  '0.graphics': '',
  '0.samples': '',
  '0.accounted': '',
});

async function listed({ product }: Site, name: string): Promise<string> {
  const words = ['jobs', '--class', name, '--since', '1d', '--accounting', product.accounting, '--columns', 'job,name'];
  return (await product.run('ge1', ...words)).stdout;
}

async function importLines({ cell, product }: Site, jobs: readonly string[]): Promise<void> {
  await until(() => jobs.every((job) => cell.accounting(job).length > 0), 'the accounting lines', 100);
  const imported = await product.run('ge1', 'import', cell.layout.accounting);
  assert.equal(imported.status, 0, imported.stderr);
}

/** Waits until each of these jobs has held its GPU for 10 s, while one of them computes on it; then lets them end. */
async function useGpus({ cell }: Site, jobs: readonly string[], gate: Gate): Promise<void> {
  const computes = await until(
    () => readText(join(cell.layout.home(USER), 'computes.pid'))?.trim() || null,
    'the job that computes on a GPU',
  );
  setStub({ ...TWO_GPUS, ...usedBy(computes) });
  for (const job of jobs) await awaitFigures(cell, job, ({ metrics }) => (metrics.gpu_held_time_seconds ?? 0) >= 10);
  gate.open();
}

/** Rules that need swap, or a kernel that counts waits for storage: test/vm/rule-jobs.ts tests them. */
const SHOWN_IN_VM = ['io-bound', 'swapping'];

/** Asserts that each shipped rule has a case of its class, and one without it. */
function assertComplete(cases: readonly Case[]): void {
  const shipped = [...SHIPPED_RULES.matchAll(/^\[(.+)\]$/gm)].map(([, name = '']) => name);
  for (const side of ['has', 'hasNot'] as const) {
    const shown = new Set([...SHOWN_IN_VM, ...cases.flatMap((one) => one[side])]);
    assert.deepEqual([...shown].sort(), shipped.sort(), side);
  }
}

async function jobsAreClassified(site: Site): Promise<void> {
  const { cell, product } = site;
  const rules = join(cell.stateDir, 'rules.toml');
  writeFileSync(rules, RULES);
  await cell.check('ge1', `printf 'rules_file = "%s"\\n' '${rules}' >>${SETTINGS_FILE}`);
  const checked = await product.run('ge1', 'rules', '--check', rules);
  assert.match(checked.stdout, /^leak: in place of the shipped rule$/m, checked.stderr);
  const gate = gateFor(cell, USER, 'gpus');
  const cases = casesOf(gate);
  assertComplete(cases);
  const jobs = await Promise.all(
    cases.map(({ name, args, script }) => cell.submit(USER, ['-N', name, ...args], script)),
  );
  await useGpus(
    site,
    jobs.filter((_, index) => cases[index]?.name.startsWith('gpu-')),
    gate,
  );
  await Promise.all(jobs.map((job, index) => product.records(job, cases[index]?.tasks)));
  await importLines(site, jobs);
  for (const [index, { name, has, hasNot }] of cases.entries()) {
    const job = await product.run('ge1', 'job', jobs[index] ?? '', '--json', '--accounting', product.accounting);
    const names = Object.keys(classesIn(job.stdout).found);
    const words = `${name}: ${job.stdout}`;
    for (const one of has) assert.ok(names.includes(one), words);
    for (const one of hasNot) assert.ok(!names.includes(one), words);
  }
  for (const name of ['idle-cores', 'serial', 'oversubscribed', 'leak', 'swarm']) {
    const text = await listed(site, name);
    for (const [index, { has, hasNot }] of cases.entries()) {
      const isListed = new RegExp(`^${jobs[index] ?? ''} `, 'm').test(text);
      if (has.includes(name)) assert.ok(isListed, text);
      if (hasNot.includes(name)) assert.ok(!isListed, text);
    }
  }
  const report = await product.run('ge1', 'report', '--since', '1d', '--accounting', product.accounting);
  assert.match(report.stdout, /^ {2}leak +1 /m);
}

describe('the shipped rules on a real Grid Engine', () => {
  it('give each job its classes, and no class that it is made to avoid', { timeout: 2_000_000 }, async (t) => {
    const obstacle = siteObstacle() ?? stubObstacle();
    if (obstacle !== null) {
      t.skip(obstacle);
      return;
    }
    const gpus = `sources.nvidia = { library = "${stubLibrary()}", interval = 1 }`;
    setStub({ ...TWO_GPUS, ...usedBy('1') });
    await withSite(
      t,
      { settings: `delivery_jitter_ms = 0\ninterval = 0.25\ncpu_budget_percent = 100\n${gpus}` },
      jobsAreClassified,
    );
  });
});
