import { after, before, describe } from 'node:test';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { mergeSuite } from '../suite/merge-suite';
import { filterSuite } from '../suite/filter-suite';
import { importSuite } from '../suite/import-suite';
import { joinSuite } from '../suite/join-suite';
import { pruneSuite } from '../suite/prune-suite';
import { nodeSuite } from '../suite/node-suite';
import { querySuite } from '../suite/query-suite';
import { summarySuite } from '../suite/summary-suite';
import type { OpenStore } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

describe('PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer({ settings: ['synchronous_commit = off'] })));
  after(() => server.remove());
  const open: OpenStore = async (t) => {
    const store = openPostgresHistory(server.url(await server.database()));
    t.after(() => store.close());
    return store;
  };
  // Each run waits for the disk several times.
  mergeSuite(open, 15);
  querySuite(open);
  nodeSuite(open);
  filterSuite(open);
  joinSuite(open);
  importSuite(open);
  summarySuite(open, 5);
  pruneSuite(open);
});
