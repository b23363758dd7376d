import { after, before, describe } from 'node:test';
import { openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import type { HistoryStore } from '../../../src/accounting/history-store';
import { mergeSuite } from '../suite/merge-suite';
import type { OpenStore } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

describe('PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer()));
  after(() => server.remove());
  const open: OpenStore = async (t) => {
    const store = openPostgresStore(server.url(await server.database()));
    t.after(() => store.close());
    return store as HistoryStore;
  };
  mergeSuite(open);
});
