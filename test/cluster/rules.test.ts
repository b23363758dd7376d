import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { anything, checkJson, list, object, string } from '../../src/base/shape';
import { SETTINGS_FILE } from '../../src/record/settings';
import { burnerCommand, withSite, type Site } from './site';
import { until } from '../support/until';

const USER = 'gealice';

/**
 * Jobs here live for seconds and are few: the shipped rule "leak" waits ten minutes, "swarm" wants 200 runs. One process
 * that computes all the time gets far less than a slot of a busy host, and "serial" wants most of one.
 */
const RULES = `
[serial]
severity = "medium"
when = "host_slots >= 2 and wallclock_seconds >= 10s and busy_slots >= 0.03 and busy_slots < 1.2"
evidence = "used one slot of {host_slots} ({busy_slots} busy in the mean)"
cost = "idle_slots * wallclock_seconds"

[leak]
severity = "high"
requires = ["rising_eighths"]
when = "wallclock_seconds >= 10s and growth_bytes >= 50% * peak_rss_lower_bytes and rising_eighths = 7"
evidence = "memory grew all the time, by {growth_bytes} in {wallclock_seconds} up to {peak_rss_lower_bytes}"
cost = "growth_bytes * wallclock_seconds / 2"

[swarm]
severity = "low"
requires = ["runs_of_kind"]
when = "wallclock_seconds < 2min and runs_of_kind >= 5 and mean_seconds_of_kind < 2min"
evidence = "one of {runs_of_kind} runs of its kind, {mean_seconds_of_kind} each in the mean"
cost = "host_slots * wallclock_seconds"
`;

/** Computes on one of its slots, as long as the rule wants and until it had seconds of CPU time. */
const ONE_SLOT = `${burnerCommand('steady', 'beside.truth', { mib: 80, hold: 600_000 })} & beside=$!
perl -e 'do { 1 for 1 .. 1e6 } until times >= 4 and time - $^T >= 15'
kill $beside`;

/** A little more at each step, for as many steps as the chart needs. */
const GROWS = `exec perl -e 'for (1 .. 100) { push @held, "x" x (4 << 20); select undef, undef, undef, 0.3 }'`;

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly tasks?: number;
  readonly script: string;
  readonly has: readonly string[];
  readonly hasNot: readonly string[];
}

const CASES: readonly Case[] = [
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
    hasNot: ['memory-far-below', 'memory-close', 'leak'],
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
];

/** What busy_slots must be for the shipped rule "oversubscribed" on one slot; how much the host leaves is not ours. */
const OVER_ONE_SLOT = 1.5;

const THREE_THREADS = burnerCommand('cpu', 'threads.truth', { threads: 3, seconds: 30 });

const answer = object({
  records: list(
    object({ classes: object({ found: list(object({ class: string, evidence: string }), 20), unknown: anything }) }),
    9,
  ),
});

async function classesOf({ product }: Site, job: string): Promise<Readonly<Record<string, string>>> {
  const { stdout, stderr } = await product.run('ge1', 'job', job, '--json', '--accounting', product.accounting);
  const read = checkJson(answer, stdout, 'the answer');
  assert.ok(read.ok, `${stdout}${stderr}`);
  return Object.fromEntries(
    read.value.records.flatMap(({ classes }) => classes.found).map((one) => [one.class, one.evidence]),
  );
}

async function listed({ product }: Site, name: string): Promise<string> {
  const words = ['jobs', '--class', name, '--since', '1d', '--accounting', product.accounting, '--columns', 'job,name'];
  return (await product.run('ge1', ...words)).stdout;
}

async function importLines({ cell, product }: Site, jobs: readonly string[]): Promise<void> {
  await until(() => jobs.every((job) => cell.accounting(job).length > 0), 'the accounting lines', 100);
  const imported = await product.run('ge1', 'import', cell.layout.accounting);
  assert.equal(imported.status, 0, imported.stderr);
}

/** By itself, so that the other jobs leave it the host. */
async function threadsOnOneSlot(t: TestContext, site: Site): Promise<void> {
  const { cell, product } = site;
  const job = await cell.submit(USER, ['-N', 'threads', '-l', 'h_vmem=500M'], THREE_THREADS);
  const { cpu_seconds: cpu, wallclock_seconds: elapsed } = await product.record(job);
  await importLines(site, [job]);
  const busy = (cpu ?? 0) / (elapsed ?? 1);
  const found = await classesOf(site, job);
  if (busy > 1.1 * OVER_ONE_SLOT) assert.ok('oversubscribed' in found, JSON.stringify(found));
  else t.diagnostic(`no job was oversubscribed: the host left three threads ${busy.toFixed(2)} CPUs`);
  if (busy < 0.9 * OVER_ONE_SLOT) assert.ok(!('oversubscribed' in found), JSON.stringify(found));
}

async function judged(t: TestContext, site: Site): Promise<void> {
  const { cell, product } = site;
  const rules = join(cell.stateDir, 'rules.toml');
  writeFileSync(rules, RULES);
  await cell.check('ge1', `printf 'rules_file = "%s"\\n' '${rules}' >>${SETTINGS_FILE}`);
  const checked = await product.run('ge1', 'rules', '--check', rules);
  assert.match(checked.stdout, /^leak: in place of the shipped rule$/m, checked.stderr);
  const jobs = await Promise.all(
    CASES.map(({ name, args, script }) => cell.submit(USER, ['-N', name, ...args], script)),
  );
  await Promise.all(jobs.map((job, index) => product.records(job, CASES[index]?.tasks)));
  await importLines(site, jobs);
  for (const [index, { name, has, hasNot }] of CASES.entries()) {
    const found = await classesOf(site, jobs[index] ?? '');
    const names = Object.keys(found);
    const words = `${name}: ${JSON.stringify(found)}`;
    for (const one of has) assert.ok(names.includes(one), words);
    for (const one of hasNot) assert.ok(!names.includes(one), words);
  }
  for (const name of ['idle-cores', 'serial', 'leak', 'swarm']) {
    const text = await listed(site, name);
    for (const [index, { has, hasNot }] of CASES.entries()) {
      const isListed = new RegExp(`^${jobs[index] ?? ''} `, 'm').test(text);
      if (has.includes(name)) assert.ok(isListed, text);
      if (hasNot.includes(name)) assert.ok(!isListed, text);
    }
  }
  const report = await product.run('ge1', 'report', '--since', '1d', '--accounting', product.accounting);
  assert.match(report.stdout, /^ {2}leak +1 /m);
  await threadsOnOneSlot(t, site);
}

describe('the classes of real jobs', () => {
  it('are those that they were made for', { timeout: 900_000 }, async (t) => {
    await withSite(t, { settings: 'delivery_jitter_ms = 0\ninterval = 0.25\ncpu_budget_percent = 100' }, (site) =>
      judged(t, site),
    );
  });
});
