import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jobLineOf } from '../../src/accounting/job-line';
import { mpiMaster, mpiTask } from '../report/sample-records';

describe('the line of a parallel job', () => {
  it('has its runs, its hosts and the slots of the whole job', () => {
    const line = jobLineOf([mpiMaster(2), mpiTask(1), mpiTask(2)]);
    assert.deepEqual([line.records, line.masters, line.slots], [3, 1, mpiMaster(2).slots]);
  });
});
