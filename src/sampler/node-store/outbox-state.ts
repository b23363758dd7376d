import type { Database } from 'better-sqlite3';

/** Records in a node's outbox. */
export interface OutboxState {
  /** For the accounting DB. */
  readonly waiting: number;
  /** When the oldest of them was put there; ms since the epoch; null: none waits. */
  readonly oldest: number | null;
  /** Refused by the accounting DB for good, and why the last of them was. */
  readonly refused: number;
  readonly reason: string | null;
}

export function outboxState(database: Database): OutboxState {
  const found = database
    .prepare<[], OutboxState>(
      `SELECT count(*) FILTER (WHERE refused IS NULL) AS waiting, min(added) FILTER (WHERE refused IS NULL) AS oldest,
         count(refused) AS refused, max(refused) AS reason FROM outbox`,
    )
    .get();
  return found ?? { waiting: 0, oldest: null, refused: 0, reason: null };
}
