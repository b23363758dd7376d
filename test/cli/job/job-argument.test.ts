import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { parseJobArguments } from '../../../src/cli/job/find-job';
import { temporaryStore } from '../../accounting/temporary-store';
import { ordinary } from '../../report/sample-records';
import { runCommand } from '../../support/qmemacct';

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

describe('a job that is named twice', () => {
  it('is shown once, and a task is shown once with its job', async () => {
    const path = temporaryStore();
    const store = openSqliteStore(path, 0o600);
    const tasks = [1, 2].map((task) => ({ ...ordinary, task_id: task, run_id: `a.${task}.1` }));
    await store.merge(tasks);
    await store.close();
    const { job_id: job } = ordinary;
    const recordsOf = async (...words: readonly string[]): Promise<number> => {
      const { output } = await runCommand(['job', ...words, '--csv', '--accounting', path]);
      return output.trimEnd().split('\n').length - 1;
    };
    assert.equal(await recordsOf(`sim.o${job}`, `sim.e${job}`), 2);
    assert.equal(await recordsOf(`${job - 1}-${job + 1}`, String(job)), 2);
    assert.equal(await recordsOf(`sim.o${job}.1`, `sim.e${job}.1`, `sim.o${job}.2`), 2);
    assert.equal(await recordsOf(`${job}.2`, String(job)), 2);
  });
});
