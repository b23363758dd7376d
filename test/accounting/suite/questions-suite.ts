import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { VIEWS } from '../../../src/accounting/views';
import type { HistoryStore } from '../../../src/accounting/history-store';
import { privateCluster } from '../../../src/record/job-name';
import type { JobRecord } from '../../../src/record/record';
import { TOTALS_NAMES } from '../../../src/record/totals';
import { questionFiles, QUESTIONS } from '../../reference';
import { GIB, HOUR, iso, job, lineOf, LARGEST_VALUES, peakOf, T0 } from './fixture';

/** Opens a store; `ask` runs a statement over its views, whose rows have their columns in order. */
export type OpenViews = (t: TestContext) => Promise<{
  readonly store: HistoryStore;
  readonly ask: (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
}>;

const AT = T0 + 12 * HOUR;

function task(id: number, peak: number): JobRecord {
  const fields = { task_id: id, owner: 'eve', job_name: 'align', project: 'biology', queue: 'long.q' };
  return job(100, AT + id, { ...fields, run_id: `a.${id}.1`, peak_rss: { ...peakOf(peak), command: 'bwa' } });
}

/** A job on two hosts, whose slave tasks use the memory that it requested. */
const RING = { owner: 'mia', project: 'chemistry', queue: 'mpi.q', pe: 'mpi', slots: 4 };

const RECORDS: readonly JobRecord[] = [
  job(1, AT, { job_name: 'sort', project: 'physics', queue: 'all.q', exit_status: 0 }),
  job(2, AT, {
    ...{ job_name: 'full', project: 'physics', queue: 'all.q', exit_status: 137, signal: 9, host: 'node2' },
    peak_rss: { ...peakOf(7.875 * GIB), command: 'python' },
    submitted_at: iso(AT - 3 * HOUR),
    metrics: { cgroup_oom_kills: 2 },
  }),
  task(1, 0.5 * GIB),
  task(2, 1.5 * GIB),
  task(3, 3 * GIB),
  {
    ...job(3, AT, { job_name: 'free', project: 'physics', queue: 'all.q', cpu_seconds: 7200 }),
    requests: {
      mem_free: { request_bytes: 2 * GIB, limit_bytes: null, per: 'slot' },
      scratch: { request_bytes: GIB, limit_bytes: GIB, per: 'job' },
    },
  },
  job(6, AT, { ...RING, job_name: 'ring', cpu_seconds: 0 }),
  job(6, AT, { ...RING, pe_task_id: '1.node1', cpu_seconds: 7200, peak_rss: peakOf(6 * GIB) }),
  job(6, AT, { ...RING, pe_task_id: '1.node2', cpu_seconds: 7200, peak_rss: peakOf(6 * GIB), host: 'node2' }),
  // A job that was started twice.
  job(7, AT - 2 * HOUR, { owner: 'eve', job_name: 'again', project: 'biology', queue: 'long.q', run_id: 'a.8.1' }),
  job(7, AT, {
    ...{ owner: 'eve', job_name: 'again', project: 'biology', queue: 'long.q', run_id: 'a.9.1' },
    submitted_at: iso(AT - 4 * HOUR),
  }),
  lineOf(job(4, AT), { status: 'unsampled', project: 'physics', wallclock_seconds: null, cpu_seconds: null, slots: 1 }),
];

/** The rows that each question finds in RECORDS. */
const ANSWERS: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  '01-unused-memory.sql': [
    ['eve', 40, 33],
    ['bob', 24, 14.1],
    ['mia', 16, 3],
  ],
  '02-near-the-limit.sql': [[2, null, 'bob', 'full', 'node2', 7.875 * GIB, 8 * GIB]],
  '03-far-too-large.sql': [
    ['eve', 'again', 2, GIB, 8 * GIB],
    ['bob', 'free', 1, GIB, 8 * GIB],
    ['bob', 'sort', 1, GIB, 8 * GIB],
  ],
  '04-bad-hosts.sql': [['node2', 2, 1]],
  '05-largest-programs.sql': [
    ['python', 1, 7.875 * GIB],
    ['sort', 7, 6 * GIB],
    ['bwa', 3, 3 * GIB],
  ],
  '06-waiting.sql': [
    ['all.q', 4, 4500, 7200],
    ['long.q', 4, 3600, 3600],
    ['mpi.q', 1, 3600, 3600],
  ],
  '07-requests.sql': [
    ['h_vmem', 'slot', 11, 4 * GIB, 8 * GIB],
    ['mem_free', 'slot', 1, 2 * GIB, null],
    ['scratch', 'job', 1, GIB, GIB],
  ],
  '08-uneven-arrays.sql': [['cell', 100, 'eve', 3, 0.5 * GIB, 3 * GIB]],
  '09-cpu-efficiency.sql': [
    ['biology', 5, 0.25],
    ['physics', 4, 0.5],
    ['chemistry', 3, 1],
  ],
  '10-days.sql': [['2026-11-01', 'cell', 9, 1, 1, 1]],
  '11-metrics.sql': [[2, null, 'bob', 'node2', 2]],
};

/** PostgreSQL gives sums and averages as text, since they may not fit into a number. */
const plain = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;

/** SQL over the views. `lacking`: views that the store does not have. */
export function questionsSuite(open: OpenViews, lacking: readonly string[] = []): void {
  describe('views', () => {
    it('answer the questions of the manual', async (t) => {
      const { store, ask } = await open(t);
      assert.ok((await store.merge(RECORDS)).every(({ ok }) => ok));
      await store.rollUp({});
      assert.deepEqual(questionFiles(), Object.keys(ANSWERS));
      for (const [file, expected] of Object.entries(ANSWERS)) {
        const question = readFileSync(join(QUESTIONS, file), 'utf8');
        if (lacking.some((view) => question.includes(`FROM ${view}\n`))) continue;
        const rows = await ask(question);
        assert.deepEqual(
          rows.map((row) => Object.values(row).map(plain)),
          expected,
          file,
        );
      }
    });

    it('have the columns that the manual names, in the units of their names', async (t) => {
      const { store, ask } = await open(t);
      await store.merge([...RECORDS, job(5, AT, { cluster: privateCluster('run') })]);
      await store.rollUp({});
      for (const { name, columns } of VIEWS) {
        if (lacking.includes(name)) continue;
        const names = columns.map((column) => column.name);
        const [row = {}] = await ask(`SELECT * FROM ${name}`);
        assert.deepEqual(Object.keys(row), name === 'daily' ? [...names, ...TOTALS_NAMES] : names, name);
        assert.ok(
          columns.every(({ help }) => help !== ''),
          name,
        );
      }
      const [second] = await ask(
        'SELECT wallclock_seconds, cpu_efficiency, memory_efficiency, queue_wait_seconds, status, trust FROM jobs WHERE job_id = 2',
      );
      assert.deepEqual(Object.values(second ?? {}).map(plain), [3600, 0.25, 7.875 / 8, 7200, 'finished', 'root']);
      // A private run without Grid Engine does not wait in a queue.
      const waits = await ask('SELECT queue_wait_seconds FROM jobs WHERE job_id = 5');
      assert.deepEqual(waits.map(Object.values), [[null]]);
    });

    it('leave the time in which a job was suspended out of its CPU efficiency', async (t) => {
      const { store, ask } = await open(t);
      const half = { cpu_seconds: 900, wallclock_seconds: 3600, host_slots: 1 };
      await store.merge([
        job(1, AT, { ...half, suspended_seconds: 1800 }),
        job(2, AT, { ...half, suspended_seconds: 4000 }),
        job(3, AT, { ...half, suspended_seconds: null }),
      ]);
      const rows = await ask('SELECT suspended_seconds, cpu_efficiency FROM jobs ORDER BY job_id');
      assert.deepEqual(
        rows.map((row) => Object.values(row).map(plain)),
        [
          [1800, 0.5],
          [4000, null],
          [null, 0.25],
        ],
      );
      const { totals } = await store.records({ since: 0, until: AT + 1 });
      assert.equal(totals.slot_seconds, 1800 + 0 + 3600);
    });

    it('compare the CPU time of an accounting line alone with all slots of its job, as its screen does', async (t) => {
      const { store, ask } = await open(t);
      const line = { trust: 'accounting', slots: 4, host_slots: null, cpu_seconds: 3600, samples: null } as const;
      await store.merge([job(1, AT, line), job(1, AT, { ...line, pe_task_id: '1.node1' })]);
      const rows = await ask('SELECT cpu_efficiency FROM jobs ORDER BY pe_task_id IS NOT NULL');
      assert.deepEqual(
        rows.flatMap(Object.values).map((share) => (share === null ? null : Number(share))),
        [0.25, null],
      );
    });

    it('can be read with the largest values that a user may hand in', async (t) => {
      const { store, ask } = await open(t);
      await store.merge([job(1, AT, { trust: 'self-reported', ...LARGEST_VALUES })]);
      const rows = await ask('SELECT cpu_efficiency FROM jobs');
      assert.deepEqual(rows.flatMap(Object.values).map(Number), [1e-6]);
    });
  });
}
