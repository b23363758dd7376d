import { boolean, integer, list, name, nullable, number, object, oneOf, text, time, type ValueOf } from '../base/shape';
import { RECORD_LIMITS } from './fields';

/** The cluster, the host, or a version. */
export const nodeName = name(RECORD_LIMITS.stringBytes);

/** Sources that give nothing, and why. */
export const failingSourcesShape = list(object({ source: name(64), reason: text(1000) }), 100);
export type FailingSources = ValueOf<typeof failingSourcesShape>;

const STATUS = {
  cluster: nodeName,
  host: nodeName,
  /** Of qmemacct. */
  version: nodeName,
  scope: oneOf(['job', 'node']),
  /** Whether the hooks are switched off (they exit at once). */
  disabled: boolean,
  /** Whether the listener runs; null: by its settings it need not run all the time. */
  listener: nullable(boolean),
  /** Whether a time service keeps the clock right; null: not known. */
  clock_synchronised: nullable(boolean),
  /** Records that wait for the accounting DB, apart from those delivered with this status, and since when. */
  waiting: integer(0),
  waiting_since: nullable(time),
  /** Records that the accounting DB will never take. */
  refused: integer(0),
  /** When a job was last measured there. */
  last_job_at: nullable(time),
  /** Only data sources of the node that the site switched on by name, or that worked before. */
  failing_sources: failingSourcesShape,
};

/** What qmemacct on a host reports of itself with each heartbeat and each delivery. */
export const nodeStatusShape = object(STATUS);
export type NodeStatus = ValueOf<typeof nodeStatusShape>;

/** The last heartbeat of a host, as the accounting DB has it. */
export const nodeHeartbeatShape = object({
  ...STATUS,
  heartbeat_at: time,
  /** The host's clock minus the accounting DB's; null: not known (SQLite has no clock of its own). */
  clock_offset_seconds: nullable(number()),
});
export type NodeHeartbeat = ValueOf<typeof nodeHeartbeatShape>;
