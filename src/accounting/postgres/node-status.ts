import type { NodeHeartbeat, NodeStatus } from '../../record/node-status';
import { nodeHeartbeats, nodeRow } from '../node-row';
import type { Connection } from './connect';

/** Stores this host's status in place of its previous one. */
export async function putStatus(db: Pick<Connection, 'query'>, status: NodeStatus): Promise<void> {
  await db.query('SELECT qmemacct.heartbeat($1::text::jsonb, $2::bigint)', [
    JSON.stringify(nodeRow(status)),
    Date.now(),
  ]);
}

/** The last heartbeats of hosts since `since` (ms since the epoch). */
export async function readStatuses(db: Pick<Connection, 'query'>, since: number): Promise<readonly NodeHeartbeat[]> {
  return nodeHeartbeats(
    await db.query('SELECT * FROM qmemacct.node WHERE heartbeat_at >= $1::bigint ORDER BY cluster, host', [
      Math.ceil(since),
    ]),
  );
}
