import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { runProgram } from '../../../src/cli/program';
import type { JobRecord } from '../../../src/record/record';
import { mpiMaster, mpiTask, running } from '../../report/sample-records';
import { fakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';

process.env.TZ = 'Europe/Berlin';

// All jobs here run, or ran, on other hosts than this one.

const directory = temporaryDirectory();
const database = join(directory, 'accounting.db');
const NOW = Date.parse('2026-11-21T12:00:00Z');

function heartbeat(record: JobRecord, job: number, age: number): JobRecord {
  return {
    ...record,
    job_id: job,
    status: 'running',
    ended_at: null,
    exit_status: null,
    signal: null,
    submitted_at: new Date(NOW - 800_000).toISOString(),
    started_at: new Date(NOW - 720_000).toISOString(),
    revision: NOW - age * 1000,
    series: record.series && {
      start: new Date(NOW - 720_000).toISOString(),
      step_seconds: 6,
      others: {},
      rss_bytes: Array.from({ length: 115 }, (_, index) => 1e8 * (index + 1)),
    },
  };
}

before(async () => {
  const store = openSqliteStore(database, 0o600);
  const outcomes = await store.merge([
    mpiMaster(3),
    mpiTask(1),
    mpiTask(2),
    mpiTask(3),
    heartbeat(running, 4901, 43),
    heartbeat(running, 4902, 10_800),
    heartbeat(mpiMaster(2), 4903, 30),
    heartbeat(mpiTask(1), 4903, 31),
    heartbeat(mpiTask(2), 4903, 50),
  ]);
  assert.ok(outcomes.every(({ ok }) => ok));
  await store.close();
});

async function output(...words: readonly string[]): Promise<string> {
  const terminal = fakeTerminal();
  assert.equal(await runProgram([...words, '--accounting', database], '1.2.3', terminal), 0, terminal.warnings());
  return terminal.output();
}

describe('qmemacct job for a parallel job', () => {
  it('shows the job as a whole, and each slave task with --tasks', async () => {
    const text = await output('job', '4800', '--full');
    assert.match(text, /^Job 4800 {2}cfd_solve /);
    assert.match(text, /3 hosts · 48 slots \(orte\)/);
    assert.match(text, /^Hosts +host +slots +tasks/m);
    assert.match(await output('job', '4800', '--tasks'), /^Tasks +host +pe task/m);
  });

  it('prints the sum over its hosts beside the records in JSON', async () => {
    const { records, sums } = JSON.parse(await output('job', '4800', '--json')) as {
      records: { pe_task_id: string | null; granted_hosts: unknown }[];
      sums: { hosts: { host: string; seen: boolean }[]; attempt: number; peak_rss: { lower_bytes: number } }[];
    };
    assert.deepEqual(
      records.map((record) => record.pe_task_id),
      [null, '1.node01', '1.node02', '1.node03'],
    );
    assert.equal(sums.length, 1);
    assert.deepEqual(
      sums[0]?.hosts.map(({ host, seen }) => `${host} ${seen}`),
      ['node01 true', 'node02 true', 'node03 true'],
    );
    assert.equal(sums[0].peak_rss.lower_bytes, mpiTask(3).peak_rss?.lower_bytes);
  });
});

describe('qmemacct job for a job that runs on another host', () => {
  it('shows the figures of the last heartbeat, and when the job will reach its limit', async () => {
    const text = await output('job', '4901');
    assert.match(text, /running, 43 s ago$/m);
    assert.match(text, /these are the figures of 43 s ago/);
    assert.match(text, /At this rate it reaches its limit at 13:\d\d: /);
  });

  it('does not show a job as running after hours without a heartbeat', async () => {
    const text = await output('job', '4902');
    assert.match(text, /no heartbeat since 2026-11-21 10:00:00$/m);
    assert.doesNotMatch(text, /At this rate/);
    const owned = await output('owner', 'bob', '--since', '2d');
    assert.match(owned, /4902 .* no heartbeat since 2026-11-21 10:00:00/);
    assert.match(owned, /4901 .* running, 43 s ago/);
    assert.match(owned, /4903 .* 3 running/);
  });

  it('shows a parallel job as a whole, as old as its oldest heartbeat', async () => {
    const text = await output('job', '4903');
    assert.match(text, /running, 50 s ago$/m);
    assert.match(text, /At this rate it reaches its limit on node0[12] at /);
  });
});
