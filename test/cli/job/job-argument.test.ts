import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseJobArguments } from '../../../src/cli/job/find-job';

describe('parseJobArguments', () => {
  it('takes jobs and tasks, lists and ranges of jobs', () => {
    assert.deepEqual(parseJobArguments(['4711', '4711.3']), [{ job_id: 4711 }, { job_id: 4711, task_id: 3 }]);
    assert.deepEqual(parseJobArguments(['26,27.1']), [{ job_id: 26 }, { job_id: 27, task_id: 1 }]);
    assert.deepEqual(
      parseJobArguments(['100-102']).map((job) => ('job_id' in job ? job.job_id : null)),
      [100, 101, 102],
    );
  });

  it('takes output files as Grid Engine names them', () => {
    assert.deepEqual(parseJobArguments(['sim.sh.o4711', 'out/sim.e4712.3', 'mpi.po4713']), [
      { job_id: 4711 },
      { job_id: 4712, task_id: 3 },
      { job_id: 4713 },
    ]);
  });

  it('takes a name, "last" and nothing for the newest job of the caller', () => {
    assert.deepEqual(parseJobArguments(['assemble']), [{ name: 'assemble' }]);
    assert.deepEqual(parseJobArguments(['last']), [{ name: null }]);
    assert.deepEqual(parseJobArguments([]), [{ name: null }]);
  });

  it('refuses anything else', () => {
    const words = [
      '',
      '0',
      '-1',
      '1.0',
      '1.',
      '.1',
      '1.2.3',
      '1e3',
      '0x10',
      ' 1',
      '1,',
      '9-3',
      '1-100000',
      '99999999999',
    ];
    for (const text of words) assert.throws(() => parseJobArguments([text]), { status: 2 }, text);
  });
});
