import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accountOf } from '../../support/records';
import { chooseTasks, type TaskChoice } from '../../../src/report/job/choose-tasks';
import { renderJob } from '../../../src/report/job/job';
import type { JobRecord } from '../../../src/record/record';
import { arrayOfTwenty, asRuns } from '../sample-records';
import { testScreen } from '../screens';

const tasks = arrayOfTwenty.map((record) => [record]);
const chosen = (choice: TaskChoice): readonly unknown[] =>
  chooseTasks(tasks, choice).map(([record]) => record?.task_id ?? null);

describe('chooseTasks', () => {
  it('takes the tasks with the highest peaks, the failed ones, or the first ones', () => {
    assert.deepEqual(chosen({ worst: 3 }), [7, 3, 14]);
    assert.deepEqual(chosen({ failed: true }), [7]);
    assert.deepEqual(chosen({ limit: 2 }), [1, 2]);
    assert.deepEqual(chosen({ worst: 3, limit: 2 }), [7, 3]);
    assert.equal(chosen({}).length, 20);
  });

  it('decides which tasks a screen lists', () => {
    const report = { job_id: 4720, runs: asRuns(arrayOfTwenty), older: 0, newer: 0 };
    const lines = renderJob(report, { allTasks: false, tasks: { worst: 2 } }, testScreen());
    assert.deepEqual(
      lines.flatMap((line) => /^ {10} +(\d+) +node/.exec(line)?.[1] ?? []),
      ['7', '3'],
    );
    assert.match(lines[0] ?? '', /20 tasks$/);
  });
});

describe('array tasks that were not sampled', () => {
  const counted = arrayOfTwenty.map((record) => ({
    ...record,
    ...{ status: 'unsampled' as const, trust: 'accounting' as const, exit_status: 0, signal: 0, failed: 0 },
    ...{ peak_rss: null, peak_rss_swap: null, peak_process_vmem: null, peak_footprint: null },
    grid_engine: accountOf({ maxvmem_bytes: (100 + ((record.task_id ?? 0) % 7)) * 2 ** 20 }),
  }));
  const unknown = counted.map((record) => ({ ...record, grid_engine: accountOf({ maxvmem_bytes: 0 }) }));
  const lines = (records: typeof counted): string =>
    renderJob(
      { job_id: 4720, runs: asRuns(records), older: 0, newer: 0 },
      { allTasks: false, tasks: { worst: 3 } },
      testScreen(),
    ).join('\n');

  it('are chosen by memory among thousands, and by number among equal ones', () => {
    const [first] = counted;
    assert.ok(first !== undefined);
    const many = Array.from({ length: 5000 }, (_, index) => {
      const maxvmem_bytes = (1 + ((index * 7919) % 2500)) * 2 ** 10;
      return [{ ...first, task_id: index + 1, grid_engine: accountOf({ maxvmem_bytes }) }];
    });
    const bytesOf = ([record]: (typeof many)[number]): number => record?.grid_engine.maxvmem_bytes ?? 0;
    const fullest = [...many].sort((a, b) => bytesOf(b) - bytesOf(a)).slice(0, 7);
    const numbers = (list: readonly (typeof many)[number][]): readonly unknown[] =>
      list.map(([record]) => record?.task_id);
    assert.deepEqual(numbers(chooseTasks(many, { worst: 7 })), numbers(fullest));
  });

  it("are ranked by Grid Engine's figure", () => {
    assert.deepEqual(
      chooseTasks(
        counted.map((record) => [record]),
        { worst: 3 },
      ).map(([record]) => record?.task_id),
      [6, 13, 20],
    );
    assert.match(lines(counted), /worst: task 6 on node\d+, ~106 MiB of 2 GiB by Grid Engine \(maxvmem\)$/m);
    assert.match(lines(counted), /memory by maxvmem +~100 MiB +~103 MiB +~106 MiB +20$/m);
    assert.match(lines(counted), /^ +6 .*~106 MiB/m);
  });

  it("are ranked by Grid Engine's figure also where it may be a sum over the hosts of a parallel task", () => {
    const parallel = counted.map((record) => ({ ...record, pe: 'mpi', slots: 4, host_slots: null }));
    assert.match(lines(parallel), /worst: task 6 on node\d+, ~106 MiB \(sum over hosts\) of 2 GiB by Grid Engine/);
    assert.match(lines(parallel), /memory by maxvmem, sum over hosts +~100 MiB +~103 MiB +~106 MiB +20$/m);
    assert.match(lines(parallel), /^ +6 +node.* ~106 MiB(?:.*\n)+ +~: maxvmem, sum over hosts$/m);
    const brief = renderJob(
      { job_id: 4720, runs: asRuns(parallel), older: 0, newer: 0 },
      { allTasks: false, detail: 'brief' },
      testScreen(),
    ).join('\n');
    assert.match(brief, /^Memory: median ~103 MiB, most ~106 MiB \(task 20\), sum over hosts$/m);
  });

  it('are ranked by the accounting lines of all their slave tasks', () => {
    const lineOf = (task_id: number, pe_task_id: string | null, gib: number): JobRecord => ({
      ...(counted[0] ?? assert.fail()),
      ...{ task_id, pe: 'mpi', slots: 4, host_slots: null, granted_hosts: null, pe_task_id },
      grid_engine: accountOf({ maxvmem_bytes: gib * 2 ** 30 }),
    });
    const runs = [
      [lineOf(1, null, 1), lineOf(1, '1.node01', 1.25)],
      [lineOf(2, null, 0.5), lineOf(2, '1.node01', 4)],
    ];
    assert.deepEqual(
      chooseTasks(runs, { worst: 2 }).map(([record]) => record?.task_id),
      [2, 1],
    );
  });

  it('have no worst task where nothing is known', () => {
    assert.doesNotMatch(lines(unknown), /worst|^ +1 +node/m);
  });
});
