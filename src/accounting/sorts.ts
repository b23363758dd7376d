import { heldBytes } from '../record/cause';
import { requestedBytes } from '../record/facts';
import type { JobRecord } from '../record/record';
import { HELD_BYTES } from './sums/fact-columns';

/** The limit of a list if none is asked for. */
export const DEFAULT_LIMIT = 50;

/** What lists can be sorted by, apart from the time; stores number these by position: append only. */
export const AMOUNT_SORTS = ['wallclock', 'cpu', 'peak', 'requested', 'unused'] as const;
export type AmountSort = (typeof AMOUNT_SORTS)[number];

/** The orders of lists of records. */
export const RECORD_SORTS = ['time', ...AMOUNT_SORTS] as const;
export type RecordSort = (typeof RECORD_SORTS)[number];

/** What amounts are made of: seconds and bytes; null: not known. */
export interface Figures {
  readonly wallclock: number | null;
  readonly cpu: number | null;
  readonly requested: number | null;
  readonly held: number | null;
}

export const figuresOf = (record: JobRecord): Figures => ({
  wallclock: record.wallclock_seconds,
  cpu: record.cpu_seconds,
  requested: requestedBytes(record),
  held: heldBytes(record),
});

interface Sorting {
  /** The amount of a record `r`, in SQL that both stores understand. */
  readonly sql: string;
  /** The same amount, from figures. */
  readonly amount: (figures: Figures) => number | null;
}

const times = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a * b);
const overTime = (bytes: string): string => `CAST(${bytes} AS double precision) * (r.wallclock_ms / 1000.0)`;

/** The largest first. */
export const SORTS: Readonly<Record<AmountSort, Sorting>> = {
  wallclock: { sql: 'r.wallclock_ms / 1000.0', amount: ({ wallclock }) => wallclock },
  cpu: { sql: 'r.cpu_ms / 1000.0', amount: ({ cpu }) => cpu },
  peak: { sql: HELD_BYTES, amount: ({ held }) => held },
  requested: {
    sql: overTime('r.requested_bytes'),
    amount: ({ requested, wallclock }) => times(requested, wallclock),
  },
  unused: {
    sql: overTime(`(r.requested_bytes - ${HELD_BYTES})`),
    amount: ({ requested, held, wallclock }) =>
      times(requested === null || held === null ? null : requested - held, wallclock),
  },
};
