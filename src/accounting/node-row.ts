import { isoTime, isoTimeOrNull } from '../base/iso-time';
import { check, checkJson, fail, integer, LAST_MS, nullable, object, oneOf, refined, string } from '../base/shape';
import {
  failingSourcesShape,
  nodeName,
  type FailingSources,
  type NodeHeartbeat,
  type NodeStatus,
} from '../record/node-status';

const flag = integer(0, 1);
const time = integer(0, LAST_MS);

const failingSources = refined(string, (json): FailingSources => {
  const read = checkJson(failingSourcesShape, json, 'failing_sources');
  return read.ok ? read.value : fail(read.error);
});

/** A row of the table `node`, the same in both stores. Times: ms since the epoch. */
const rowShape = object({
  cluster: nodeName,
  host: nodeName,
  version: nodeName,
  scope: oneOf(['job', 'node']),
  disabled: flag,
  listener: nullable(flag),
  clock_synchronised: nullable(flag),
  waiting: integer(0),
  waiting_since: nullable(time),
  refused: integer(0),
  last_job_at: nullable(time),
  failing_sources: failingSources,
  heartbeat_at: time,
  clock_offset_ms: nullable(integer()),
});

const flagOf = (value: boolean | null): 0 | 1 | null => (value === null ? null : value ? 1 : 0);
const msOf = (time: string | null): number | null => (time === null ? null : Date.parse(time));

/** A host's status by column; the store adds the time of the heartbeat. */
export function nodeRow(status: NodeStatus): Readonly<Record<string, string | number | null>> {
  return {
    ...status,
    disabled: flagOf(status.disabled),
    listener: flagOf(status.listener),
    clock_synchronised: flagOf(status.clock_synchronised),
    waiting_since: msOf(status.waiting_since),
    last_job_at: msOf(status.last_job_at),
    failing_sources: JSON.stringify(status.failing_sources),
  };
}

const toFlag = (value: number | null): boolean | null => (value === null ? null : value === 1);

/** The readable rows as heartbeats, in their order: hosts can write anything into PostgreSQL. */
export function nodeHeartbeats(rows: readonly object[]): readonly NodeHeartbeat[] {
  return rows.flatMap((row) => {
    const read = check(rowShape, row, 'the row');
    if (!read.ok) return [];
    const { clock_offset_ms: offset, ...value } = read.value;
    return {
      ...value,
      disabled: value.disabled === 1,
      listener: toFlag(value.listener),
      clock_synchronised: toFlag(value.clock_synchronised),
      waiting_since: isoTimeOrNull(value.waiting_since),
      last_job_at: isoTimeOrNull(value.last_job_at),
      heartbeat_at: isoTime(value.heartbeat_at),
      clock_offset_seconds: offset === null ? null : offset / 1000,
    };
  });
}
