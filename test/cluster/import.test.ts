import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteReader } from '../../src/accounting/sqlite/sqlite-store';
import type { JobRecord } from '../../src/record/record';
import { OWNERS, qacctSums, recordSums } from './owner-sums';
import { kind } from './kind';
import { awaitFigures, withSite, type Site } from './site';

async function allRecords({ product }: Site): Promise<readonly JobRecord[]> {
  const reader = openSqliteReader(product.accounting);
  try {
    const { records } = await reader.records({ since: 0, until: Date.now() + 86_400_000, limit: 10_000 });
    return records.map(({ record }) => record);
  } finally {
    await reader.close();
  }
}

async function importedWhileJobsRun(site: Site): Promise<void> {
  const { cell, product } = site;
  const { accounting } = cell.layout;
  const importLines = async (...words: readonly string[]): Promise<string> => {
    const result = await product.run('ge1', 'import', ...words);
    assert.ok(result.status === 0 || result.status === 1, `status ${result.status}: ${result.stderr}`);
    return result.stdout;
  };
  const again = 'if [ -e ~/again ]; then exit 0; fi; touch ~/again; exit 99';
  const jobs: string[] = [];
  const submit = async (user: string, args: readonly string[], script: string): Promise<string> => {
    const job = await cell.submit(user, args, script);
    jobs.push(job);
    return job;
  };
  const long = await submit('gealice', ['-N', 'long', '-l', 'h_vmem=600M,h_rt=00:10:00'], 'sleep 590');
  const early = await submit('gealice', ['-N', 'array', '-t', '1-4'], 'for i in $(seq 20000); do :; done; sleep 1');
  await submit('gebob', ['-N', 'fails', '-pe', 'smp', '2', '-l', 'h_vmem=700M'], 'sleep 1; exit 3');
  await cell.waitFinished(early);
  await importLines();

  await submit('gebob', ['-N', 'again', '-r', 'y'], again);
  const second = await submit('gealice', ['-N', 'second'], 'sleep 0.5');
  await cell.waitFinished(second);
  renameSync(accounting, `${accounting}.0`);
  const third = await submit('gebob', ['-N', 'third'], 'sleep 0.2');
  await cell.waitFinished(third);
  await importLines(accounting);
  await cell.qdel([long], 'gealice');
  for (const job of jobs) await cell.waitFinished(job);
  for (const job of jobs) await product.records(job, job === early ? 4 : 1);
  await product.records(jobs[3] ?? '', 2);
  await importLines();
  assert.match(await importLines(), /^nothing new/);

  const records = await allRecords(site);
  const both = join(cell.stateDir, 'accounting-both');
  writeFileSync(both, [`${accounting}.0`, accounting].map((file) => readFileSync(file, 'latin1')).join(''), 'latin1');
  for (const owner of OWNERS) {
    const theirs = await qacctSums(cell, owner, both);
    const ours = recordSums(records, owner);
    assert.ok(theirs.wallclock > 0);
    assert.equal(ours.lines, theirs.lines, `${owner}: lines`);
    assert.equal(ours.wallclock, theirs.wallclock, `${owner}: wallclock`);
    // qacct prints milliseconds of the sum; ours adds up each line's, which in some kinds of Grid Engine has microseconds.
    assert.ok(
      Math.abs(ours.cpu - theirs.cpu) < 0.001 + 0.0005 * ours.lines,
      `${owner}: CPU ${ours.cpu}, qacct ${theirs.cpu}`,
    );
  }
  const runs = records.map(({ job_id, task_id, run_id, started_at, ended_at, failed }) =>
    [job_id, task_id, run_id, started_at, ended_at, failed].join(' '),
  );
  assert.equal(records.length, 10, runs.join('\n'));
  for (const record of records) {
    assert.notEqual(record.trust, 'accounting', `job ${record.job_id} has an accounting line alone`);
    assert.notEqual(record.failed, null, `job ${record.job_id} is not joined with its accounting line`);
    assert.equal(record.grid_engine?.lines, 1);
    assert.doesNotMatch(record.run_id, /^accounting/);
  }
  const deleted = records.find(({ job_id: job }) => job === Number(long));
  assert.equal(deleted?.failed, 100);
  assert.ok((deleted.peak_rss?.lower_bytes ?? 0) > 0);
  assert.match(deleted.grid_engine?.category ?? '', /h_rt/);
}

/** A job without our hooks gets a record from its accounting line, with what it requested. */
async function jobWithoutHooks(site: Site): Promise<void> {
  const { cell, product } = site;
  for (const host of cell.execHosts) await cell.check(host, 'touch /etc/qmemacct/disabled');
  const job = await cell.submit('gebob', ['-N', 'unseen', '-pe', 'smp', '2', '-l', 'h_vmem=700M'], 'sleep 1; exit 4');
  await cell.waitFinished(job);
  for (const host of cell.execHosts) await cell.check(host, 'rm /etc/qmemacct/disabled');
  assert.equal((await product.run('ge1', 'import')).status, 0);
  const record = await product.record(job);
  const status = kind.losesExitStatus ? 0 : 4;
  assert.deepEqual(
    [record.trust, record.status, record.exit_status, record.slots],
    ['accounting', 'unsampled', status, 2],
  );
  assert.deepEqual(record.h_vmem, { request_bytes: 700 * 2 ** 20, limit_bytes: 1400 * 2 ** 20, per: 'slot' });
  const shown = await product.run('ge1', 'job', job);
  assert.match(shown.stdout, /The figures are Grid Engine's own/);
}

/** Runs whose accounting line has no start time (a missing shell, a run that qmod reschedules) get one record each. */
async function runsWithoutStartTime(site: Site): Promise<void> {
  const { cell, product } = site;
  const onOneHost = ['-q', 'all.q@ge1'];
  const again = await cell.submit(
    'gebob',
    ['-N', 'putback', '-r', 'y', '-l', 'h_vmem=600M', ...onOneHost],
    'sleep $((600 - 599 * RESTARTED))',
  );
  // Where a listener runs, the start of a job without a shell is heard, too.
  await awaitFigures(cell, again);
  const shell = await cell.submit('gealice', ['-N', 'noshell', '-S', '/no/such/shell', ...onOneHost], 'true');
  await cell.check('ge1', `qmod -rj ${again}`);
  await cell.waitFinished(again);
  // The job's first run is over; it waits in the error state.
  await product.records(shell, 1);
  await cell.qdel([shell], 'gealice');
  await product.records(again, 2);
  assert.equal((await product.run('ge1', 'import')).status, 0);
  const ofShell = await product.records(shell, 1);
  assert.deepEqual(
    ofShell.map(({ record }) => record.failed),
    [27],
  );
  const runs = (await product.records(again, 2)).map(({ record }) => record);
  assert.deepEqual(
    runs.map(({ failed }) => failed).sort(),
    [0, 25],
    runs.map(({ run_id, started_at, failed }) => [run_id, started_at, failed].join(' ')).join('\n'),
  );
  for (const { run_id } of runs) assert.doesNotMatch(run_id, /^accounting/);
}

describe('import on a real Grid Engine', () => {
  it('joins each line with its record, also of files that grow and are rotated', { timeout: 2_000_000 }, (t) =>
    withSite(t, {}, async (site) => {
      await importedWhileJobsRun(site);
      await jobWithoutHooks(site);
      await runsWithoutStartTime(site);
    }),
  );
});
