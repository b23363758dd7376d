import { heldBytes } from '../record/cause';
import { requestedBytes } from '../record/facts';
import type { JobRecord } from '../record/record';
import type { RecordSort } from './store';
import { HELD } from './sums/fact-columns';

/** Of a list, where no limit is asked for. */
export const DEFAULT_LIMIT = 50;

interface Sorting {
  /** Of a record `r`, as both stores understand it. */
  readonly sql: string;
  readonly value: (record: JobRecord) => number | null;
}

const times = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a * b);
const unusedOf = (record: JobRecord): number | null => {
  const [requested, held] = [requestedBytes(record), heldBytes(record)];
  return requested === null || held === null ? null : requested - held;
};
const overTime = (bytes: string): string => `CAST(${bytes} AS double precision) * (r.wallclock_ms / 1000.0)`;

/** What lists are sorted by, the largest first. */
export const SORTS: Readonly<Record<Exclude<RecordSort, 'time'>, Sorting>> = {
  wallclock: { sql: 'r.wallclock_ms / 1000.0', value: (record) => record.wallclock_seconds },
  cpu: { sql: 'r.cpu_ms / 1000.0', value: (record) => record.cpu_seconds },
  peak: { sql: HELD, value: heldBytes },
  requested: {
    sql: overTime('r.requested_bytes'),
    value: (record) => times(requestedBytes(record), record.wallclock_seconds),
  },
  unused: {
    sql: overTime(`(r.requested_bytes - ${HELD})`),
    value: (record) => times(unusedOf(record), record.wallclock_seconds),
  },
};
