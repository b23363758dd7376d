import { boolean, integer, name, nullable, number, object, oneOf, time, type ValueOf } from '../base/shape';
import { RECORD_LIMITS } from './fields';

const aName = name(RECORD_LIMITS.stringBytes);

const STATUS = {
  cluster: aName,
  host: aName,
  /** Of qmemacct. */
  version: aName,
  scope: oneOf(['job', 'node']),
  /** The hooks leave at once. */
  disabled: boolean,
  /** Whether the listener runs; null: by its settings it need not run all the time. */
  listener: nullable(boolean),
  /** Whether a time service keeps the clock right; null: not known. */
  clock_synchronised: nullable(boolean),
  /** Records that wait for the accounting DB, without those that came with this status, and since when. */
  waiting: integer(0),
  waiting_since: nullable(time),
  /** Records that the accounting DB will never take. */
  refused: integer(0),
  /** When a job was last measured there. */
  last_job_at: nullable(time),
};

/** What the qmemacct of a host says of itself, whenever it delivers. */
export const nodeStatusShape = object(STATUS);
export type NodeStatus = ValueOf<typeof nodeStatusShape>;

/** The last status of a host that the accounting DB has heard of. */
export const heardNodeShape = object({
  ...STATUS,
  heard_at: time,
  /** The host's clock less the accounting DB's; null: not known (SQLite has no clock of its own). */
  clock_offset_seconds: nullable(number()),
});
export type HeardNode = ValueOf<typeof heardNodeShape>;
