import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { renderJob } from '../../../src/report/job/job';
import { fitLines } from '../../../src/report/screen/layout';
import { displayWidth } from '../../../src/report/screen/text-width';
import { loadRules, type RuleSet } from '../../../src/report/rules/rule-set';
import type { JobRecord } from '../../../src/record/record';
import { realisticRecords } from '../../accounting/realistic-record';
import { accountOf } from '../../support/records';
import { asRuns, killedAtLimit } from '../sample-records';
import { testScreen } from '../screens';

const GIB = 2 ** 30;
const screen = testScreen({ width: 80 });
const STATUSES: readonly (readonly number[])[] = [[0], [0, 0, 137, 1, 139], Array.from({ length: 30 }, (_, n) => n)];
const limited = { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' } as const;

/** A record that ended with this status, in half of the cases with a limit that is too small. */
const endedWith = (record: JobRecord, status: number, isLimited: boolean): JobRecord => ({
  ...record,
  exit_status: status,
  signal: status > 128 ? status - 128 : 0,
  h_vmem: isLimited ? limited : record.h_vmem,
});

describe('the height of the screen of a job', () => {
  let rules: RuleSet;
  before(async () => {
    rules = await loadRules('');
  });

  const linesOf = (records: readonly JobRecord[], older: number): readonly string[] => {
    const judges = { rules, kindOf: () => null };
    const report = { job_id: records[0]?.job_id ?? 0, runs: asRuns(records), older, newer: 0, judges };
    return renderJob(report, { allTasks: false }, screen);
  };
  const assertFits = (lines: readonly string[]): void => {
    assert.ok(lines.length <= 24, lines.join('\n'));
    assert.deepEqual(
      lines.filter((line) => displayWidth(line) > 80),
      [],
    );
  };

  it('is at most 24 lines, with classes, bad ends and memory over time', () => {
    const { next } = realisticRecords(3);
    const series = {
      start: new Date(0).toISOString(),
      step_seconds: 10,
      others: {},
      rss_bytes: [1, 2, 3].map((n) => n * GIB),
    };
    for (let job = 0; job < 300; job++) {
      const record = next();
      for (const status of [0, 1, 137, 139])
        assertFits(linesOf([{ ...endedWith(record, status, job % 2 === 0), series }], job % 3));
    }
  });

  it('is at most 24 lines for arrays, however many ways to end and classes their tasks have', () => {
    const { next } = realisticRecords(5);
    for (let array = 0; array < 150; array++) {
      const statuses = STATUSES[array % STATUSES.length] ?? [];
      const { job_id, job_name, owner, submitted_at } = next();
      const tasks = Array.from({ length: 2 + (array % 60) }, (_, index) => ({
        ...endedWith(next(), statuses[index % statuses.length] ?? 0, array % 2 === 0),
        ...{ job_id, job_name, owner, submitted_at, task_id: index + 1, pe: null, slots: 1, host_slots: 1 },
      }));
      assertFits(linesOf(tasks, array % 3));
    }
  });
});

it('the screen of an array keeps to its width, with long host names and figures summed over hosts', () => {
  const counted = {
    ...killedAtLimit,
    ...{ pe: 'mpi', slots: 2, peak_rss: null, peak_rss_swap: null, peak_process_vmem: null, peak_footprint: null },
    grid_engine: accountOf({ maxvmem_bytes: 83 * GIB }),
  };
  const tasks = [1, 2, 3].map((task_id) => ({ ...counted, task_id, host: `node${task_id}.cluster.example.org` }));
  for (const width of [60, 80]) {
    const report = { job_id: counted.job_id, runs: asRuns(tasks), older: 0, newer: 0 };
    const lines = renderJob(report, { allTasks: false }, testScreen({ width }));
    assert.match(lines.join('\n'), /worst: task 1 on node1.*\n?.* \(sum\s+over\s+hosts\)/);
    assert.deepEqual(
      lines.filter((line) => displayWidth(line) > width),
      [],
    );
  }
});

it('fitLines gives room to the first parts first', () => {
  const parts = [
    { lines: ['title'] },
    { lines: ['a', 'b', 'c'], short: ['abc'] },
    { lines: ['d', 'e'], short: [] },
    { lines: ['f'], short: [] },
  ];
  assert.deepEqual(fitLines(parts, 7).join(), 'title,a,b,c,d,e,f');
  assert.deepEqual(fitLines(parts, 5).join(), 'title,a,b,c,f');
  assert.deepEqual(fitLines(parts, 3).join(), 'title,abc,f');
  assert.deepEqual(fitLines(parts, 1).join(), 'title,abc');
});
