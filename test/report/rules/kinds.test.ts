import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Kinds, kindsNear } from '../../../src/report/rules/kinds';
import { memoryReader } from '../../accounting/memory-reader';
import { pastJobs } from '../past-jobs';

describe('kindsNear', () => {
  it('counts the runs of a class among many newer ones with similar names', async () => {
    const minutes = (index: number): string => new Date(Date.UTC(2026, 10, 1, 10, index)).toISOString();
    const own = pastJobs(60, (index) => ({ job_name: `s${index}`, ended_at: minutes(index) }));
    const others = pastJobs(1100, (index) => ({ job_id: 5000 + index, job_name: 'snake.rule', ended_at: minutes(60) }));
    const reader = memoryReader([...own, ...others]);
    const kinds = await kindsNear(own.slice(0, 1), async (query) => (await reader.records(query)).records);
    assert.deepEqual(own.slice(0, 1).map(kinds.of), [{ runs: 60, seconds: 60 * 300 }]);
  });
});

describe('Kinds', () => {
  it('leaves out runs of unknown duration', () => {
    const runs = pastJobs(3, (index) => (index === 0 ? {} : { status: 'lost', wallclock_seconds: null }));
    assert.deepEqual(pastJobs(1).map(new Kinds(runs).of), [{ runs: 1, seconds: 300 }]);
  });
});
