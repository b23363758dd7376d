import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AccountingReader } from '../../../src/accounting/store';
import { writeAll } from '../../../src/cli/records/accounts';
import { Accounts } from '../../../src/report/records/accounts';
import { historyOf, jobsIn } from '../../../src/cli/records/find';
import type { JobRecord } from '../../../src/record/record';
import { nextRequests } from '../../../src/report/advice/next-request';
import { loadRules } from '../../../src/report/rules/rule-set';
import { bracketOf } from '../../support/records';
import { memoryReader } from '../../accounting/memory-reader';
import { CsvWriter } from '../../../src/report/records/csv';
import { fakeTerminal } from '../fake-terminal';
import { mpiMaster, mpiTask, ordinary } from '../../report/sample-records';

function run(job: number, hour: number, more: Partial<JobRecord> = {}): JobRecord {
  const at = (minute: number): string => new Date(Date.UTC(2026, 10, 20, hour, minute)).toISOString();
  const times = { submitted_at: at(0).replace(/T\d+/, 'T00'), started_at: at(1), ended_at: at(9) };
  return { ...ordinary, job_id: job, run_id: `a.${hour}.1`, ...times, ...more };
}

const NOW = new Date('2026-11-21T12:00:00Z');

describe('Accounts', () => {
  it('numbers each record among all runs of its job in all stores, with a query per store and one for those that ran again', async () => {
    const [first, second, third] = [run(1, 1), run(1, 2), run(1, 3)];
    const other = run(2, 5);
    const elsewhere = run(1, 4, { cluster: 'elsewhere' });
    const asked: (readonly number[])[] = [];
    const readers = [
      [first, third, other],
      [second, third, elsewhere],
    ].map((records) => {
      const reader = memoryReader(records);
      return { ...reader, jobs: (numbers: readonly number[]) => (asked.push(numbers), reader.jobs(numbers)) };
    });
    const shown = [third, other, elsewhere, second];
    const judging = { rules: await loadRules(''), kindOf: () => null };
    const accounts = new Accounts(jobsIn(readers), historyOf(readers, NOW), judging);
    const found = await accounts.of(shown);
    assert.deepEqual(
      found.map(({ record, attempt }) => [record, attempt]),
      [
        [third, 3],
        [other, 1],
        [elsewhere, 1],
        [second, 2],
      ],
    );
    assert.deepEqual(asked, [[1, 2], [1, 2], [1], [1]]);
    const known = found.map(({ next_time: next }) => [next?.risk != null && next.risk > 0.01, next?.runs]);
    assert.deepEqual(known, [
      [true, 4],
      [true, 4],
      [false, null],
      [true, 4],
    ]);
    assert.deepEqual(await accounts.of([]), []);
  });

  it('gives the tasks of a parallel job the same answers together as one by one', async () => {
    const parts = [mpiMaster(2), mpiTask(1), mpiTask(2)];
    const reader = memoryReader([...parts, run(1, 1)]);
    const judging = { rules: await loadRules(''), kindOf: () => null };
    const accounts = new Accounts(jobsIn([reader]), historyOf([reader], NOW), judging);
    const together = await accounts.of([...parts, run(1, 1)]);
    const apart = [];
    for (const part of [...parts, run(1, 1)]) apart.push(...(await accounts.of([part])));
    assert.deepEqual(apart, together);
    assert.equal(new Set(together.slice(0, 3).map(({ next_time: next }) => next?.request_bytes)).size, 1);
  });
});

describe('what to request next', () => {
  const hold = (gib: number): Partial<JobRecord> => {
    const peak = bracketOf(gib * 2 ** 30, gib * 2 ** 30);
    return { peak_rss: peak, peak_rss_swap: peak, peak_process_vmem: peak, peak_vmem: peak };
  };
  const tasks = [1, 2].map((task) =>
    run(9, task, { task_id: task, run_id: `t.${task}`, queue: task === 1 ? 'small.q' : 'large.q', ...hold(2) }),
  );
  const before = Array.from({ length: 40 }, (_, index) =>
    run(100 + index, index % 20, { queue: index < 20 ? 'small.q' : 'large.q', ...hold(index < 20 ? 3 : 9) }),
  );
  const again = [1, 2].map((attempt) => run(8, attempt, { job_name: 'other', ...hold(attempt === 1 ? 6 : 2) }));
  const reader = memoryReader([...before, ...tasks, ...again]);

  async function listed(records: readonly JobRecord[]): Promise<readonly unknown[]> {
    const judging = { rules: await loadRules(''), kindOf: () => null };
    const accounts = new Accounts(jobsIn([reader]), historyOf([reader], NOW), judging);
    return (await accounts.of(records)).map(({ next_time: next }) => next?.request_bytes);
  }

  for (const [what, records, different] of [
    ['an array task', tasks, 2],
    ['a run after another, with what that needed,', again, 1],
  ] as const)
    it(`is the same for ${what} listed alone, with others, and on its own screen`, async () => {
      const apart = [...(await listed(records.slice(0, 1))), ...(await listed(records.slice(1)))];
      assert.equal(new Set(apart).size, different);
      assert.deepEqual(await listed(records), apart);
      assert.deepEqual((await listed(records.toReversed())).toReversed(), apart);
      const { records: runs } = await reader.job({ job_id: records[0]?.job_id ?? 0 });
      const shown = nextRequests(await historyOf([reader], NOW).advise(runs));
      assert.deepEqual(
        shown.map(({ next_time: next }) => next?.request_bytes),
        apart,
      );
    });
});

describe('writeAll', () => {
  it('writes a page before it reads the next', async () => {
    const reader = memoryReader([run(1, 1), run(2, 2), run(3, 3)]);
    const terminal = fakeTerminal();
    const linesOf = (text: string): number => text.split('\n').length - 1;
    const before: number[] = [];
    const watched: AccountingReader = {
      ...reader,
      async *pages(query) {
        for await (const page of reader.pages(query)) {
          if (query.fields === undefined) before.push(linesOf(terminal.output()));
          yield { ...page, shown: 'own' };
        }
      },
    };
    const sources = { readers: [watched], history: historyOf([reader], NOW), rules: await loadRules('') };
    const output = { writer: new CsvWriter(), terminal };
    assert.equal(await writeAll({ since: 0, until: NOW.getTime() }, sources, output), 3);
    // The lines include the header.
    assert.deepEqual(before, [0, 2, 3]);
    assert.equal(linesOf(terminal.output()), 4);
    // One warning, although every page is restricted.
    assert.equal(linesOf(terminal.warnings()), 1);
  });
});
