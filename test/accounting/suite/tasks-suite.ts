import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AccountingReader } from '../../../src/accounting/store';
import { readTasks } from '../../../src/accounting/tasks';
import type { FieldName } from '../../../src/record/fields';
import type { JobRecord } from '../../../src/record/record';
import { ARRAY_FIELDS, TASK_FIELDS } from '../../../src/report/job/array';
import { DAY, GIB, HOUR, iso, job, peakOf, T0, type OpenStore } from './fixture';

const ARRAY = 7;

const fieldsOf = (record: JobRecord, fields: readonly FieldName[]): object =>
  Object.fromEntries(fields.map((name) => [name, record[name]]));

/** The latest run of each array task and the number of reruns, from columns; null: the store has none for this job. */
export async function tasksBy(
  reader: AccountingReader,
  job_id: number,
): Promise<{ readonly cluster: string | null; readonly reruns: number; readonly tasks: readonly object[] } | null> {
  const found = await readTasks(reader, { job_id, more_than: 1, fields: TASK_FIELDS, whole: ARRAY_FIELDS });
  if (found === null) return null;
  const { cluster, reruns } = found;
  const records = [...found.records()];
  const brief: readonly FieldName[] = ['task_id', 'status', 'cpu_seconds', 'metrics', 'h_vmem'];
  const whole = await found.whole(records.map(({ task_id: task }) => task));
  const tasks = records.map((record, index) => ({
    brief: fieldsOf(record, brief),
    whole: fieldsOf(whole[index] ?? record, ARRAY_FIELDS),
  }));
  return { cluster, reruns, tasks };
}

/** The same tasks from the records of the job. */
async function tasksByRecords(reader: AccountingReader): Promise<readonly object[]> {
  const { records } = await reader.job({ job_id: ARRAY, all: true });
  return records
    .filter(({ attempt, attempts }) => attempt === attempts)
    .map(({ record }) => fieldsOf(record, ARRAY_FIELDS));
}

const task = (number: number, given: Partial<JobRecord> = {}): JobRecord =>
  job(ARRAY, T0 + HOUR + number * 1000, {
    task_id: number,
    run_id: `a.${number}.1`,
    host: `node${number % 3}`,
    submitted_at: iso(T0),
    started_at: iso(T0 + number * 1000),
    peak_rss: peakOf(number * GIB),
    metrics: number % 2 === 0 ? { io_read_bytes: number } : {},
    exit_status: number % 4 === 0 ? 1 : 0,
    ...given,
  });

const TASKS = Array.from({ length: 12 }, (_none, index) => task(index + 1));

/** Array tasks as columns, the same in every store. */
export function tasksSuite(open: OpenStore): void {
  describe('the columns of array tasks', () => {
    it('have the latest run of each task, with the values of its record', async (t) => {
      const store = await open(t);
      const again = task(3, {
        run_id: 'b.3.1',
        host: 'node9',
        started_at: iso(T0 + 2 * HOUR),
        ended_at: iso(T0 + 3 * HOUR),
      });
      const running = task(13, { status: 'running', ended_at: null });
      await store.merge([...TASKS, again, running]);
      const found = await tasksBy(store, ARRAY);
      assert.deepEqual([found?.cluster, found?.reruns], ['cell', 1]);
      const expected = await tasksByRecords(store);
      assert.deepEqual(
        found?.tasks.map((one) => (one as { readonly whole: object }).whole),
        expected,
      );
      assert.equal(expected.length, 13);
    });

    it('have more than a thousand tasks in their order, and are not given if a task is of another job', async (t) => {
      const store = await open(t);
      const last = 1100;
      // SQLite reads a thousand tasks at a time: the first thousand have the same values, of the others some differ.
      const alike = { metrics: {}, exit_status: 0, host: 'node1' };
      const late = {
        metrics: { io_read_bytes: 1 },
        exit_status: 7,
        host: 'node2',
        slots: 2,
        job_name: 'late',
        signal: 9,
      };
      const given = (number: number): JobRecord => task(number, number > 1040 ? late : alike);
      await store.merge(Array.from({ length: last }, (_none, index) => given(last - index)));
      const found = await tasksBy(store, ARRAY);
      assert.deepEqual(
        found?.tasks.map((one) => (one as { readonly brief: JobRecord }).brief.task_id),
        Array.from({ length: last }, (_none, index) => index + 1),
      );
      assert.deepEqual(
        found.tasks.map((one) => (one as { readonly whole: object }).whole),
        await tasksByRecords(store),
      );
      await store.merge([task(last + 1, { submitted_at: iso(T0 + 90 * DAY) })]);
      assert.equal(await tasksBy(store, ARRAY), null);
    });

    it('are not given for a job that only its records can describe', async (t) => {
      const store = await open(t);
      assert.deepEqual((await tasksBy(store, 99))?.tasks, []);
      await store.merge([task(1)]);
      assert.equal(await tasksBy(store, ARRAY), null);
      await store.merge(TASKS.map((one) => ({ ...one, job_id: 8 })));
      assert.equal((await tasksBy(store, 8))?.tasks.length, 12);
      const others = [
        { submitted_at: iso(T0 + 90 * DAY), started_at: iso(T0 + 90 * DAY), ended_at: iso(T0 + 91 * DAY) },
        { cluster: 'elsewhere' },
        { pe: 'mpi', pe_task_id: '1.node1' },
        { owner: 'mallory', trust: 'self-reported' as const },
      ];
      for (const [index, other] of others.entries()) {
        const job_id = 100 + index;
        await store.merge([...TASKS, task(13, { run_id: 'c.1.1', ...other })].map((one) => ({ ...one, job_id })));
        assert.equal(await tasksBy(store, job_id), null, JSON.stringify(other));
      }
    });
  });
}
