import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findAttempts, historyOf } from '../../../src/cli/records/find';
import type { JobRecord } from '../../../src/record/record';
import { loadRules } from '../../../src/report/rules/rule-set';
import { memoryReader } from '../../accounting/memory-reader';
import { ordinary } from '../../report/sample-records';

function run(job: number, hour: number, more: Partial<JobRecord> = {}): JobRecord {
  const at = (minute: number): string => new Date(Date.UTC(2026, 10, 20, hour, minute)).toISOString();
  const times = { submitted_at: at(0).replace(/T\d+/, 'T00'), started_at: at(1), ended_at: at(9) };
  return { ...ordinary, job_id: job, run_id: `a.${hour}.1`, ...times, ...more };
}

const NOW = new Date('2026-11-21T12:00:00Z');

describe('findAttempts', () => {
  it('numbers each record among all runs of its job, asked for all at once, in every store', async () => {
    const [first, second, third] = [run(1, 1), run(1, 2), run(1, 3)];
    const other = run(2, 5);
    const elsewhere = run(1, 4, { cluster: 'elsewhere' });
    const asked: (readonly number[])[] = [];
    const readers = [
      [first, third, other],
      [second, third, elsewhere],
    ].map((records) => {
      const reader = memoryReader(records);
      return { ...reader, jobs: (numbers: readonly number[]) => (asked.push(numbers), reader.jobs(numbers)) };
    });
    const shown = [third, other, elsewhere, second];
    const judging = { rules: await loadRules(''), kindOf: () => null };
    const found = await findAttempts(shown, readers, historyOf(readers, NOW), judging);
    assert.deepEqual(
      found.map(({ record, attempt }) => [record, attempt]),
      [
        [third, 3],
        [other, 1],
        [elsewhere, 1],
        [second, 2],
      ],
    );
    assert.deepEqual(asked, [
      [1, 2],
      [1, 2],
    ]);
    const known = found.map(({ next_time: next }) => [next?.risk != null && next.risk > 0.01, next?.runs]);
    assert.deepEqual(known, [
      [true, 4],
      [true, 4],
      [false, null],
      [true, 4],
    ]);
    assert.deepEqual(await findAttempts([], readers, historyOf(readers, NOW), judging), []);
  });
});
