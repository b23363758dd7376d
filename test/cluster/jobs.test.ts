import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { AccountingRecord } from './cell';
import { goodEnds, kind } from './kind';
import type { JobRecord } from '../../src/record/record';
import { until } from '../support/until';
import {
  assertHolds,
  assertNoQueueErrors,
  awaitFigures,
  burnerCommand,
  holds,
  isSampled,
  mib,
  truthOf,
  LONGEST_HOLD_MS,
  withSite,
  gateFor,
  type Site,
} from './site';

const limits = { timeout: 2_000_000 };
const seconds = (iso: string | null): number => Date.parse(iso ?? '') / 1000;

/** Asserts that our record agrees with Grid Engine's line. */
function assertAgrees(record: JobRecord, line: AccountingRecord | undefined): void {
  assert.ok(line !== undefined, 'no accounting line');
  assert.equal(record.job_id, Number(line.job_number));
  assert.equal(record.owner, line.owner);
  assert.equal(record.job_name, line.job_name);
  assert.equal(record.queue, line.qname);
  assert.equal(record.host, line.hostname);
  assert.equal(record.slots, Number(line.slots));
  assert.equal(record.exit_status, Number(line.exit_status), `${record.status}: ${record.notes.join(' ')}`);
  assert.ok(Math.abs(seconds(record.submitted_at) - Number(line.submission_time)) <= 2, 'submission time');
  assert.ok(Math.abs(seconds(record.started_at) - Number(line.start_time)) <= 2, 'start time');
  assert.ok(Math.abs(seconds(record.ended_at) - Number(line.end_time)) <= 2, 'end time');
}

async function serialJob({ cell, product }: Site): Promise<void> {
  const gate = gateFor(cell, 'gealice', 'serial');
  const burn = burnerCommand('steady', 'serial.truth', { mib: 200, hold: LONGEST_HOLD_MS, until: gate.path });
  const job = await cell.submit('gealice', ['-N', 'serial', '-l', 'h_vmem=1500M'], `${burn}; exit 3`);
  await awaitFigures(cell, job, (figures) => (figures.samples ?? 0) >= 4 && holds(mib(200))(figures));
  gate.open();
  const [line] = await cell.waitFinished(job);
  const record = await product.record(job);
  assertAgrees(record, line);
  const truth = truthOf(cell, 'gealice', 'serial.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.97);
  assertHolds(record.peak_process_vmem, truth.processVmem, truth.uncertainty, 0.99);
  assertHolds(record.peak_vmem, truth.vmemSum, truth.uncertainty, 0.97);
  assertHolds(record.peak_footprint, truth.footprint ?? truth.anon, truth.uncertainty, 0.95);
  assert.equal(record.peak_rss?.command, 'steady');
  assert.equal(record.trust, 'root');
  assert.equal(record.status, 'finished');
  assert.deepEqual(record.h_vmem, { request_bytes: mib(1500), limit_bytes: mib(1500), per: 'slot' });
  assert.ok((record.samples ?? 0) >= 4);
  assert.equal(record.claimed_by_group_only, 0);
  assert.ok((record.series?.rss_bytes.length ?? 0) > 0);

  const shown = await product.run('ge0', 'job', job, '--accounting', product.accounting);
  assert.equal(shown.status, 0, shown.stderr);
  assert.match(shown.stdout, new RegExp(`Job ${job}`));
  assert.match(shown.stdout, /exit status 3/);
  const json = await product.run('ge0', 'job', job, '--json', '--accounting', product.accounting);
  const parsed = JSON.parse(json.stdout) as { schema: number; records: (JobRecord & { attempt: number })[] };
  assert.equal(parsed.schema, 1);
  const [printed] = parsed.records;
  assert.ok(printed !== undefined);
  assert.equal(printed.attempt, 1);
  assert.deepEqual(printed.peak_rss, record.peak_rss);
  const owner = await product.run('ge0', 'owner', 'gealice', '--since', '1h', '--accounting', product.accounting);
  assert.match(owner.stdout, /serial/);
  const nothing = await product.run('ge0', 'job', '999999', '--accounting', product.accounting);
  assert.equal(nothing.status, 1);
}

async function parallelOnOneHost({ cell, product }: Site): Promise<void> {
  const script = burnerCommand('shared-map', 'smp.truth', { mib: 60, processes: 3, hold: 12_000 });
  const job = await cell.submit('gebob', ['-pe', 'smp', '3', '-l', 'h_vmem=500M'], script);
  const [line] = await cell.waitFinished(job);
  const record = await product.record(job);
  assertAgrees(record, line);
  assert.equal(record.pe, 'smp');
  assert.equal(record.host_slots, 3);
  assert.deepEqual(record.h_vmem, { request_bytes: mib(500), limit_bytes: mib(1500), per: 'slot' });
  const truth = truthOf(cell, 'gebob', 'smp.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.95);
}

async function arrayJob({ cell, product }: Site): Promise<void> {
  const gate = gateFor(cell, 'gealice', 'array');
  const options = { mib: '$((10 + 4 * SGE_TASK_ID))', hold: LONGEST_HOLD_MS, until: gate.path };
  const script = burnerCommand('steady', 'array.$SGE_TASK_ID.truth', options);
  const job = await cell.submit('gealice', ['-t', '1-20', '-N', 'array', '-l', 'h_vmem=1G'], script);
  await until(
    () => isSampled(cell, job),
    () => `a sample of job ${job}`,
  );
  const openedMs = Date.now();
  gate.open();
  const lines = await cell.waitFinished(job);
  const records = (await product.records(job, 20)).map((attempt) => attempt.record);
  assert.equal(records.length, 20);
  for (const record of records) {
    assertAgrees(
      record,
      lines.find((line) => Number(line.task_number) === record.task_id),
    );
    const truth = truthOf(cell, 'gealice', `array.${record.task_id ?? 0}.truth`);
    // On a loaded machine there may be no sample while a task holds its memory.
    const { samples, peak_rss: peak } = record;
    const atMs = Date.parse(peak?.at ?? '');
    const isHeld = atMs >= truth.peakAtUnixMs && atMs < openedMs;
    if (peak === null) assert.ok(!((samples ?? 0) > 0), 'samples, and no bracket');
    else assertHolds(peak, truth.rssSum, truth.uncertainty, isHeld ? 0.9 : 0);
  }
  assert.ok(records.some(({ samples }) => samples !== null && samples > 0));
  const shown = await product.run('ge0', 'job', job, '--accounting', product.accounting);
  assert.match(shown.stdout, /20 tasks/);
}

async function diesAtMemoryLimit({ cell, product }: Site): Promise<void> {
  // tail must hold a line that never ends, and fails when the kernel refuses it more memory.
  const script = '{ for i in 1 2 3 4 5; do head -c 110000000 /dev/zero; sleep 0.7; done; } | tail >/dev/null';
  const job = await cell.submit('gealice', ['-N', 'dies', '-l', 'h_vmem=400M'], script);
  const [line] = await cell.waitFinished(job);
  const record = await product.record(job);
  assertAgrees(record, line);
  assert.notEqual(record.exit_status, 0);
  const limit = record.h_vmem?.limit_bytes ?? 0;
  assert.equal(limit, mib(400));
  // RLIMIT_AS limits each process; the sum over the job's processes may be a little above.
  const process = record.peak_process_vmem?.lower_bytes ?? Infinity;
  assert.ok(process <= limit, `${process} is above what the kernel allowed`);
  const sum = record.peak_rss?.lower_bytes ?? Infinity;
  assert.ok(sum <= limit + mib(24), `${sum} is above what the kernel allowed`);
  assert.ok(sum >= limit * 0.5, `${sum} is far below the limit that the job hit`);
}

async function deletedJob({ cell, product }: Site): Promise<void> {
  const job = await cell.submit('gebob', ['-N', 'deleted'], 'touch ~/deleted.begun; sleep 60');
  // qmaster shows a job as running while its prolog runs.
  await until(() => existsSync(join(cell.layout.home('gebob'), 'deleted.begun')), `the script of job ${job}`);
  await cell.qdel([job], 'gebob');
  const [line] = await cell.waitFinished(job);
  const record = await product.record(job);
  assertAgrees(record, line);
  assert.equal(record.signal, 9);
  assert.equal(record.exit_status, 137);
  assert.equal(record.status, 'finished');
}

async function exceedsRunTime({ cell, product }: Site): Promise<void> {
  const job = await cell.submit('gebob', ['-N', 'late', '-l', 'h_rt=2'], 'sleep 60');
  const [line] = await cell.waitFinished(job);
  const record = await product.record(job);
  assert.equal(line?.failed, kind.failedAtLimit);
  assert.equal(record.signal, 9);
  assertAgrees(record, line);
}

async function rescheduledJob({ cell, product }: Site): Promise<void> {
  const script = 'if [ -e ~/again ]; then exit 0; fi; touch ~/again; exit 99';
  const job = await cell.submit('gealice', ['-N', 'again', '-r', 'y'], script);
  const lines = await cell.waitFinished(job);
  const attempts = await product.records(job, 2);
  assert.equal(lines.length, 2);
  assert.deepEqual(
    attempts.map(({ attempt, record }) => [attempt, record.exit_status]),
    [
      [1, 99],
      [2, 0],
    ],
    JSON.stringify(attempts, null, 1),
  );
  assert.equal(new Set(attempts.map(({ record }) => record.run_id)).size, 2);
}

async function briefJob({ cell, product }: Site): Promise<void> {
  const job = await cell.submit('gealice', ['-N', 'brief', '-l', 'h_vmem=1G'], 'sleep 0.05; exit 7');
  const [line] = await cell.waitFinished(job);
  const record = await product.record(job);
  assertAgrees(record, line);
  assert.equal(record.exit_status, 7);
  assert.ok(['root', 'usage'].includes(record.trust));
}

const CROWD_SIZE = 40;

async function manyTasksAtOnce({ cell, product }: Site): Promise<void> {
  const job = await cell.submit('gebob', ['-t', `1-${CROWD_SIZE}`, '-N', 'crowd', '-l', 'h_vmem=1G'], 'sleep 3');
  const lines = await cell.waitFinished(job);
  assert.equal(lines.length, CROWD_SIZE);
  const records = await product.records(job, CROWD_SIZE);
  assert.deepEqual(
    records.map(({ record }) => record.task_id).sort((a, b) => Number(a) - Number(b)),
    Array.from({ length: CROWD_SIZE }, (_, index) => index + 1),
  );
  const wrong = records.filter(({ attempt, record }) => attempt !== 1 || !goodEnds.includes(record.exit_status));
  assert.deepEqual(wrong, []);
}

describe('records of jobs on a real Grid Engine', () => {
  it('are complete and agree with the accounting file', { ...limits, concurrency: 6 }, async (t) => {
    await withSite(t, {}, async (site) => {
      await t.test('for a serial job, which the commands show', () => serialJob(site));
      // Side by side: each waits for Grid Engine most of the time.
      await Promise.all([
        t.test('for a parallel job on one host', () => parallelOnOneHost(site)),
        t.test('for a job that dies at its h_vmem', () => diesAtMemoryLimit(site)),
        t.test('for a deleted job', () => deletedJob(site)),
        t.test('for a job that exceeds its h_rt', () => exceedsRunTime(site)),
        t.test('for each of two runs of a rescheduled job', () => rescheduledJob(site)),
        t.test('for a job of 50 ms', () => briefJob(site)),
      ]);
      await t.test('for an array job of 20 tasks', () => arrayJob(site));
      await t.test(`for each of ${CROWD_SIZE} array tasks that run at once`, () => manyTasksAtOnce(site));
      await t.test('no queue instance is in error', () => assertNoQueueErrors(site.cell));
    });
  });
});
