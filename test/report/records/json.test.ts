import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDerived } from '../../../src/record/efficiency';
import { nextRequests } from '../../../src/report/advice/next-request';
import { withClasses } from '../../../src/report/rules/judge';
import { loadRules } from '../../../src/report/rules/rule-set';
import { renderJson } from '../../../src/report/records/json';
import { jobSums } from '../../../src/accounting/job-sum';
import { asRuns, hostile, mpiMaster, mpiTask, ordinary } from '../sample-records';

describe('renderJson', () => {
  it('holds every field of the record, its attempt, its advice and its classes', async () => {
    const runs = withClasses([{ record: ordinary, attempt: 2, incarnation: 1 }], await loadRules(''));
    const text = renderJson(nextRequests(runs));
    const classes = runs[0]?.classes;
    assert.deepEqual(
      classes?.found.map((finding) => finding.class),
      ['memory-far-below'],
    );
    const next_time = { kind: 'lower', complex: 'h_vmem', request_bytes: 650 * 1024 ** 2, risk: null, runs: null };
    assert.deepEqual(JSON.parse(text), {
      schema: 1,
      records: [{ ...withDerived(ordinary), attempt: 2, next_time, classes }],
    });
  });

  it('keeps what users wrote, without a raw control character', () => {
    const text = renderJson([{ record: hostile, attempt: 1, next_time: null }]);
    assert.deepEqual(JSON.parse(text), {
      schema: 1,
      records: [{ ...withDerived(hostile), attempt: 1, next_time: null, classes: null }],
    });
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\u202e]/u);
  });

  it('adds the sums of parallel jobs, one run per line', () => {
    const runs = asRuns([mpiMaster(2), mpiTask(1), mpiTask(2)]);
    const sums = jobSums(runs);
    const text = renderJson(nextRequests(runs), sums);
    const { records, sums: told } = JSON.parse(text) as { records: unknown[]; sums: unknown[] };
    assert.equal(records.length, 3);
    assert.deepEqual(told, JSON.parse(JSON.stringify(sums)));
    assert.equal(text.split('\n').length, 3 + 1 + 1 + 3);
  });

  it('writes one record per line', () => {
    const one = { record: ordinary, attempt: 1, next_time: null };
    assert.equal(renderJson([one, one, one]).split('\n').length, 6);
    assert.equal(renderJson([]), '{"schema":1,"records":[]}\n');
  });
});
