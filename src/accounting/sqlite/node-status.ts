import type { Database } from 'better-sqlite3';
import type { NodeHeartbeat, NodeStatus } from '../../record/node-status';
import { nodeHeartbeats, nodeRow } from '../node-row';
import { prepared } from './database/prepared';

/** Stores this host's status in place of its previous one. */
export function putStatus(db: Database, status: NodeStatus): void {
  const row = { ...nodeRow(status), heartbeat_at: Date.now() };
  const names = Object.keys(row);
  const sql = `INSERT OR REPLACE INTO node (${names.join(', ')}) VALUES (${names.map((name) => `@${name}`).join(', ')})`;
  prepared<object, never>(db, sql).run(row);
}

/** The last heartbeats of hosts since `since` (ms since the epoch). */
export function readStatuses(db: Database, since: number): readonly NodeHeartbeat[] {
  const sql = 'SELECT *, NULL AS clock_offset_ms FROM node WHERE heartbeat_at >= @since ORDER BY cluster, host';
  return nodeHeartbeats(prepared<object, object>(db, sql).all({ since }));
}
