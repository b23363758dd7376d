import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AccountingReader } from '../../../src/accounting/store';
import { writeAll } from '../../../src/cli/records/accounts';
import { Accounts } from '../../../src/report/records/accounts';
import { historyOf, jobsIn } from '../../../src/cli/records/find';
import type { JobRecord } from '../../../src/record/record';
import { loadRules } from '../../../src/report/rules/rule-set';
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
  it('numbers each record among all runs of its job in all stores, with one query per store', async () => {
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
    assert.deepEqual(asked, [
      [1, 2],
      [1, 2],
    ]);
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
