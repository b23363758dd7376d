import type { Database } from 'better-sqlite3';

/** Records in a node's outbox. */
export interface OutboxState {
  /** Waiting for the accounting DB. */
  readonly waiting: number;
  /** When the oldest waiting record was added (ms since the epoch); null: none waits. */
  readonly oldest: number | null;
  /** Refused by the accounting DB for good, and the reason for one of them. */
  readonly refused: number;
  readonly reason: string | null;
}

/** `behind`: waiting rows up to this id do not count. */
export function outboxState(database: Database, behind = 0): OutboxState {
  const found = database
    .prepare<[{ readonly behind: number }], OutboxState>(
      `SELECT count(*) FILTER (WHERE refused IS NULL AND id > @behind) AS waiting,
         min(added) FILTER (WHERE refused IS NULL AND id > @behind) AS oldest,
         count(refused) AS refused, max(refused) AS reason FROM outbox`,
    )
    .get({ behind });
  return found ?? { waiting: 0, oldest: null, refused: 0, reason: null };
}
