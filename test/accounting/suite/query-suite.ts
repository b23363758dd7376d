import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RecordSort } from '../../../src/accounting/sorts';
import type { AccountingStore } from '../../../src/accounting/store';
import type { StoredRecord } from '../../../src/record/merge';
import type { Bracket, JobRecord } from '../../../src/record/record';
import { accountOf } from '../../support/records';
import { DAY, GIB, HOUR, iso, job, peakOf, T0 } from './fixture';
import type { OpenStore } from './fixture';

/** Queries for jobs, running jobs and records, the same in every store. */
export function querySuite(open: OpenStore): void {
  describe('a query for a job', () => {
    it('finds nothing for an unknown job or cluster', async (t) => {
      const store = await open(t);
      await store.merge([job(1, T0)]);
      const nothing = { records: [], older_incarnations: 0, newer_incarnations: 0 };
      assert.deepEqual(await store.job({ job_id: 2 }), nothing);
      assert.deepEqual(await store.job({ job_id: 1, cluster: 'elsewhere' }), nothing);
      assert.deepEqual(await store.job({ job_id: 1, task_id: 1 }), nothing);
    });

    it('numbers attempts, and gives the newest of the jobs with one number, or the one at a given time', async (t) => {
      const store = await open(t);
      const first = { submitted_at: iso(T0) };
      const again = { submitted_at: iso(T0 + 90 * DAY) };
      await store.merge([
        job(7, T0 + HOUR, { ...first, run_id: 'a.1.1', started_at: iso(T0 + 10) }),
        job(7, T0 + 9 * HOUR, { ...first, run_id: 'a.2.2', started_at: iso(T0 + 8 * HOUR), host: 'node2' }),
        job(7, T0 + 91 * DAY, { ...again, run_id: 'b.1.1', started_at: iso(T0 + 90 * DAY + 10) }),
      ]);
      const newest = await store.job({ job_id: 7 });
      assert.equal(newest.older_incarnations, 1);
      assert.deepEqual(
        newest.records.map(({ record, attempt, attempts, incarnation }) => [
          record.run_id,
          attempt,
          attempts,
          incarnation,
        ]),
        [['b.1.1', 1, 1, 2]],
      );
      const all = await store.job({ job_id: 7, all: true });
      assert.deepEqual(
        all.records.map(({ record, attempt, attempts, incarnation }) => [
          record.run_id,
          attempt,
          attempts,
          incarnation,
        ]),
        [
          ['a.1.1', 1, 2, 1],
          ['a.2.2', 2, 2, 1],
          ['b.1.1', 1, 1, 2],
        ],
      );
      const then = await store.job({ job_id: 7, at: T0 + 10 * DAY });
      assert.deepEqual([then.records.length, then.older_incarnations, then.newer_incarnations], [2, 0, 1]);
    });

    it('finds the records of many jobs at once, of every run and cluster', async (t) => {
      const store = await open(t);
      const series = { start: iso(T0), step_seconds: 1, rss_bytes: [GIB], others: {} };
      const records = [
        job(1, T0 + HOUR, { run_id: 'a.1.1' }),
        job(1, T0 + 2 * HOUR, { run_id: 'a.2.2', series }),
        job(2, T0 + HOUR, { cluster: 'elsewhere' }),
        job(3, T0 + HOUR),
        job(4, T0 + HOUR, { task_id: 7 }),
      ];
      await store.merge(records);
      const found = await store.jobs([1, 2, 4, 99]);
      const name = ({ cluster, job_id, task_id, run_id }: JobRecord): string =>
        [cluster, job_id, task_id, run_id].join(' ');
      assert.deepEqual(
        found.map(({ record }) => name(record)).sort(),
        records
          .filter(({ job_id: id }) => id !== 3)
          .map(name)
          .sort(),
      );
      assert.ok(found.every(({ record, ended }) => record.series === null && ended));
      assert.deepEqual(await store.jobs([]), []);
    });

    it('gives the same values in the fields asked for, but of peaks only bounds and sources', async (t) => {
      const store = await open(t);
      await store.merge([job(1, T0 + HOUR), job(2, T0 + 2 * HOUR, { exit_status: 3 })]);
      const fields = ['job_id', 'exit_status', 'peak_rss', 'h_vmem', 'ended_at'] as const;
      const parts = (records: readonly StoredRecord[]): unknown =>
        records.map(({ record, ended }) => {
          const peak = record.peak_rss && { ...record.peak_rss, slack_bytes: 0, at: null, command: null };
          return [ended, ...fields.map((name) => (name === 'peak_rss' ? peak : record[name]))];
        });
      const interval = { since: T0, until: T0 + DAY };
      const { records } = await store.records({ ...interval, fields });
      assert.deepEqual(parts(records), parts((await store.records(interval)).records));
      assert.deepEqual(parts(await store.jobs([2], fields)), parts(await store.jobs([2])));
    });

    it("leaves out Grid Engine's CPU time in grid_engine if only some fields are asked for", async (t) => {
      const store = await open(t);
      const known = accountOf({ wallclock_seconds: 9, cpu_seconds: 7, maxvmem_bytes: GIB, deleted_by: 'root' });
      await store.merge([job(1, T0, { grid_engine: known }), job(2, T0, { grid_engine: accountOf() }), job(3, T0)]);
      const found = await store.jobs([1, 2, 3], ['job_id', 'grid_engine']);
      const accounts = new Map(found.map(({ record }) => [record.job_id, record.grid_engine]));
      const none = { cpu_seconds: null };
      assert.deepEqual(accounts.get(1), { ...known, ...none });
      assert.deepEqual(accounts.get(2), { ...accountOf(), ...none });
      assert.equal(accounts.get(3), null);
    });

    it('leaves out series and most fields of a job with more records than most_whole', async (t) => {
      const store = await open(t);
      const series = { start: iso(T0), step_seconds: 10, rss_bytes: [1, 2], others: {} };
      await store.merge([1, 2].map((task) => ({ ...job(1, T0), task_id: task, run_id: `r${task}`, series })));
      const fields = ['task_id', 'host'] as const;
      const read = async (most?: number, task?: number): Promise<unknown> => {
        const choice = {
          ...(most === undefined ? {} : { most_whole: most }),
          ...(task === undefined ? {} : { task_id: task }),
        };
        const { records, few_fields: few } = await store.job({ job_id: 1, fields, ...choice });
        const known = ({ record }: StoredRecord): unknown => [
          record.task_id,
          record.series !== null,
          record.owner !== null,
        ];
        return [few ?? false, ...records.map(known)];
      };
      const [whole, narrow] = [
        [true, true],
        [false, false],
      ];
      assert.deepEqual(await read(), [false, [1, ...whole], [2, ...whole]]);
      assert.deepEqual(await read(2), [false, [1, ...whole], [2, ...whole]]);
      assert.deepEqual(await read(1), [true, [1, ...narrow], [2, ...narrow]]);
      assert.deepEqual(await read(1, 2), [false, [2, ...whole]]);
    });

    it('can be limited to an array task and to a cluster', async (t) => {
      const store = await open(t);
      await store.merge([
        job(7, T0, { task_id: 1 }),
        job(7, T0, { task_id: 2 }),
        job(7, T0, { task_id: 2, cluster: 'other' }),
        job(7, T0, { task_id: 2, pe_task_id: '1.node2', host: 'node2' }),
      ]);
      const found = async (query: object): Promise<unknown> =>
        (await store.job({ job_id: 7, ...query })).records.map(({ record, attempt }) =>
          [record.cluster, record.task_id, record.pe_task_id ?? '-', attempt].join(' '),
        );
      assert.deepEqual(await found({}), ['cell 1 - 1', 'cell 2 - 1', 'cell 2 1.node2 1', 'other 2 - 1']);
      assert.deepEqual(await found({ task_id: 2, cluster: 'cell' }), ['cell 2 - 1', 'cell 2 1.node2 1']);
    });
  });

  describe('a query for running jobs', () => {
    const series = { start: iso(T0), step_seconds: 5, rss_bytes: [1, 2, 3], others: {} };
    const heartbeat = (id: number, revision: number, fields: Partial<JobRecord> = {}): JobRecord => ({
      ...job(id, T0, { ended_at: null, status: 'running', series, ...fields }),
      revision,
    });
    const ids = async (store: AccountingStore, since: number, cluster?: string): Promise<readonly number[]> => {
      const found = await store.running({ since, ...(cluster === undefined ? {} : { cluster }) });
      return found.map(({ record }) => record.job_id);
    };

    it('lists jobs with a heartbeat since the given time and without an end, with their series', async (t) => {
      const store = await open(t);
      await store.merge([
        heartbeat(3, T0 + 3000),
        heartbeat(1, T0 + 1000),
        heartbeat(2, T0 + 2000, { cluster: 'other' }),
        job(4, T0 + 9000),
      ]);
      assert.deepEqual(await ids(store, T0), [1, 3, 2]);
      assert.deepEqual(await ids(store, T0 + 2000), [3, 2]);
      assert.deepEqual(await ids(store, T0, 'other'), [2]);
      assert.deepEqual(await ids(store, T0, 'no such'), []);
      assert.deepEqual((await store.running({ since: T0 + 3000 }))[0]?.record, heartbeat(3, T0 + 3000));
    });

    it('does not list a job that has ended, even after a late heartbeat', async (t) => {
      const store = await open(t);
      const finished = { ...job(1, T0 + 5000), series: { ...series, rss_bytes: [1, 2, 3, 4] } };
      await store.merge([heartbeat(1, T0 + 1000)]);
      assert.deepEqual(await ids(store, 0), [1]);
      await store.merge([finished]);
      assert.deepEqual(await ids(store, 0), []);
      // The second one is dated later: the clock was set back after it.
      for (const revision of [T0 + 4000, T0 + 99_000])
        assert.deepEqual(await store.merge([heartbeat(1, revision)]), [{ ok: true, change: 'unchanged' }]);
      assert.deepEqual((await store.job({ job_id: 1 })).records[0]?.record, finished);
      assert.deepEqual(await ids(store, 0), []);
    });
  });

  describe('the totals of parallel jobs', () => {
    it('count limit and slots of a host once, used memory and CPU time of every task', async (t) => {
      const store = await open(t);
      const task = (host: string, id: string, run: string): JobRecord =>
        job(7, T0, { host, pe_task_id: id, run_id: run, submitted_at: null });
      await store.merge([
        job(7, T0),
        task('node1', '1.node1', 'a'),
        task('node2', '1.node2', 'b'),
        task('node2', '2.node2', 'c'),
      ]);
      const { totals } = await store.records({ owner: 'bob', since: T0 - DAY, until: T0 + DAY });
      assert.deepEqual(
        [totals.records, totals.jobs, totals.requested_gib_hours, totals.requested_with_used_gib_hours],
        [4, 1, 16, 16],
      );
      assert.deepEqual([totals.used_gib_hours, totals.cpu_seconds, totals.slot_seconds], [2, 7200, 14_400]);
      const alone = await store.records({ owner: 'bob', since: T0 - DAY, until: T0 + DAY, limit: 1 });
      assert.equal(alone.records.length, 1);
      const unsummed = await store.records({ owner: 'bob', since: T0 - DAY, until: T0 + DAY, limit: 1, totals: false });
      assert.deepEqual(unsummed.records, alone.records);
      assert.equal(unsummed.totals.records, 0);
    });
  });

  describe('the records of an owner', () => {
    const hours = (value: number): number => Math.round(value * 1e6) / 1e6;

    it('have totals over the whole interval, not only over the records listed', async (t) => {
      const store = await open(t);
      await store.merge([
        job(1, T0),
        job(2, T0 + 1),
        job(3, T0 + 2, { peak_rss: peakOf(9 * GIB) }),
        job(4, T0 + 3, { h_vmem: null }),
        job(5, T0 + 4, { peak_rss: null, rss_byte_seconds: null }),
        job(5, T0 + 5, { run_id: 'x.y.z', cpu_seconds: null, host_slots: null }),
        job(6, T0 + 6, { status: 'running', ended_at: null }),
        job(7, T0, { owner: 'eve' }),
        job(8, T0 - 1),
        job(9, T0 + HOUR),
      ]);
      const { records, totals } = await store.records({ owner: 'bob', since: T0, until: T0 + HOUR, limit: 2 });
      assert.deepEqual(
        records.map(({ record }) => record.job_id),
        [6, 5],
      );
      assert.deepEqual(Object.fromEntries(Object.entries(totals).map(([name, value]) => [name, hours(value)])), {
        records: 7,
        jobs: 6,
        running: 1,
        requested_gib_hours: 6 * 8,
        requested_with_used_gib_hours: 5 * 8,
        requested_with_peak_gib_hours: 5 * 8,
        used_gib_hours: 6 * 0.5,
        used_with_request_gib_hours: 5 * 0.5,
        peak_gib_hours: 5 * 1 + 9,
        peak_with_request_gib_hours: 4 * 1 + 9,
        unused_gib_hours: 4 * 7,
        cpu_seconds: 6 * 1800,
        slot_seconds: 6 * 7200 + 3600,
        above_request: 1,
        far_below: 3,
        limit_gib_hours: 6 * 8,
        energy_joules: 0,
        slot_seconds_with_energy: 0,
        failed: 0,
        failed_slot_seconds: 0,
        killed_by_memory: 0,
        unsampled: 0,
        without_limit: 1,
        without_peak: 1,
        with_grid_engine: 0,
        requested_with_grid_engine_gib_hours: 0,
        grid_engine_gib_hours: 0,
        grid_engine_with_request_gib_hours: 0,
        unused_by_grid_engine_gib_hours: 0,
        without_used: 1,
      });
    });

    it('count as killed by memory only with a measured peak at the limit', async (t) => {
      const store = await open(t);
      const peak = { ...peakOf(GIB), upper_bytes: 8 * GIB, open: [] };
      const killed = (id: number, sources: Bracket['sources'], more: Partial<JobRecord> = {}): JobRecord => {
        const bracket = { ...peak, sources };
        const held = { peak_rss: bracket, peak_rss_swap: bracket };
        return job(id, T0 + id, { exit_status: 137, signal: 9, ...held, ...more });
      };
      await store.merge([
        killed(1, ['sample', 'limit']),
        killed(2, ['sample', 'limit'], { peak_rss: { ...peak, sources: ['sample'] } }),
        killed(3, ['sample', 'mark']),
        killed(4, ['sample', 'mark'], { peak_rss: { ...peak, sources: ['sample', 'limit'] } }),
      ]);
      const { totals } = await store.records({ owner: 'bob', since: T0, until: T0 + HOUR });
      assert.deepEqual([totals.failed, totals.killed_by_memory, totals.far_below], [4, 2, 4]);
      const { groups } = await store.summary({ since: T0, until: T0 + HOUR, by: 'owner' });
      assert.equal(groups[0]?.totals.killed_by_memory, 2);
    });

    it('are each in exactly one of adjoining intervals', async (t) => {
      const store = await open(t);
      await store.merge([job(1, T0 - 1), job(2, T0), job(3, T0 + 1), job(4, T0 + DAY)]);
      const ids = async (since: number, until: number): Promise<unknown> =>
        (await store.records({ owner: 'bob', since, until })).records.map(({ record }) => record.job_id);
      assert.deepEqual(await ids(0, T0), [1]);
      assert.deepEqual(await ids(T0, T0 + DAY), [3, 2]);
      assert.deepEqual(await ids(T0 + DAY, T0 + 2 * DAY), [4]);
    });

    it('are sorted as requested', async (t) => {
      const store = await open(t);
      await store.merge([
        job(1, T0 + 3, { wallclock_seconds: 10, cpu_seconds: 50 }),
        job(2, T0 + 2, { wallclock_seconds: 20, cpu_seconds: 5, peak_rss: peakOf(8 * GIB) }),
        job(3, T0 + 1, { wallclock_seconds: 15, cpu_seconds: 500, peak_rss: null }),
      ]);
      const order = async (sort: RecordSort): Promise<unknown> =>
        (await store.records({ owner: 'bob', since: T0, until: T0 + DAY, sort })).records.map(
          ({ record }) => record.job_id,
        );
      assert.deepEqual(await order('time'), [1, 2, 3]);
      assert.deepEqual(await order('wallclock'), [2, 3, 1]);
      assert.deepEqual(await order('cpu'), [3, 1, 2]);
      assert.deepEqual(await order('peak'), [2, 1, 3]);
      assert.deepEqual(await order('requested'), [2, 3, 1]);
      assert.deepEqual(await order('unused'), [1, 2, 3]);
    });

    it('can be limited to a cluster, and are none for an unknown owner', async (t) => {
      const store = await open(t);
      await store.merge([job(1, T0), job(1, T0, { cluster: 'other' })]);
      const interval = { since: 0, until: T0 + DAY };
      assert.equal((await store.records({ owner: 'bob', cluster: 'other', ...interval })).totals.records, 1);
      assert.equal((await store.records({ owner: 'bob', cluster: 'none', ...interval })).totals.records, 0);
      assert.equal((await store.records({ owner: 'mallory', ...interval })).totals.jobs, 0);
    });
  });
}
