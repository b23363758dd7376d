import type { HeardNode, NodeStatus } from '../../record/node-status';
import { heardNodes, nodeRow } from '../node-row';
import type { Connection } from './connect';

/** Puts down what this host says of itself now, in place of what it said before. */
export async function putStatus(db: Pick<Connection, 'query'>, status: NodeStatus): Promise<void> {
  await db.query('SELECT qmemacct.heard($1::text::jsonb, $2::bigint)', [JSON.stringify(nodeRow(status)), Date.now()]);
}

/** Hosts heard of since then (ms since the epoch). */
export async function readStatuses(db: Pick<Connection, 'query'>, since: number): Promise<readonly HeardNode[]> {
  return heardNodes(
    await db.query('SELECT * FROM qmemacct.node WHERE heard_at >= $1::bigint ORDER BY cluster, host', [
      Math.ceil(since),
    ]),
  );
}
