import { after, before, describe } from 'node:test';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { mergeSuite } from '../suite/merge-suite';
import { querySuite } from '../suite/query-suite';
import type { OpenStore } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

describe('PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer()));
  after(() => server.remove());
  const open: OpenStore = async (t) => {
    const store = openPostgresHistory(server.url(await server.database()));
    t.after(() => store.close());
    return store;
  };
  mergeSuite(open);
  querySuite(open);
});
