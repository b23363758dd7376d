import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostNames } from '../../src/gridengine/host-names';
import { runningJobs, type RunningJob } from '../../src/live/running-jobs';
import type { Snapshot } from '../../src/live/snapshot';
import { answer, detail, host, listed, row, snapshot, taskDetail, usage } from './snapshots';

function joined(changes: Partial<Snapshot>): readonly RunningJob[] {
  const given = snapshot(changes);
  return runningJobs(given, hostNames(given.hosts.value.map(({ name }) => name)));
}

describe('runningJobs', () => {
  it('joins rows, hosts and figures by job and task', () => {
    const [first, second, ...rest] = joined({
      hosts: answer([host('a', { jobs: [row(1, { task: 2 }), row(1, { task: 1 })] })]),
      running: answer([listed(1, 'q@a', { tasks: '2' }), listed(1, 'q@a', { tasks: '1' })]),
      details: answer([detail(1, [taskDetail(usage(1)), taskDetail(usage(2), { task: 2 })], { array: true })]),
    });
    assert.deepEqual(rest, []);
    assert.deepEqual([first?.task, first?.taskDetail?.task, first?.rows.get('a')?.length], [1, 1, 1]);
    assert.deepEqual([second?.task, second?.taskDetail?.task, second?.listedHosts], [2, 2, ['a']]);
  });

  it('includes jobs of qhost or qstat only, but none of qstat -j only', () => {
    const jobs = joined({
      hosts: answer([host('a', { jobs: [row(1)] })]),
      running: answer([listed(2, 'q@b')]),
      details: answer([detail(3, [])]),
    });
    assert.deepEqual(
      jobs.map(({ job, listed: listedRow, rows }) => [job, listedRow !== null, rows.size]),
      [
        [1, false, 1],
        [2, true, 0],
      ],
    );
  });

  it("takes the master's row of several, and does not add up their slots", () => {
    const [job] = joined({
      running: answer([
        listed(1, 'q@b', { role: 'SLAVE', slots: 1 }),
        listed(1, 'q@a', { role: 'MASTER', slots: 1 }),
        listed(1, 'q@b', { role: 'SLAVE', slots: 1 }),
      ]),
    });
    assert.deepEqual([job?.listed?.role, job?.granted, job?.listedHosts], ['MASTER', null, ['a', 'b']]);
  });

  it('takes the first number of a range of tasks', () => {
    const jobs = joined({ running: answer([listed(1, 'q@a', { tasks: '4-9:1' }), listed(2, 'q@a', { tasks: 'x' })]) });
    assert.deepEqual(
      jobs.map(({ task }) => task),
      [4, null],
    );
  });

  it('has no granted slots where the number is none', () => {
    for (const slots of [0, -1, null])
      assert.equal(joined({ running: answer([listed(1, 'q@a', { slots })]) })[0]?.granted, null);
  });
});
