import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderJson } from '../../../src/report/records/json';
import { jobSums } from '../../../src/accounting/job-sum';
import { asRuns, hostile, mpiMaster, mpiTask, ordinary } from '../sample-records';

describe('renderJson', () => {
  it('holds every field of the record, and the attempt', () => {
    const text = renderJson([{ record: ordinary, attempt: 2 }]);
    assert.deepEqual(JSON.parse(text), { schema: 1, records: [{ ...ordinary, attempt: 2 }] });
  });

  it('keeps what users wrote, without a raw control character', () => {
    const text = renderJson([{ record: hostile, attempt: 1 }]);
    assert.deepEqual(JSON.parse(text), { schema: 1, records: [{ ...hostile, attempt: 1 }] });
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\u202e]/u);
  });

  it('adds what parallel jobs are as a whole, one run a line', () => {
    const runs = asRuns([mpiMaster(2), mpiTask(1), mpiTask(2)]);
    const sums = jobSums(runs);
    const text = renderJson(runs, sums);
    const { records, sums: told } = JSON.parse(text) as { records: unknown[]; sums: unknown[] };
    assert.equal(records.length, 3);
    assert.deepEqual(told, JSON.parse(JSON.stringify(sums)));
    assert.equal(text.split('\n').length, 3 + 1 + 1 + 3);
  });

  it('is one record a line', () => {
    const one = { record: ordinary, attempt: 1 };
    assert.equal(renderJson([one, one, one]).split('\n').length, 6);
    assert.equal(renderJson([]), '{"schema":1,"records":[]}\n');
  });
});
