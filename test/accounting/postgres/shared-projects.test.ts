import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { openPostgresReader } from '../../../src/accounting/postgres/postgres-store';
import type { JobRecord } from '../../../src/record/record';
import { sharedProjects } from '../../../src/server/access/projects';
import { DAY, HOUR, job } from '../suite/fixture';
import { noPostgres, startServer, type Server } from './server';

const NOW = Date.now() - HOUR;

/** The jobs of each user, and the projects whose records the user may therefore read as `qmemacct_project`. */
const USERS: Readonly<
  Record<string, { readonly ran: readonly Partial<JobRecord>[]; readonly shares: readonly string[] }>
> = {
  alice: { ran: [{ project: 'genome' }, { project: 'proteins', trust: 'accounting' }], shares: ['genome', 'proteins'] },
  // Self-reported by the user.
  liar: { ran: [{ project: 'genome', trust: 'self-reported' }], shares: [] },
  twice: { ran: [{ project: 'genome', trust: 'self-reported' }, { project: 'genome' }], shares: ['genome'] },
  // Root's hooks saw the job, but only a self-reported record names the project: the two are merged.
  half: { ran: [{ project: null }], shares: [] },
  idle: { ran: [{ project: 'NONE' }, { project: 'none' }, { project: '' }, { project: null }], shares: [] },
  gone: { ran: [{ project: 'genome', started_at: null, submitted_at: null }], shares: [] },
};

describe('the shared projects of a PostgreSQL role', { skip: noPostgres }, () => {
  let server: Server;
  let name: string;
  before(async () => {
    server = await startServer();
    name = await server.database();
    const store = openPostgresHistory(server.url(name));
    const records = ['genome', 'proteins', 'NONE', 'none', ''].map((project, at) =>
      job(1000 + at, NOW, { owner: 'stranger', project }),
    );
    for (const [at, [owner, { ran }]] of Object.entries(USERS).entries()) {
      await server.run(name, `CREATE ROLE ${owner} LOGIN IN ROLE qmemacct_project`);
      const ended = owner === 'gone' ? NOW - 100 * DAY : NOW;
      records.push(...ran.map((fields, index) => job(10 * at + index + 1, ended, { owner, ...fields })));
    }
    const half = records.find(({ owner }) => owner === 'half') ?? assert.fail();
    records.push({ ...half, project: 'genome', trust: 'self-reported' });
    const outcomes = await store.merge(records);
    assert.ok(outcomes.every(({ ok }) => ok));
    await store.close();
  });
  after(() => server.remove());

  for (const [owner, { shares }] of Object.entries(USERS))
    it(`are ${shares.join(' and ') || 'none'} for "${owner}", as sharedProjects has them`, async (t) => {
      const all = openPostgresReader(server.url(name));
      t.after(() => all.close());
      assert.deepEqual(await sharedProjects(owner, Date.now(), all), [...shares]);
      const reader = openPostgresReader(server.url(name, owner));
      t.after(() => reader.close());
      const { records } = await reader.records({ since: 0, until: NOW + DAY, limit: 1000 });
      const others = records.filter(({ record }) => record.owner === 'stranger').map(({ record }) => record.project);
      assert.deepEqual(others.sort(), [...shares]);
      const strangers = (await reader.job({ job_id: 1000 })).records.length;
      assert.equal(strangers, shares.includes('genome') ? 1 : 0);
      const { totals } = await reader.summary({ since: 0, until: NOW + DAY, by: 'cluster' });
      // Sums leave out self-reported records.
      assert.equal(totals.records, records.filter(({ record }) => record.trust !== 'self-reported').length);
    });
});
