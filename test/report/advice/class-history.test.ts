import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RecordsQuery } from '../../../src/accounting/store';
import type { JobRecord } from '../../../src/record/record';
import { ClassHistory } from '../../../src/report/advice/class-history';
import type { JobRun } from '../../../src/report/job/job-run';
import { memoryReader } from '../../accounting/memory-reader';
import { needing, pastJobs } from '../past-jobs';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const KINDS = 120;

/** Twelve runs of each kind, by names that differ in more than digits. */
const names = Array.from({ length: KINDS }, (_, index) => `${'k'.repeat(1 + (index % 12))}${'x'.repeat(index)}-1`);
const runs = names.flatMap((job_name, index) =>
  pastJobs(12, () => needing(8), NOW - 86_400_000).map((record): JobRecord => {
    const job_id = 10_000 + 100 * index + (record.job_id % 100);
    return { ...record, job_id, job_name, run_id: `${index}.${record.run_id}` };
  }),
);

describe('ClassHistory', () => {
  it('advises on however many kinds of jobs a list names, each asked for once where they come in turn', async () => {
    const reader = memoryReader(runs);
    const asked: string[] = [];
    const find = async (query: RecordsQuery) => {
      asked.push(query.job_name ?? '');
      return (await reader.records(query)).records;
    };
    const history = new ClassHistory(find, NOW);
    const listed = runs.map((record): JobRun => ({ record, attempt: 1, incarnation: 1 }));
    const advised = [...(await history.advise(listed)), ...(await history.advise(listed))];
    assert.ok(advised.every(({ promise }) => promise?.runs === 12));
    assert.equal(asked.length, KINDS);
    assert.equal(new Set(asked).size, KINDS);
  });
});
