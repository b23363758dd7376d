import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { JobRecord } from '../../src/record/record';
import { probePerf } from '../../src/sources/job/perf';
import { isUnavailable, THIS_MACHINE } from '../../src/sources/source';
import { burner, type BurnerProgram } from '../burners/build';
import { withSite, type Site } from './site';

const limits = { timeout: 2_000_000 };
const HOST = 'ge1';

/** The record's metric by the event's name in perf; in seconds, or a count. */
const METRICS = {
  'page-faults': 'perf_page_faults',
  'context-switches': 'perf_context_switches',
  'cpu-migrations': 'perf_cpu_migrations',
  'task-clock': 'perf_task_clock_seconds',
} as const;
type Event = keyof typeof METRICS;
const EVENTS = Object.keys(METRICS) as readonly Event[];

const stat = (file: string): readonly string[] => ['perf', 'stat', '-x', ',', '-o', file, '-e', EVENTS.join(',')];

/** What `perf stat -x,` wrote: value, unit, event. */
function perfStat(file: string): Readonly<Record<string, number>> {
  const fields = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split(','));
  return Object.fromEntries(
    fields.map(([value, unit, event = '']) => [event, unit === 'msec' ? Number(value) / 1000 : Number(value)]),
  );
}

/** Why the test can't run on this machine; null: it can. */
function obstacle(): string | null {
  const probed = probePerf({ ...THIS_MACHINE, options: { events: ['page_faults', 'task_clock'], raw: [] } });
  if (isUnavailable(probed)) return probed.unavailable;
  const { status, error, stderr } = spawnSync('perf', ['stat', '-e', 'page-faults', 'true'], { encoding: 'utf8' });
  if (error !== undefined) return `no perf command (Debian: linux-perf): ${error.message}`;
  return status === 0 ? null : `perf stat does not work: ${stderr.trim()}`;
}

/** On a busy machine the sampler may start later than the prolog waits; the record then has a note. */
const TRIES = 4;
const isLate = (note: string): boolean => note.includes('began after the job');

async function record(
  { cell, product }: Site,
  user: string,
  name: string,
  command: readonly string[],
): Promise<JobRecord> {
  const words = ['-q', `all.q@${HOST}`, '-N', name, '-l', 'h_vmem=2G', '-b', 'y', '-shell', 'n', ...command];
  for (let tries = 1; ; tries++) {
    const job = await cell.submit(user, words);
    const [line] = await cell.waitFinished(job);
    assert.deepEqual([line?.failed, line?.exit_status], ['0', '0']);
    const found = await product.record(job);
    const notes = found.notes.filter((note) => /perf counters|not counted/i.test(note));
    assert.ok(notes.every(isLate), notes.join('\n'));
    if (notes.length === 0 || tries === TRIES) return found;
  }
}

/** Allowed difference as a share; times grow with other work on the machine. */
const WITHIN: Readonly<Record<Event, number>> = {
  'page-faults': 0.01,
  'context-switches': 0.01,
  'cpu-migrations': 0.01,
  'task-clock': 0.05,
};

/** Asserts that both counts agree; a sampler that started late may have counted less. */
function assertEqual(event: Event, ours: JobRecord, theirs: Readonly<Record<string, number>>): void {
  const [own, other] = [ours.metrics[METRICS[event]] ?? NaN, theirs[event] ?? NaN];
  assert.ok(other > 0, `${event}: perf stat has none`);
  const words = `${event}: ${own}, and perf stat has ${other}`;
  assert.ok(own <= (1 + WITHIN[event]) * other, words);
  assert.ok(own >= (1 - WITHIN[event]) * other || ours.notes.some(isLate), words);
}

/** Compares counts of one run. The job's have perf itself (some 40 ms) and the epilog's beginning too, which is little. */
async function sameRun(site: Site): Promise<string> {
  const file = join(site.cell.stateDir, 'same-run.stat');
  const options = ['--children=4', '--faults=120000', '--switches=6000', '--migrations=2000', '--seconds=1.5'];
  // Only root counts what the kernel does for a process, where perf_event_paranoid is 2.
  await site.cell.setGlobal({ min_uid: '0', min_gid: '0' });
  const ours = await record(site, 'root', 'same', [...stat(file), '--', burner('events'), ...options]);
  const theirs = perfStat(file);
  for (const event of EVENTS) assertEqual(event, ours, theirs);
  return `ours ${JSON.stringify(EVENTS.map((event) => ours.metrics[METRICS[event]]))}, perf stat ${JSON.stringify(theirs)}`;
}

/**
 * Compares the job's run with another run under perf, for events that do not depend on other work on the machine. The
 * shepherd's child before it executes the job, and the epilog's beginning, add some 700 page faults to the job's.
 */
async function anotherRun(
  site: Site,
  event: Event,
  program: BurnerProgram,
  options: readonly string[],
): Promise<string> {
  const file = join(site.cell.stateDir, `${program}.stat`);
  const command = [burner(program), ...options];
  const ours = await record(site, 'gealice', program, command);
  await site.cell.check(HOST, [...stat(file), '--', ...command]);
  const theirs = perfStat(file);
  assertEqual(event, ours, theirs);
  return `${event}: ours ${ours.metrics[METRICS[event]] ?? NaN}, perf stat ${theirs[event] ?? NaN}`;
}

describe("a job's perf counters on a real Grid Engine", () => {
  it('equal those of perf stat', limits, async (t) => {
    const reason = obstacle();
    if (reason !== null) {
      t.skip(reason);
      return;
    }
    // The prolog waits for the sampler, so that the counters exist before the job starts.
    const settings = [
      ...['arm_wait_ms = 1000', 'listener_linger = 60', 'delivery_jitter_ms = 0', '[sources.perf]', 'enabled = true'],
      `events = ${JSON.stringify(EVENTS.map((event) => event.replaceAll('-', '_')))}`,
    ];
    await withSite(t, { settings: settings.join('\n') }, async (site) => {
      await t.test('for the same run', async (same) => same.diagnostic(await sameRun(site)));
      for (const [event, program, options] of [
        ['page-faults', 'steady', ['--mib=500', '--hold=300']],
        ['page-faults', 'many-children', ['--children=60', '--mib=8', '--life=5']],
        ['task-clock', 'cpu', ['--seconds=4']],
      ] as const)
        await t.test(`for ${event} of another run of ${program}`, async (twice) =>
          twice.diagnostic(await anotherRun(site, event, program, options)),
        );
    });
  });
});
