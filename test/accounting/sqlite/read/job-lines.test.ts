import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jobLineOf, endOrStart, type JobLine } from '../../../../src/accounting/job-line';
import { openSqliteHistory } from '../../../../src/accounting/sqlite/sqlite-history';
import { openSqliteStore } from '../../../../src/accounting/sqlite/sqlite-store';
import type { AccountingStore, JobLinesWanted, RecordFilter } from '../../../../src/accounting/store';
import type { JobRecord } from '../../../../src/record/record';
import { toJobLines } from '../../../../src/report/records/lines';
import { LIST_FIELDS } from '../../../../src/report/records/list';
import { firstWaits } from '../../../../src/report/records/waits';
import { accountOf, bracketOf } from '../../../support/records';
import { DAY, GIB, HOUR, iso, job, LARGEST_VALUES, T0 } from '../../suite/fixture';
import { temporaryStore } from '../../temporary-store';

const QUERY = { since: T0 - DAY, until: T0 + DAY };
const WANTED: JobLinesWanted = {
  jobs: 50,
  waits: true,
  least: 500,
  limit: 10_000,
  fields: LIST_FIELDS,
};

const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null });

/** What records differ in; times and peaks also differ by the record's index. */
const part = fc.record({
  job_id: fc.integer({ min: 1, max: 4 }),
  task_id: orNull(fc.integer({ min: 1, max: 5 })),
  status: fc.constantFrom('finished', 'finished', 'running', 'lost', 'unsampled'),
  exit_status: fc.constantFrom(0, 0, 1, 137, null),
  signal: fc.constantFrom(0, 0, 9, null),
  failed: fc.constantFrom(0, null, 100),
  host: fc.constantFrom('node1', 'node2'),
  owner: fc.constantFrom('bob', 'bob', 'eve', null),
  job_name: fc.constantFrom('sim', null),
  queue: fc.constantFrom('all.q', 'long.q@node1', null),
  pe: fc.constantFrom(null, null, 'smp'),
  slots: orNull(fc.integer({ min: 1, max: 4 })),
  host_slots: orNull(fc.integer({ min: 1, max: 4 })),
  wallclock_seconds: orNull(fc.integer({ min: 0, max: 5000 }).map((ms) => ms / 1000)),
  suspended_seconds: fc.constantFrom(null, 0, 1.25, 9),
  cpu_seconds: orNull(fc.integer({ min: 0, max: 5000 }).map((ms) => ms / 1000)),
  h_vmem: orNull(
    fc
      .constantFrom(0, GIB, 4 * GIB)
      .map((bytes) => ({ request_bytes: bytes, limit_bytes: bytes, per: 'slot' as const })),
  ),
  requests: fc.constantFrom({}, {
    mem_free: { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' },
  } satisfies JobRecord['requests']),
  peak: orNull(fc.integer({ min: 0, max: 5 * GIB })),
  grid_engine: orNull(fc.integer({ min: 0, max: GIB }).map((bytes) => accountOf({ maxvmem_bytes: bytes }))),
});

function recordsOf(
  parts: readonly (typeof part extends fc.Arbitrary<infer Part> ? Part : never)[],
): readonly JobRecord[] {
  return parts.map(({ peak, ...fields }, index) => {
    const ended = T0 - index * 60_000;
    const hasEnded = fields.status === 'finished' || fields.status === 'unsampled';
    return job(fields.job_id, ended, {
      ...fields,
      trust: fields.job_id === 4 ? 'self-reported' : 'root',
      run_id: `0badcafe.${index}.1`,
      submitted_at: iso(T0 - 10 * HOUR + 300 * (index % 3)),
      started_at: iso(ended - HOUR),
      ended_at: hasEnded ? iso(ended) : null,
      peak_rss: peak === null ? null : bracketOf(peak * 100 + index),
    });
  });
}

async function storeOf(records: readonly JobRecord[]): Promise<AccountingStore> {
  const store = openSqliteStore(temporaryStore(), 0o640);
  for (const outcome of await store.merge(records)) assert.ok(outcome.ok);
  return store;
}

const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));

/** Asserts that two lines are the same, except for the last digits of sums, which depend on the order of addition. */
function assertSame(line: JobLine, expected: JobLine): void {
  const { cpu_seconds, slot_seconds, unused_byte_seconds, ...rest } = expected;
  for (const [name, value] of Object.entries({ cpu_seconds, slot_seconds, unused_byte_seconds })) {
    const own = line[name as 'cpu_seconds'];
    assert.ok(own === value || (own !== null && value !== null && near(own, value)), `${name}: ${own}, not ${value}`);
  }
  assert.deepEqual(
    { ...line, cpu_seconds: 0, slot_seconds: 0, unused_byte_seconds: 0 },
    {
      ...rest,
      cpu_seconds: 0,
      slot_seconds: 0,
      unused_byte_seconds: 0,
    },
  );
}

describe('jobLineOf', () => {
  it('counts the same unused memory as the sums, also of parallel jobs and by maxvmem', async () => {
    const peak = (gib: number): Partial<JobRecord> => ({ pe: 'mpi', peak_rss: bracketOf(gib * GIB) });
    const task = (id: string, host: string): Partial<JobRecord> => ({ ...peak(3), pe_task_id: id, host });
    const counted = { peak_rss: null, grid_engine: accountOf({ maxvmem_bytes: 2 * GIB }) };
    const records = [
      ...[job(1, T0, peak(1)), job(1, T0, task('1.node1', 'node1')), job(1, T0, task('1.node2', 'node2'))],
      ...[job(2, T0, counted), job(3, T0)],
    ];
    const { totals } = await (await storeOf(records)).summary({ ...QUERY, by: 'day' });
    const lines = toJobLines(records, 'unused');
    assert.deepEqual(
      lines.map((line) => [line[0].job_id, (jobLineOf(line).unused_byte_seconds ?? NaN) / 3600 / GIB]),
      [
        [1, 9],
        [3, 7],
        [2, 6],
      ],
    );
    assert.equal(totals.unused_gib_hours + totals.unused_by_grid_engine_gib_hours, 22);
  });
});

describe('jobLines of SQLite', () => {
  it('has one line of an array if some submissions are in whole seconds', async () => {
    const task = (id: number, submitted: number): JobRecord =>
      job(1, T0 - id * HOUR, {
        task_id: id,
        submitted_at: iso(T0 - 10 * HOUR + submitted),
        run_id: `0badcafe.${id}.1`,
      });
    const records = [task(1, 654), task(2, 0)];
    const found = await (await storeOf(records)).jobLines?.(QUERY, WANTED);
    assert.deepEqual([found?.lines.map(({ tasks }) => tasks), toJobLines(records, 'time').length], [[2], 1]);
  });

  it('has the same lines and totals as the records themselves', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 12 }), async (parts) => {
        const store = await storeOf(recordsOf(parts));
        const found = await store.jobLines?.(QUERY, WANTED);
        const { records, totals } = await store.records({ ...QUERY, limit: 100, fields: LIST_FIELDS });
        const read = records.map(({ record }) => record);
        const byJob = ({ latest }: JobLine): number => latest.job_id;
        const expected = toJobLines(read, 'time')
          .map(jobLineOf)
          .sort((a, b) => byJob(a) - byJob(b));
        assert.ok(found);
        const lines = found.lines.toSorted((a, b) => byJob(a) - byJob(b));
        assert.equal(lines.length, expected.length);
        for (const [index, line] of lines.entries()) assertSame(line, expected[index] ?? assert.fail());
        assert.deepEqual([...found.waits].sort(byWait), [...firstWaits(read)].sort(byWait));
        assert.deepEqual([found.read, found.totals], [read.length, totals]);
        const unread = await store.jobLines?.(QUERY, { ...WANTED, least: 0 });
        assert.deepEqual([unread?.lines, unread?.read], [found.lines, 0], 'the same jobs if no record is read singly');
        await store.close();
      }),
      { numRuns: 60 },
    );
  });

  it('has the newest jobs first, up to the wanted number, each with all of its records', async () => {
    const tasks = Array.from({ length: 6 }, (_, index) =>
      job(2, T0 - index * HOUR, { task_id: index + 1, run_id: `r${index}`, submitted_at: iso(T0 - 10 * HOUR) }),
    );
    const store = await storeOf([...tasks, job(1, T0 - HOUR / 2), job(3, T0 - 9 * HOUR)]);
    for (const least of [0, 1, 500]) {
      const found = await store.jobLines?.(QUERY, { ...WANTED, jobs: 2, least });
      assert.deepEqual(
        found?.lines.map(({ latest, records }) => [latest.job_id, endOrStart(latest), records]),
        [
          [2, iso(T0), 6],
          [1, iso(T0 - HOUR / 2), 1],
        ],
      );
      assert.equal(found.totals.records, 8);
    }
  });

  it('adds up the largest values that a user may hand in', async () => {
    // Slots times ms is below 2^63 for each record, and above for both together.
    const fields = { trust: 'self-reported', ...LARGEST_VALUES, wallclock_seconds: 9e9 } as const;
    const store = await storeOf([1, 2].map((task_id) => job(1, T0, { ...fields, task_id })));
    const found = await store.jobLines?.(QUERY, WANTED);
    assert.deepEqual(
      found?.lines.map(({ slot_seconds }) => slot_seconds),
      [2 * 9e9 * 1e6],
    );
  });

  it('has totals with days whose records were pruned', async (t) => {
    const store = openSqliteHistory(temporaryStore(), 0o640);
    t.after(() => store.close());
    await store.merge([0, 1, 2, 3].map((day) => job(day + 1, T0 + day * DAY)));
    await store.rollUp({});
    await store.prune({ records: 2, series: 0, rollups: 0 }, T0 + 4 * DAY, {});
    const found = await store.jobLines?.({ since: T0, until: T0 + 4 * DAY }, WANTED);
    assert.deepEqual([found?.lines.length, found?.totals.records], [2, 4]);
  });

  it('is null for a job with slave tasks, which needs its records', async () => {
    const store = await storeOf([job(1, T0), job(1, T0, { pe_task_id: '1.node1', run_id: 'r2' })]);
    const linesOf = async (query: RecordFilter) => store.jobLines?.(query, WANTED);
    assert.equal(await linesOf(QUERY), null);
    assert.deepEqual((await linesOf({ ...QUERY, owner: 'eve' }))?.lines, []);
  });

  it('is null where a job may have been rescheduled, or a user claims another one', async () => {
    const linesOf = async (other: Partial<JobRecord>): Promise<number | undefined> => {
      const store = await storeOf([job(1, T0), job(1, T0 + HOUR, { run_id: 'r2', ...other })]);
      return (await store.jobLines?.(QUERY, WANTED))?.lines.length;
    };
    assert.equal(await linesOf({ submitted_at: iso(T0) }), undefined);
    assert.equal(await linesOf({ submitted_at: null }), undefined);
    assert.equal(await linesOf({ submitted_at: iso(T0 - 100 * DAY) }), 2, 'a number that came round');
    assert.equal(await linesOf({ trust: 'self-reported', owner: 'eve' }), undefined);
  });
});

const byWait = (a: { seconds: number; limit: number; queue: string }, b: typeof a): number =>
  a.seconds - b.seconds || a.limit - b.limit || (a.queue < b.queue ? -1 : 1);
