import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import type { Database } from 'better-sqlite3';
import { migrate } from '../../../../src/accounting/migrations';
import { createWords } from '../../../../src/accounting/sqlite/database/dictionary';
import { OLD_RECORDS, OLD_SERIES } from '../../../../src/accounting/sqlite/upkeep';
import {
  endsQuery,
  fullestQuery,
  newestJobsQuery,
  newestQuery,
  sumsQuery,
} from '../../../../src/accounting/sqlite/read/job-lines';
import {
  FIND_RECORD,
  jobQuery,
  jobsQuery,
  FIRST_ROLLED_DAY,
  LAST_ROLLED_DAY,
  largestQuery,
  MARK_JOB_HOURS,
  recordsQuery,
  runningQuery,
} from '../../../../src/accounting/sqlite/read/queries';
import { LARGEST_LISTS } from '../../../../src/accounting/sqlite/read/largest';
import { IDS_OF_JOB, PARALLEL, tasksQuery } from '../../../../src/accounting/sqlite/read/tasks';
import { earlierQuery, factsQuery } from '../../../../src/accounting/sqlite/sums/record-facts';
import {
  repeatedJobsQuery,
  CHANGED_HOURS,
  DAYS_OF_KEY,
  DAYS_OF_KINDS,
  OWN_KINDS_LIKE,
  groupsQuery,
  KEYS_WITHIN,
  rolledQuery,
  valuesQuery,
  STALE_DAYS,
  SUMMED_DAYS,
  SUMMED_PERIODS,
} from '../../../../src/accounting/sqlite/sums/rolled-rows';
import { COLUMNS } from '../../../../src/accounting/row';
import { conditionOf } from '../../../../src/accounting/sqlite/read/record-filter';
import type { Condition } from '../../../../src/accounting/sqlite/read/record-filter';
import { DIMENSIONS, type Dimension } from '../../../../src/accounting/summary';
import type { RecordFilter } from '../../../../src/accounting/store';
import { SqliteDatabase } from '../../../../src/native/sqlite';

function emptyStore(t: TestContext): Database {
  const db = new SqliteDatabase(':memory:');
  t.after(() => db.close());
  migrate(db);
  for (const table of ['cluster', 'owner', 'project', 'queue', 'host', 'pe', 'job_name'])
    db.prepare(`INSERT INTO ${table} (name) VALUES ('known')`).run();
  return db;
}

/** Values for the named parameters of all queries. */
const PARAMETERS = Object.fromEntries(
  [
    ...['job_id', 'task_id', 'pe_task_id', 'cluster_id', 'host_id', 'run_id', 'from', 'to', 'since', 'until', 'limit'],
    ...['after', 'day', 'first', 'end', 'key', 'cluster', 'dimension', 'earliest', 'unit', 'days', 'keys'],
    ...['glob', 'jobs', 'most', 'ids', 'job', 'same0', 'sort'],
  ].map((name) => [name, 1]),
);

function planOf(db: Database, sql: string, more: object = {}): readonly string[] {
  const places = sql.match(/\?/g)?.length ?? 0;
  const statement = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
  const plan =
    places > 0 ? statement.all(...Array.from({ length: places }, () => 1)) : statement.all({ ...PARAMETERS, ...more });
  return plan.map(({ detail }) => detail);
}

/** Asserts that the index is used and no table is read from end to end, except job names for a pattern. */
function assertSearches(steps: readonly string[], index: string): void {
  assert.ok(
    steps.some((step) => step.startsWith('SEARCH') && step.includes(` ${index}`)),
    steps.join('; '),
  );
  assert.deepEqual(
    steps.filter(
      (step) =>
        step.startsWith('SCAN') &&
        !step.startsWith('SCAN json_each') &&
        !step.startsWith('SCAN (subquery-') &&
        // Jobs that were already found.
        step !== 'SCAN j' &&
        step !== 'SCAN n USING COVERING INDEX sqlite_autoindex_job_name_1',
    ),
    [],
    steps.join('; '),
  );
}

const ALL = { keys: true, cluster: true };

describe('an index answers the query for', () => {
  const queries: readonly (readonly [string, string, string])[] = [
    ['a record to merge into', FIND_RECORD, 'record_by_job (job_id=? AND task_id=? AND pe_task_id=?)'],
    ['the hours of a job', MARK_JOB_HOURS, 'record_by_job (job_id=? AND task_id=?)'],
    ['a job', jobQuery({ task: false, cluster: false, series: true }), 'record_by_job (job_id=?)'],
    ['many jobs', jobsQuery(COLUMNS), 'record_by_job (job_id=?)'],
    ['whether a job is parallel', PARALLEL, 'record_by_job (job_id=?)'],
    ['the tasks of an array', IDS_OF_JOB, 'record_by_job (job_id=?)'],
    ['some of its tasks', tasksQuery(['status', 'cpu_ms'], ['slots']), 'INTEGER PRIMARY KEY (rowid=?)'],
    ['a job of a cluster', jobQuery({ task: false, cluster: true, series: false }), 'record_by_job (job_id=?)'],
    ['a task', jobQuery({ task: true, cluster: false, series: true }), 'record_by_job (job_id=? AND task_id=?)'],
    ['running jobs', runningQuery(false), 'record_running'],
    ['running jobs of a cluster', runningQuery(true), 'record_running'],
    ['old records', OLD_RECORDS, 'record_by_time (counted_at<?)'],
    ['old series', OLD_SERIES, 'record_by_time (counted_at>? AND counted_at<?)'],
    ['the days of a host', DAYS_OF_KEY, 'PRIMARY KEY (dimension=? AND key=? AND unit=? AND day>? AND day<?)'],
    ["the days of an owner's kinds of jobs", DAYS_OF_KINDS, 'PRIMARY KEY (unit=? AND day=? AND dimension=? AND key=?)'],
  ];
  for (const [title, sql, index] of queries)
    it(title, (t) => {
      assertSearches(planOf(emptyStore(t), sql), index);
    });

  it('sums of days', (t) => {
    const db = emptyStore(t);
    const has = (steps: readonly string[], part: string): void => {
      assert.ok(
        steps.some((step) => step.startsWith('SEARCH') && step.includes(part)),
        steps.join('; '),
      );
      assert.deepEqual(
        steps.filter((step) => step.startsWith('SCAN') && !step.startsWith('SCAN json_each')),
        [],
      );
    };
    for (const cluster of [false, true]) {
      const choice = { keys: false, cluster };
      for (const sql of [rolledQuery(choice), groupsQuery(choice)])
        has(planOf(db, sql), 'u USING PRIMARY KEY (unit=? AND day=? AND dimension=?)');
    }
    has(
      planOf(db, rolledQuery(ALL)),
      'u USING PRIMARY KEY (unit=? AND day=? AND dimension=? AND key=? AND cluster_id=?)',
    );
    has(
      planOf(db, rolledQuery(ALL)),
      'b USING PRIMARY KEY (dimension=? AND key=? AND unit=? AND day=? AND cluster_id=?)',
    );
    has(
      planOf(db, valuesQuery('records', ALL)),
      'u USING PRIMARY KEY (unit=? AND day=? AND dimension=? AND key=? AND cluster_id=?)',
    );
    for (const sql of [KEYS_WITHIN, OWN_KINDS_LIKE])
      has(planOf(db, sql), 'sqlite_autoindex_rollup_key_1 (name>? AND name<?)');
    has(planOf(db, repeatedJobsQuery(ALL)), 'rollup_again_by_day (unit=? AND day=? AND dimension=? AND key=?)');
    has(planOf(db, SUMMED_PERIODS), 'PRIMARY KEY (dimension=? AND key=? AND unit=? AND day>? AND day<?)');
    has(planOf(db, LARGEST_LISTS), 'l USING PRIMARY KEY (day=? AND dimension=? AND key=? AND sort=?)');
    for (const sql of [STALE_DAYS, CHANGED_HOURS, SUMMED_DAYS, FIRST_ROLLED_DAY, LAST_ROLLED_DAY])
      assert.ok(
        planOf(db, sql).every((step) => !step.startsWith('SCAN') && !step.startsWith('SCAN json_each')),
        sql,
      );
  });

  const filters: readonly (readonly [string, Partial<RecordFilter>, string])[] = [
    ['any record', {}, 'record_by_time'],
    ["an owner's records", { owner: 'known' }, 'record_by_owner'],
    ["an owner's failed records on a host", { owner: 'known', host: 'known', failed: true }, 'record_by_owner'],
    ["a host's records", { host: 'known', cluster: 'known' }, 'record_by_time'],
    ['the records of a project in a queue', { project: 'known', queue: 'known', pe: 'known' }, 'record_by_time'],
    ['the records with a job name', { job_name: 'known' }, 'record_by_time'],
    ['the records with a pattern of names', { job_name: 'kn*' }, 'record_by_time'],
    ["an owner's records with a pattern of names", { owner: 'known', job_name: 'kn*' }, 'record_by_owner'],
    [
      'the records with given figures',
      {
        peak_at_least: 1,
        limit_at_most: 1,
        share_at_least: 0.1,
        wallclock_at_least: 1,
        states: ['finished', 'lost'],
        sampled: true,
      },
      'record_by_time',
    ],
  ];
  for (const [title, filter, index] of filters)
    it(title, (t) => {
      const db = emptyStore(t);
      const condition: Condition =
        conditionOf({ since: 0, until: 1, ...filter }, createWords(db)) ?? assert.fail('nothing is known');
      for (const sql of [
        recordsQuery(condition, COLUMNS),
        largestQuery(condition, 'unused'),
        newestQuery(condition),
        newestJobsQuery(condition),
        factsQuery(condition, DIMENSIONS),
        earlierQuery(condition, DIMENSIONS),
      ])
        assertSearches(planOf(db, sql, condition.parameters), index);
      for (const sql of [sumsQuery, fullestQuery, endsQuery])
        assertSearches(planOf(db, sql(condition), condition.parameters), 'record_by_job');
    });
});

it("compares a pattern with the names of an owner's records, not with all names of the store", (t) => {
  const db = emptyStore(t);
  const namesOf = (filter: Partial<RecordFilter>): readonly string[] => {
    const condition = conditionOf({ since: 0, until: 1, job_name: 'kn*', ...filter }, createWords(db)) ?? assert.fail();
    const plan = planOf(db, recordsQuery(condition, COLUMNS), condition.parameters);
    return plan.filter((step) => /^(SEARCH|SCAN) n /.test(step));
  };
  assert.deepEqual(namesOf({ owner: 'known' }), ['SEARCH n USING INTEGER PRIMARY KEY (rowid=?)']);
  assert.match(namesOf({}).join(), /COVERING INDEX sqlite_autoindex_job_name_1/);
});

it('lists the newest records first without sorting', (t) => {
  const db = emptyStore(t);
  for (const [filter, index] of [
    [{ owner: 'known' }, 'record_by_owner (owner_id=? AND counted_at>? AND counted_at<?)'],
    [{}, 'record_by_time (counted_at>? AND counted_at<?)'],
  ] as const) {
    const condition = conditionOf({ since: 0, until: 1, ...filter }, createWords(db)) ?? assert.fail();
    assert.deepEqual(planOf(db, recordsQuery(condition, COLUMNS), condition.parameters), [
      `SEARCH r USING INDEX ${index}`,
    ]);
    const sorts = (dimensions: readonly Dimension[]): number =>
      planOf(db, factsQuery(condition, dimensions), condition.parameters).filter((step) => step.includes('TEMP B-TREE'))
        .length;
    assert.equal(sorts(DIMENSIONS.filter((name) => name !== 'job_name')), 0);
    // Of the few masters of a job, if a slave task has no name.
    assert.equal(sorts(DIMENSIONS), 1);
  }
});
