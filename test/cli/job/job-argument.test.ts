import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseJobArgument } from '../../../src/cli/job/find-job';

describe('parseJobArgument', () => {
  it('takes a job or a task', () => {
    assert.deepEqual(parseJobArgument('4711'), { job_id: 4711 });
    assert.deepEqual(parseJobArgument('4711.3'), { job_id: 4711, task_id: 3 });
  });

  it('refuses anything else', () => {
    for (const text of ['', '0', '-1', '1.0', '1.', '.1', '1.2.3', '1e3', '0x10', ' 1', 'sleep', '99999999999'])
      assert.throws(() => parseJobArgument(text), { status: 2 }, text);
  });
});
