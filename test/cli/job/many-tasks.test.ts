import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { openSqliteReader, openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { AccountingReader } from '../../../src/accounting/store';
import { anything, check, list, nullable, object } from '../../../src/base/shape';
import { showJobs, type JobOptions } from '../../../src/cli/commands/job';
import type { Sources } from '../../../src/cli/stores/stores';
import { recordKeyText, type JobRecord } from '../../../src/record/record';
import { bracketOf } from '../../support/records';
import { temporaryStore } from '../../accounting/temporary-store';
import { BAD_ENDS, modest } from '../../report/bad-ends';
import { killedAtLimit, mpiMaster, mpiTask, ordinary, reserving, wellWatched } from '../../report/sample-records';
import { fakeTerminal } from '../fake-terminal';

process.env.TZ = 'Europe/Berlin';

const JOB = 9100;
const TASKS = 1010;
const kinds: readonly JobRecord[] = [
  ordinary,
  modest,
  killedAtLimit,
  reserving,
  wellWatched,
  ...Object.values(BAD_ENDS),
];
const series = { start: '2026-11-20T13:00:00.000Z', step_seconds: 10, rss_bytes: [1, 2], others: {} };

function task(of: JobRecord, number: number): JobRecord {
  return {
    ...of,
    job_id: JOB,
    task_id: number,
    run_id: `${number}.${of.run_id}`,
    submitted_at: ordinary.submitted_at,
    program: 'a1.b1',
    series,
  };
}

const large = bracketOf(60 * 2 ** 30, 60 * 2 ** 30);
/** Jobs of the same name that run another program, which needs more. */
const others = Array.from({ length: 60 }, (_, index): JobRecord => ({
  ...ordinary,
  ...{ job_id: index + 1, run_id: `other.${index}`, program: 'a2.b2' },
  ...{ peak_rss: large, peak_rss_swap: large, peak_process_vmem: large },
}));

/** An array job, one task of which ran on two hosts, and two tasks of one that had the same number a year before. */
const records: readonly JobRecord[] = [
  ...Array.from({ length: TASKS }, (_, index) => task(kinds[index % kinds.length] ?? ordinary, index + 1)),
  ...[mpiMaster(2), mpiTask(1), mpiTask(2)].map((record) => task(record, TASKS + 1)),
  ...[1, 2].map((number): JobRecord => ({
    ...task(modest, number),
    run_id: `old.${number}`,
    submitted_at: '2025-11-20T12:00:00.000Z',
    started_at: '2025-11-20T12:00:01.000Z',
    ended_at: '2025-11-20T12:10:00.000Z',
  })),
];

const path = temporaryStore();

before(async () => {
  const store = openSqliteStore(path, 0o600);
  assert.ok((await store.merge([...records, ...others])).every(({ ok }) => ok));
  await store.close();
});

interface Shown {
  readonly output: string;
  /** Whether all fields of all records were read at once. */
  readonly atOnce: boolean;
}

/** `whole`: the store always reads whole records, never few fields. */
async function show(options: Partial<JobOptions>, whole: boolean): Promise<Shown> {
  const reader = openSqliteReader(path);
  let atOnce = false;
  const wrapped: AccountingReader = {
    ...reader,
    job: async ({ most_whole: most, fields, ...query }) => {
      const answer = await reader.job(
        whole || most === undefined ? query : { ...query, most_whole: most, ...(fields && { fields }) },
      );
      atOnce ||= answer.records.some(({ record }) => record.peak_vmem !== null);
      return answer;
    },
  };
  const sources: Sources = {
    open: () => Promise.resolve(wrapped),
    askServer: () => Promise.reject(new Error('there is none')),
    gridEngine: () => Promise.reject(new Error('there is none')),
    running: () => Promise.resolve([]),
  };
  const terminal = fakeTerminal();
  const asked = { config: '/nonexistent.toml', color: false, accounting: path, ...options };
  assert.equal(await showJobs([String(JOB)], asked, terminal, sources), 0);
  return { output: terminal.output(), atOnce };
}

const items = list(anything, 1e6);
const answer = object({ records: items, sums: nullable(items), causes: nullable(items), arrays: nullable(items) });

const texts = (items: readonly unknown[]): readonly string[] =>
  items.map((one) => JSON.stringify({ ...(one as object), series: null, together_rss_bytes: null })).sort();

/** The lists of an answer, without series, whatever their order. */
function parts(output: string): { readonly records: readonly string[]; readonly rest: object } {
  const read = check(answer, JSON.parse(output), 'the answer');
  assert.ok(read.ok);
  const { records: found, ...rest } = read.value;
  return { records: texts(found), rest: Object.entries(rest).map(([name, items]) => [name, texts(items ?? [])]) };
}

describe('a job of more than a thousand tasks', () => {
  for (const options of [{}, { full: true }, { tasks: true }, { worst: '7' }, { failed: true }, { all: true }] as const)
    it(`has the same screen from the fields it needs as from whole records: ${JSON.stringify(options)}`, async () => {
      const few = await show(options, false);
      assert.equal(few.output, (await show(options, true)).output);
      assert.match(few.output, /1,011 tasks/);
      assert.equal(few.atOnce, false);
    });

  for (const options of [{ json: true }, { json: true, all: true }, { json: true, failed: true }] as const)
    it(`is the same in JSON written page by page as at once: ${JSON.stringify(options)}`, async () => {
      const [paged, whole] = [await show(options, false), await show(options, true)];
      assert.deepEqual([paged.atOnce, whole.atOnce], [false, true]);
      const [a, b] = [parts(paged.output), parts(whole.output)];
      assert.deepEqual(a.records, b.records);
      assert.deepEqual(a.rest, b.rest);
      assert.ok(a.records.length >= 100);
    });

  it('is the same in CSV written page by page as at once', async () => {
    const [paged, whole] = [await show({ csv: true }, false), await show({ csv: true }, true)];
    assert.deepEqual(paged.output.split('\n').sort(), whole.output.split('\n').sort());
    assert.equal(paged.atOnce, false);
  });

  it('keeps the order of its worst tasks in JSON', async () => {
    const worst = { json: true, worst: '5' } as const;
    const keys = async (whole: boolean): Promise<readonly string[]> => {
      const read = check(answer, JSON.parse((await show(worst, whole)).output), 'the answer');
      assert.ok(read.ok);
      return read.value.records.map((one) => recordKeyText(one as JobRecord));
    };
    assert.deepEqual(await keys(false), await keys(true));
  });

  it('has the series of a task that is read alone, and leaves an older job of its number whole', async () => {
    const reader = openSqliteReader(path);
    const few = { job_id: JOB, most_whole: 1000, fields: ['host'] as const };
    const [one] = (await reader.job({ ...few, task_id: 3 })).records;
    assert.deepEqual(one?.record.series, series);
    await reader.close();
    const { output } = await show({ at: '2025-12-01' }, false);
    assert.match(output, /2 tasks/);
    assert.match(output, /1 newer job had this number/);
  });
});
