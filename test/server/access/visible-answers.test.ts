import type { Totals } from '../../../src/record/totals';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { NO_SUMMARY, NO_TOTALS } from '../../../src/accounting/add-summaries';
import type { RecordFilter } from '../../../src/accounting/store';
import { DIMENSIONS } from '../../../src/accounting/summary';
import { recordKeyText, type JobRecord } from '../../../src/record/record';
import { HIDDEN } from '../../../src/record/hidden';
import { isShown, showsNames, type Access } from '../../../src/server/access/access';
import { visibleRecords, visibleSummary } from '../../../src/server/access/visible-answers';
import { memoryReader } from '../../accounting/memory-reader';
import { ordinary } from '../../report/sample-records';

const OWNERS = ['alice', 'bob', 'carol', null] as const;
const PROJECTS = ['genome', 'proteins', 'NONE', null] as const;
const NAMES = ['align', 'train', 'secret-of-bob'] as const;

const anyRecord = fc
  .record({
    owner: fc.constantFrom(...OWNERS),
    project: fc.constantFrom(...PROJECTS),
    job_name: fc.constantFrom(...NAMES),
    host: fc.constantFrom('node01', 'node02'),
    wallclock_seconds: fc.integer({ min: 0, max: 100_000 }),
    cpu_seconds: fc.integer({ min: 0, max: 100_000 }),
    exit_status: fc.constantFrom(0, 1),
  })
  .map((changes): JobRecord => ({ ...ordinary, ...changes }));

const anyRecords = fc
  .array(anyRecord, { maxLength: 25 })
  .map((records) => records.map((record, index): JobRecord => ({ ...record, job_id: index + 1 })));

const anyAccess: fc.Arbitrary<Access> = fc.oneof(
  fc.constant<Access>({ level: 'all' }),
  fc.record({
    level: fc.constantFrom('anonymous' as const, 'own' as const),
    user: fc.constantFrom('alice', 'bob', null),
  }),
  fc.record({
    level: fc.constant('project' as const),
    user: fc.constantFrom('alice', 'bob', null),
    projects: fc.subarray(['genome', 'proteins', 'elsewhere']),
    named: fc.boolean(),
  }),
);

const ALWAYS = { since: 0, until: Date.UTC(2030, 0) };

const anyFilter: fc.Arbitrary<RecordFilter> = fc
  .record(
    {
      owner: fc.constantFrom('alice', 'bob', 'nobody'),
      project: fc.constantFrom('genome', 'proteins', 'NONE'),
      job_name: fc.constantFrom('*', 'align', 'secret*'),
      name_class: fc.constantFrom('align', 'secret-of-bob'),
      host: fc.constantFrom('node01'),
      failed: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  .map((choice) => ({ ...ALWAYS, ...choice }));

/** The records that a caller may see for a filter, chosen one by one. */
function expected(records: readonly JobRecord[], filter: RecordFilter, access: Access): readonly JobRecord[] {
  const known = (record: JobRecord): boolean =>
    showsNames(access) || (access.level !== 'all' && access.user !== null && record.owner === access.user);
  const name = filter.job_name?.replace('*', '') ?? '';
  return records.filter(
    (record) =>
      isShown(record, access) &&
      (filter.owner === undefined || (record.owner === filter.owner && known(record))) &&
      (filter.project === undefined || record.project === filter.project) &&
      (filter.host === undefined || record.host === filter.host) &&
      (filter.failed === undefined || (record.exit_status !== 0) === filter.failed) &&
      (filter.name_class === undefined || (record.job_name === filter.name_class && known(record))) &&
      (filter.job_name === undefined || (known(record) && (record.job_name ?? '').startsWith(name))),
  );
}

const rounded = (totals: Totals): Totals =>
  Object.fromEntries(Object.entries(totals).map(([name, value]) => [name, Number(value.toFixed(6))])) as Record<
    keyof Totals,
    number
  >;

async function plainTotals(records: readonly JobRecord[]): Promise<Totals> {
  return (await memoryReader(records).records(ALWAYS)).totals;
}

describe('visibleRecords', () => {
  it('gives each record that the caller may see once, and totals of these only', async () => {
    await fc.assert(
      fc.asyncProperty(anyRecords, anyAccess, anyFilter, async (records, access, filter) => {
        const answer = await visibleRecords({ ...filter, limit: 1000 }, access, memoryReader(records));
        const wanted = expected(records, filter, access);
        assert.deepEqual(
          answer.records.map(({ record }) => recordKeyText(record)).toSorted(),
          wanted.map(recordKeyText).toSorted(),
        );
        assert.deepEqual(rounded(answer.totals), rounded(await plainTotals(wanted)));
        if (!showsNames(access))
          for (const { record } of answer.records)
            assert.ok(record.owner === HIDDEN || (access.level !== 'all' && record.owner === access.user));
      }),
      { numRuns: 200 },
    );
  });

  it('keeps the order and the limit over all parts of the answer', async () => {
    const records = [5, 1, 4, 2, 3].map((hours, index) => ({
      ...ordinary,
      job_id: index + 1,
      owner: index % 2 === 0 ? 'alice' : 'bob',
      project: 'genome',
      wallclock_seconds: hours * 3600,
    }));
    const access: Access = { level: 'project', user: 'alice', projects: ['genome'], named: true };
    const query = { ...ALWAYS, sort: 'wallclock', limit: 3 } as const;
    const answer = await visibleRecords(query, access, memoryReader(records));
    assert.deepEqual(
      answer.records.map(({ record }) => (record.wallclock_seconds ?? 0) / 3600),
      [5, 4, 3],
    );
    assert.equal(answer.totals.records, 5);
  });
});

describe('visibleSummary', () => {
  it('sums what the caller may see by any key, and names only whom the caller may know', async () => {
    const by = fc.constantFrom(...DIMENSIONS, 'day' as const, 'cluster' as const);
    await fc.assert(
      fc.asyncProperty(anyRecords, anyAccess, anyFilter, by, async (records, access, filter, key) => {
        const answer = await visibleSummary({ ...filter, by: key }, access, memoryReader(records));
        const wanted = expected(records, filter, access);
        const plain = await memoryReader(wanted).summary({ ...ALWAYS, by: key });
        assert.deepEqual(rounded(answer.totals), rounded(plain.totals));
        assert.deepEqual(answer.shares, plain.shares);
        assert.deepEqual(answer.coverage, plain.coverage);
        const sum = answer.groups.reduce((total, { totals }) => total + totals.records, 0);
        assert.equal(sum, wanted.length);
        if (showsNames(access) || (key !== 'owner' && key !== 'job_name')) {
          const groups = (of: typeof answer): unknown =>
            of.groups.map(({ key: name, totals }) => [name, rounded(totals)]);
          assert.deepEqual(groups(answer), groups(plain));
        } else {
          const own = wanted.filter(
            ({ owner }) => access.level !== 'all' && access.user !== null && owner === access.user,
          );
          const names = new Set(own.map((record) => record[key]));
          for (const { key: name } of answer.groups) assert.ok(name === HIDDEN || names.has(name ?? ''), name ?? '');
        }
      }),
      { numRuns: 200 },
    );
  });

  it('is empty for a stranger who may see nothing', async () => {
    const answer = await visibleSummary(
      { ...ALWAYS, by: 'owner' },
      { level: 'own', user: null },
      memoryReader([ordinary]),
    );
    assert.deepEqual(answer, NO_SUMMARY);
    assert.deepEqual(answer.totals, NO_TOTALS);
  });

  it('sorts the groups after adding them up', async () => {
    const records = ['bob', 'bob', 'carol', 'alice'].map((owner, index) => ({
      ...ordinary,
      job_id: index + 1,
      owner,
      project: 'genome',
    }));
    const access: Access = { level: 'project', user: 'alice', projects: ['genome'], named: true };
    const query = { ...ALWAYS, by: 'owner', sort: 'records', limit: 2 } as const;
    const { groups } = await visibleSummary(query, access, memoryReader(records));
    assert.deepEqual(
      groups.map(({ key, totals }) => [key, totals.records]),
      [
        ['bob', 2],
        ['alice', 1],
      ],
    );
  });
});
