import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { arrangeAttempts } from '../../../src/accounting/attempts';
import { asStored } from '../../../src/record/merge';
import type { AccountingReader } from '../../../src/accounting/store';
import { findJob } from '../../../src/cli/job/find-job';
import type { JobRecord } from '../../../src/record/record';
import { after, firstRun, ordinary, running } from '../../report/sample-records';

function readerOf(...records: readonly JobRecord[]): AccountingReader {
  return {
    job: (query) =>
      Promise.resolve(arrangeAttempts(records.filter(({ job_id: id }) => id === query.job_id).map(asStored), query)),
    jobs: () => Promise.reject(new Error('not asked for')),
    records: () => Promise.reject(new Error('not asked for')),
    pages: () => {
      throw new Error('not asked for');
    },
    summary: () => Promise.reject(new Error('not asked for')),
    running: () => Promise.reject(new Error('not asked for')),
    nodes: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  };
}

const noneRunning = (): Promise<readonly JobRecord[]> => Promise.resolve([]);
const live =
  (...records: readonly JobRecord[]) =>
  (): Promise<readonly JobRecord[]> =>
    Promise.resolve(records);
const query = { job_id: ordinary.job_id };
const live4711: JobRecord = { ...running, job_id: 4711 };

describe('findJob', () => {
  it('finds no run where there is no store', async () => {
    assert.deepEqual(await findJob(query, { readers: [], running: noneRunning }), {
      job_id: 4711,
      runs: [],
      older: 0,
      newer: 0,
    });
  });

  it('numbers the runs of a job over all stores', async () => {
    const { runs } = await findJob(query, { readers: [readerOf(ordinary), readerOf(firstRun)], running: noneRunning });
    assert.deepEqual(
      runs.map(({ record, attempt }) => [record.exit_status, attempt]),
      [
        [99, 1],
        [0, 2],
      ],
    );
  });

  it('shows a run of two stores once', async () => {
    const { runs } = await findJob(query, { readers: [readerOf(ordinary), readerOf(ordinary)], running: noneRunning });
    assert.equal(runs.length, 1);
  });

  it('shows the live figures in place of an older heartbeat', async () => {
    const heartbeat = { ...live4711, samples: 5, revision: live4711.revision - 1000 };
    const { runs } = await findJob(query, { readers: [readerOf(heartbeat)], running: live(live4711) });
    assert.deepEqual(
      runs.map(({ record }) => record.samples),
      [727],
    );
  });

  it('takes a live record as another run of the same submission, else as a new job of that number', async () => {
    const rerun = { ...live4711, started_at: after(6000) };
    const again = await findJob(query, { readers: [readerOf(ordinary)], running: live(rerun) });
    assert.deepEqual([again.runs.map(({ attempt }) => attempt), again.older], [[1, 2], 0]);
    const later = { ...rerun, submitted_at: after(99_000), started_at: after(99_060) };
    const fresh = await findJob(query, { readers: [readerOf(ordinary)], running: live(later) });
    assert.deepEqual([fresh.runs.map(({ record }) => record.status), fresh.older], [['running'], 1]);
    const all = await findJob({ ...query, all: true }, { readers: [readerOf(ordinary)], running: live(later) });
    assert.equal(all.runs.length, 2);
  });

  it('leaves out live records of other jobs and tasks', async () => {
    const other = await findJob(query, { readers: [], running: live(running) });
    assert.equal(other.runs.length, 0);
    const task = await findJob({ ...query, task_id: 2 }, { readers: [], running: live({ ...live4711, task_id: 1 }) });
    assert.equal(task.runs.length, 0);
  });
});
