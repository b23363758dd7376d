import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HistoryStore } from '../../../src/accounting/history-store';
import type { StoredRecord } from '../../../src/record/merge';
import type { JobRecord } from '../../../src/record/record';
import { DAY, HOUR, iso, job, lineOf, ofJob, T0 } from './fixture';
import type { OpenStore } from './fixture';

async function recordsOf(store: HistoryStore, id: number): Promise<readonly StoredRecord[]> {
  const { records } = await store.job({ job_id: id, all: true });
  return records.map(({ record, ended, provenance }) => ({ record, ended, provenance }));
}

/** Run id and host of each of a job's records, and a + if the record was joined with an accounting line. */
async function runsOf(store: HistoryStore, id: number): Promise<readonly string[]> {
  const found = await recordsOf(store, id);
  return found.map(({ record }) => `${record.run_id} ${record.host}${record.grid_engine === null ? '' : ' +'}`).sort();
}

/** An accounting line and our record of the same run become one record, whichever comes first; in every store. */
export function joinSuite(open: OpenStore): void {
  describe('an accounting line', () => {
    const ours = job(1, T0 + 700, { started_at: iso(T0 - HOUR + 700), exit_status: 0, signal: 0 });
    const line = lineOf(ours);
    const heartbeat: JobRecord = { ...ours, status: 'running', ended_at: null, exit_status: null, revision: T0 - 5000 };

    it('joins our record of the run, with the same result in any order', async (t) => {
      const store = await open(t);
      const ends: unknown[] = [];
      for (const [id, given] of [
        [ours, line],
        [line, ours],
        [heartbeat, line, ours],
        [line, heartbeat, ours],
        [line, ours, heartbeat],
      ].entries()) {
        const order = ofJob(1 + id, given);
        for (const record of order) await store.merge([record]);
        const end = await recordsOf(store, 1 + id);
        ends.push(end.map((stored) => ({ ...stored, record: { ...stored.record, job_id: 1 } })));
        for (const outcome of await store.merge(order)) assert.deepEqual(outcome, { ok: true, change: 'unchanged' });
        const { totals } = await store.records({ since: T0 - DAY, until: T0 + DAY, job_id: 1 + id });
        assert.deepEqual([totals.records, totals.running, totals.unsampled], [1, 0, 0]);
      }
      for (const end of ends) assert.deepEqual(end, ends[0]);
      const [stored] = ends[0] as readonly StoredRecord[];
      assert.equal(stored?.record.run_id, ours.run_id);
      assert.equal(stored.record.cpu_seconds, ours.cpu_seconds);
      assert.equal(stored.record.failed, 0);
      assert.deepEqual(stored.record.grid_engine, line.grid_engine);
    });

    it('joins a record whose first process was started long after the start in the line', async (t) => {
      const late = { ...ours, started_at: iso(T0 - HOUR + 45_000) };
      const store = await open(t);
      for (const [id, order] of [
        [late, line],
        [line, late],
      ].entries()) {
        for (const record of ofJob(id + 1, order)) await store.merge([record]);
        assert.deepEqual(await runsOf(store, id + 1), [`${ours.run_id} node1 +`]);
      }
    });

    it('joins our record within one batch', async (t) => {
      const store = await open(t);
      const outcomes = await store.merge([line, ours, line]);
      assert.deepEqual(
        outcomes.map((outcome) => outcome.ok && outcome.change),
        ['added', 'changed', 'unchanged'],
      );
      assert.deepEqual(await runsOf(store, 1), [`${ours.run_id} node1 +`]);
    });

    it('joins a record of the same host if only one of them names the domain', async (t) => {
      const store = await open(t);
      const far = { host: 'node1.cluster.example' };
      await store.merge([lineOf(ours, far), ours]);
      await store.merge([job(2, T0, far), lineOf(job(2, T0), { host: 'node1' })]);
      await store.merge([job(3, T0, far), lineOf(job(3, T0), { host: 'node1.elsewhere.example' })]);
      assert.deepEqual(await runsOf(store, 1), [`${ours.run_id} node1 +`]);
      assert.deepEqual(await runsOf(store, 2), ['0badcafe.2.1 node1.cluster.example +']);
      assert.equal((await runsOf(store, 3)).length, 2);
    });

    it('is not joined with a record of another owner, cluster, task or start', async (t) => {
      const store = await open(t);
      const others: readonly Partial<JobRecord>[] = [
        { owner: 'eve' },
        { cluster: 'other' },
        { task_id: 7 },
        { pe_task_id: '1.node1' },
        { started_at: iso(T0 - HOUR + 3700), run_id: 'accounting.3' },
        { started_at: null, run_id: 'accounting.0.5.1' },
      ];
      await store.merge([ours, ...others.map((fields) => lineOf(ours, fields))]);
      const found = await runsOf(store, 1);
      assert.equal(found.length, 1 + others.length, found.join('; '));
    });

    it('joins its own run of several, even if two began at almost the same time', async (t) => {
      const store = await open(t);
      const runs = [0, 1000, 5 * HOUR].map((later, index) =>
        job(1, T0 + HOUR + later, { run_id: `0badcafe.${index}.9`, started_at: iso(T0 + later) }),
      );
      await store.merge([...runs, ...runs.map((run) => lineOf(run))]);
      const found = await recordsOf(store, 1);
      assert.equal(found.length, 3);
      for (const { record } of found)
        assert.equal(record.grid_engine?.wallclock_seconds, 3600, JSON.stringify(record.grid_engine));
      assert.equal(
        (await store.merge(runs.map((run) => lineOf(run)))).filter((o) => o.ok && o.change !== 'unchanged').length,
        0,
      );
    });

    it('without a start joins the lost run if Grid Engine does not know whether the job ran', async (t) => {
      const lost: JobRecord = { ...ours, status: 'lost', ended_at: null, exit_status: null, signal: null };
      const crashed = lineOf(ours, { run_id: 'accounting.0.5.1', started_at: null, ended_at: null, failed: 19 });
      const again = job(1, T0 + 5 * HOUR, { run_id: '0badcafe.1.9' });
      const store = await open(t);
      for (const [index, given] of [
        [lost, crashed],
        [crashed, lost],
        [heartbeat, crashed, lost],
        [lost, again, crashed, lineOf(again)],
        [again, lineOf(again), crashed, lost],
      ].entries()) {
        const id = 10 + index;
        const order = ofJob(id, given);
        for (const record of order) await store.merge([record]);
        const runs = given.includes(again) ? ['0badcafe.1.9 node1 +'] : [];
        assert.deepEqual(await runsOf(store, id), [`${ours.run_id} node1 +`, ...runs]);
        const first = (await recordsOf(store, id)).find(({ record }) => record.run_id === ours.run_id);
        assert.deepEqual([first?.record.status, first?.record.failed], ['lost', 19]);
        for (const outcome of await store.merge(order)) assert.deepEqual(outcome, { ok: true, change: 'unchanged' });
      }
      await store.merge([lost, { ...crashed, failed: 8 }]);
      await store.merge([
        { ...lost, job_id: 2, status: 'finished' },
        { ...crashed, job_id: 2 },
        { ...lost, job_id: 3, trust: 'self-reported' },
        { ...crashed, job_id: 3 },
      ]);
      for (const id of [1, 2, 3]) assert.equal((await runsOf(store, id)).length, 2);
    });

    it('without a start joins a run of its own where two runs failed to start alike', async (t) => {
      const store = await open(t);
      const runs = [0, HOUR].map((later, index) => ({
        ...job(1, T0 + later, { run_id: `0badcafe.${index}.9`, submitted_at: iso(T0 - HOUR) }),
        ...{ started_at: null, exit_status: null, signal: null },
      }));
      const lines = runs.map((run, index) =>
        lineOf(run, { run_id: `accounting.0.5.${index}`, started_at: null, ended_at: null, failed: 26 }),
      );
      await store.merge(runs);
      for (const line of lines) await store.merge([line]);
      const found = (await recordsOf(store, 1)).map(({ record }) => [record.run_id, record.failed]);
      assert.deepEqual(found.sort(), [
        ['0badcafe.0.9', 26],
        ['0badcafe.1.9', 26],
      ]);
      for (const outcome of await store.merge(lines)) assert.deepEqual(outcome, { ok: true, change: 'unchanged' });
    });

    it('without a start does not join a lost run of another job with the same number', async (t) => {
      const YEARS = 5 * 365 * DAY;
      const lost: JobRecord = { ...ours, status: 'lost', ended_at: null, exit_status: null, signal: null };
      const crashed = lineOf(ours, { run_id: 'accounting.0.5.1', started_at: null, ended_at: iso(T0), failed: 19 });
      const moved = (record: JobRecord, ms: number): JobRecord => ({
        ...record,
        submitted_at: record.submitted_at && iso(Date.parse(record.submitted_at) + ms),
        started_at: record.started_at && iso(Date.parse(record.started_at) + ms),
        ended_at: record.ended_at && iso(Date.parse(record.ended_at) + ms),
      });
      // Our record of a slave task has no submission.
      const task = { ...lost, submitted_at: null, pe_task_id: '1.node1' };
      const taskLine = { ...crashed, pe_task_id: '1.node1' };
      const store = await open(t);
      let id = 0;
      for (const [run, line] of [
        [lost, crashed],
        [task, taskLine],
      ] as const)
        for (const ms of [-YEARS, YEARS]) {
          const other = { ...moved(line, ms), run_id: 'accounting.0.4.1', failed: 20 };
          for (const given of [
            [run, other, line],
            [other, run, line],
            [other, line, run],
            [line, other, run],
          ]) {
            id += 1;
            const order = ofJob(id, given);
            for (const record of order) await store.merge([record]);
            assert.deepEqual(await runsOf(store, id), [`${run.run_id} node1 +`, 'accounting.0.4.1 node1 +']);
            const found = (await recordsOf(store, id)).find(({ record }) => record.run_id === run.run_id);
            assert.deepEqual([found?.record.failed, found?.record.ended_at], [19, iso(T0)]);
            for (const outcome of await store.merge(order))
              assert.deepEqual(outcome, { ok: true, change: 'unchanged' });
          }
        }
    });

    it("joins the record of its own slave task, not the master's", async (t) => {
      const store = await open(t);
      const task = (id: string, host: string, run: string): JobRecord =>
        job(1, T0, { pe_task_id: id, host, run_id: run, pe: 'mpi' });
      const parts = [ours, task('1.node1', 'node1', 'a.1.1'), task('1.node2', 'node2', 'b.1.1')];
      await store.merge(parts.map((part) => lineOf(part)));
      await store.merge(parts);
      assert.deepEqual(await runsOf(store, 1), ['0badcafe.1.1 node1 +', 'a.1.1 node1 +', 'b.1.1 node2 +']);
    });

    it('joins our record as soon as that knows its start', async (t) => {
      const store = await open(t);
      await store.merge([{ ...heartbeat, started_at: null }, line]);
      assert.equal((await runsOf(store, 1)).length, 2);
      await store.merge([ours]);
      assert.deepEqual(await runsOf(store, 1), [`${ours.run_id} node1 +`]);
      assert.deepEqual(await store.merge([line]), [{ ok: true, change: 'unchanged' }]);
    });
  });
}
