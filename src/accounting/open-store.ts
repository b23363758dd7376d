import { constants } from 'node:fs';
import { join } from 'node:path';
import { isPermitted } from '../base/file-state';
import { homeDirectory } from '../base/user-name';
import { isPostgresUrl } from '../record/postgres-url';
import type { Settings } from '../record/settings';
import type { HistoryStore } from './history-store';
import type { RecordFeed } from './record-feed';
import type { AccountingReader, AccountingStore } from './store';

/** What opening a store needs beside its name. */
interface StoreAccess {
  /** pgpass file of `accounting_credentials`; empty: none. */
  readonly credentials?: string;
  /** How long PostgreSQL may be silent, in ms, before it is given up. */
  readonly silenceMs?: number;
  /** For PostgreSQL: for this many ms, queries are answered from one snapshot. */
  readonly sharedMs?: number;
  /** Whether to reject at once if PostgreSQL can't be read, not only at the first query. */
  readonly tried?: boolean;
}

/** The caller's own pgpass file; empty: there is none. */
export function ownCredentials(): string {
  const own = process.env.PGPASSFILE ?? join(homeDirectory(process.env), '.pgpass');
  return isPermitted(own, constants.R_OK) ? own : '';
}

/** The site's credentials where the caller may read them, else the caller's own, else none. */
function readersCredentials({ credentials = '' }: StoreAccess): string {
  return credentials !== '' && isPermitted(credentials, constants.R_OK) ? credentials : ownCredentials();
}

/**
 * Opens the accounting DB of the setting `accounting` to read it: a path (SQLite) or a URL (PostgreSQL). What the other
 * kind needs is not loaded. Rejects with StoreError.
 */
export async function openReader(accounting: string, access: StoreAccess = {}): Promise<AccountingReader> {
  if (isPostgresUrl(accounting)) {
    const { openPostgresReader } = await import('./postgres/postgres-store.js');
    const reader = openPostgresReader(accounting, { ...access, credentials: readersCredentials(access) });
    if (access.tried)
      await reader.tryReading().catch(async (error: unknown) => {
        await reader.close();
        throw error;
      });
    return reader;
  }
  const { openSqliteReader } = await import('./sqlite/sqlite-store.js');
  return openSqliteReader(accounting);
}

/** Opens the accounting DB to deliver to it. `mode`: permissions of an SQLite file that is made. */
export async function openStore(
  accounting: string,
  access: StoreAccess & { readonly mode: number },
): Promise<AccountingStore> {
  if (isPostgresUrl(accounting)) {
    const { openPostgresStore } = await import('./postgres/postgres-store.js');
    return openPostgresStore(accounting, access);
  }
  const { openSqliteStore } = await import('./sqlite/sqlite-store.js');
  return openSqliteStore(accounting, access.mode);
}

/** Opens the accounting DB to import into it, sum it up and prune it. */
export async function openHistory({
  accounting,
  accounting_credentials: credentials,
  accounting_mode: mode,
}: Pick<Settings, 'accounting' | 'accounting_credentials' | 'accounting_mode'>): Promise<HistoryStore> {
  if (isPostgresUrl(accounting)) {
    const { openPostgresHistory } = await import('./postgres/postgres-history.js');
    return openPostgresHistory(accounting, { credentials: readersCredentials({ credentials }) });
  }
  const { openSqliteHistory } = await import('./sqlite/sqlite-history.js');
  return openSqliteHistory(accounting, parseInt(mode, 8));
}

/** Opens the accounting DB as a feed of its records. Rejects with StoreError. */
export async function openFeed(accounting: string, access: StoreAccess): Promise<RecordFeed> {
  if (isPostgresUrl(accounting)) {
    const { openPostgresFeed } = await import('./postgres/feed.js');
    return openPostgresFeed(accounting, { credentials: readersCredentials(access) });
  }
  const { openSqliteFeed } = await import('./sqlite/read/feed.js');
  return openSqliteFeed(accounting);
}
