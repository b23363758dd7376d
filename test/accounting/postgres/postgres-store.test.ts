import { after, before, describe } from 'node:test';
import { connect, type Connection, type Transaction } from '../../../src/accounting/postgres/connect';
import { openPostgresFeed } from '../../../src/accounting/postgres/feed';
import { Merger } from '../../../src/accounting/postgres/merger';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { PostgresUpkeep } from '../../../src/accounting/postgres/upkeep';
import { rollUp } from '../../../src/accounting/upkeep';
import { mergeSuite } from '../suite/merge-suite';
import { feedSuite } from '../suite/feed-suite';
import { filterSuite } from '../suite/filter-suite';
import { largestSuite } from '../suite/largest-suite';
import { pagesSuite } from '../suite/pages-suite';
import { importSuite } from '../suite/import-suite';
import { joinSuite } from '../suite/join-suite';
import { taskRequestsSuite } from '../suite/task-requests-suite';
import { pruneSuite } from '../suite/prune-suite';
import { nodeSuite } from '../suite/node-suite';
import { querySuite } from '../suite/query-suite';
import { tasksSuite } from '../suite/tasks-suite';
import { rollUpSuite } from '../suite/roll-up-suite';
import { summarySuite } from '../suite/summary-suite';
import { questionsSuite } from '../suite/questions-suite';
import type { OpenStore } from '../suite/fixture';
import { often } from '../../support/thorough';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

/** Calls `between` before its third transaction. */
class InterruptedMerger extends Merger {
  private transactions = 0;

  constructor(
    db: Connection,
    private readonly between: () => Promise<unknown>,
  ) {
    super(db);
  }

  override async alone<T>(work: (inner: Transaction) => Promise<T>): Promise<T> {
    if (++this.transactions === 3) await this.between();
    return super.alone(work);
  }
}

describe('PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer()));
  after(() => server.remove());
  const open: OpenStore = async (t) => {
    const store = openPostgresHistory(server.url(await server.database()));
    t.after(() => store.close());
    return store;
  };
  // Few random runs: each makes one or two databases.
  mergeSuite(open, often(5, 150));
  querySuite(open);
  largestSuite(open);
  tasksSuite(open);
  nodeSuite(open);
  filterSuite(open, often(1, 2));
  pagesSuite(open);
  feedSuite(async (t) => {
    const url = server.url(await server.database());
    const [store, feed] = [openPostgresHistory(url), openPostgresFeed(url, {})];
    t.after(() => Promise.all([store.close(), feed.close()]));
    return { store, feed };
  });
  joinSuite(open);
  taskRequestsSuite(open);
  importSuite(open, often(0.3, 1));
  summarySuite(open, { numRuns: often(2, 40), asksByAll: false });
  rollUpSuite(async (t) => {
    const url = server.url(await server.database());
    const [store, db, other] = [openPostgresHistory(url), connect(url), connect(url)];
    t.after(() => Promise.all([store, db, other].map((one) => one.close())));
    const rollUps = (between: () => Promise<unknown>) => new PostgresUpkeep(db, new InterruptedMerger(db, between));
    return {
      store,
      rollUp: (between) => rollUp(rollUps(between), {}),
      whileWriting: (work) => new Merger(other).alone(work),
    };
  });
  pruneSuite(open);
  questionsSuite(async (t) => {
    const name = await server.database();
    const store = openPostgresHistory(server.url(name));
    const db = connect(server.url(name));
    t.after(() => Promise.all([store.close(), db.close()]));
    await db.query('SET search_path = qmemacct');
    return { store, ask: (sql) => db.query<Record<string, unknown>>(sql) };
  });
});
