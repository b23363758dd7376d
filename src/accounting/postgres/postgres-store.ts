import type { NodeStatus } from '../../record/node-status';
import type { JobRecord } from '../../record/record';
import type { Imports } from '../history-store';
import type { AccountingStore, MergeOutcome } from '../store';
import { connect, type ConnectOptions } from './connect';
import { deliver, tryDelivery } from './inbox';
import { putStatus } from './node-status';
import { PostgresReader } from './postgres-reader';
import { imports } from './import-lines';
import { inboxState, type InboxState } from './settle';

/** The PostgreSQL store for the hooks: what they deliver waits in its inbox for the merger. */
class PostgresStore extends PostgresReader implements AccountingStore {
  merge(records: readonly JobRecord[]): Promise<readonly MergeOutcome[]> {
    return deliver(this.db, records);
  }

  saveHeartbeat(status: NodeStatus): Promise<void> {
    return putStatus(this.db, status);
  }

  /** What waits in the inbox; null: this role may not look. */
  inboxState(): Promise<InboxState | null> {
    return inboxState(this.db).catch(() => null);
  }

  /** What has been imported; null: this role may not look. */
  imports(): Promise<Imports | null> {
    return imports(this.db).catch(() => null);
  }

  /** Delivers nothing, to see whether it could. Rejects with StoreError. */
  tryDelivery(): Promise<void> {
    return tryDelivery(this.db);
  }
}

/** Opens the PostgreSQL store at a URL to read it. Connects with the first query. Throws StoreError. */
export function openPostgresReader(
  url: string,
  { sharedMs, ...options }: ConnectOptions & { readonly sharedMs?: number } = {},
): PostgresReader {
  return new PostgresReader(connect(url, options), sharedMs);
}

/** Opens the PostgreSQL store at a URL to deliver to it; its role may do nothing else. Throws StoreError. */
export function openPostgresStore(url: string, options: ConnectOptions = {}): PostgresStore {
  return new PostgresStore(connect(url, options));
}
