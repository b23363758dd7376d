import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SqliteDatabase } from '../../../src/native/sqlite';
import { migrate } from '../../../src/accounting/migrations';
import { FIND_RECORD, jobQuery, ownerQuery, ownerTotals, runningQuery } from '../../../src/accounting/sqlite/queries';

const QUERIES: readonly (readonly [string, string, string])[] = [
  ['finding a record to merge into', FIND_RECORD, 'record_by_job'],
  ['a job', jobQuery({ task: false, cluster: false }), 'record_by_job'],
  ['a job of a cluster', jobQuery({ task: false, cluster: true }), 'record_by_job'],
  ['a task', jobQuery({ task: true, cluster: false }), 'record_by_job'],
  ['an owner', ownerQuery('time', false), 'record_by_owner'],
  ['an owner, sorted', ownerQuery('unused', true), 'record_by_owner'],
  ["an owner's totals", ownerTotals(false), 'record_by_owner'],
  ["an owner's totals in a cluster", ownerTotals(true), 'record_by_owner'],
  ['what runs', runningQuery(false), 'record_running'],
  ['what runs in a cluster', runningQuery(true), 'record_running'],
];

for (const [title, sql, index] of QUERIES)
  it(`${title}: answered from an index, never by a scan`, (t) => {
    const db = new SqliteDatabase(':memory:');
    t.after(() => db.close());
    migrate(db);
    const parameters = sql.includes('@')
      ? [{ job_id: 1, task_id: 1, cluster_id: 1, owner_id: 1, since: 0, until: 1, limit: 1, far_below: 1 }]
      : [1, null, null, 1, 1, 'x'];
    const plan = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
    const steps = plan.map(({ detail }) => detail);
    assert.ok(
      steps.some((step) => step.startsWith(`SEARCH r USING INDEX ${index} (`)),
      steps.join('; '),
    );
    assert.ok(!steps.some((step) => step.startsWith('SCAN')), steps.join('; '));
  });

it('lists an owner newest first without sorting', (t) => {
  const db = new SqliteDatabase(':memory:');
  t.after(() => db.close());
  migrate(db);
  const parameters = { owner_id: 1, since: 0, until: 1, limit: 1 };
  const plan = db
    .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${ownerQuery('time', false)}`)
    .all(parameters);
  assert.deepEqual(
    plan.map(({ detail }) => detail),
    ['SEARCH r USING INDEX record_by_owner (owner_id=? AND counted_at>? AND counted_at<?)'],
  );
});
