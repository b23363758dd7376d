import { LINE_RUN } from '../../record/coverage';

/** Columns of a record `r` that must have a value already, so that a line adds nothing to them. */
const KNOWN = [
  'owner_id',
  'job_name_id',
  'queue_id',
  'account_id',
  'slots',
  'host_slots',
  'submitted_at',
  'started_at',
  'ended_at',
  'wallclock_ms',
  'cpu_ms',
];

/**
 * A record of ours that ended well, has joined no line yet, and to which a line can only add how it ended (`failed`)
 * and Grid Engine's own account: neither is in an index, nor in sums where there is a peak.
 */
const PLAIN = `r.status = 0 AND r.trust <= 1 AND r.failed IS NULL AND r.exit_status = 0 AND r.signal = 0 AND r.ended = 1
    AND r.ge_lines IS NULL AND r.provenance_id IS NULL AND substr(r.run_id, 1, ${LINE_RUN.length}) <> '${LINE_RUN}'
    AND r.peak_rss_lower_bytes IS NOT NULL AND ${KNOWN.map((column) => `r.${column} IS NOT NULL`).join(' AND ')}`;

const flag = (condition: string): string => `CASE WHEN ${condition} THEN 1 ELSE 0 END`;

/** What `LineRows.joined` needs of a record `r`, in SQL that both stores understand; `schema`: prefix of tables. */
export function joinableColumns(schema = ''): string {
  const name = (dictionary: string, column: string): string =>
    `(SELECT name FROM ${schema}${dictionary} AS d WHERE d.id = r.${column})`;
  return `r.id, ${flag(PLAIN)}, r.started_at, ${name('host', 'host_id')}, ${name('owner', 'owner_id')},
    ${name('request_set', 'request_set_id')}, ${flag('r.project_id IS NOT NULL')}, ${flag('r.pe_id IS NOT NULL')},
    ${flag('r.h_vmem_per IS NOT NULL')}, ${flag('r.request_order_id IS NOT NULL')}`;
}

/** A row of `joinableColumns`. */
export type Joinable = readonly [
  id: number,
  isPlain: number,
  startedAt: number | null,
  host: string,
  owner: string | null,
  requests: string | null,
  hasProject: number,
  hasPe: number,
  hasLimit: number,
  hasOrder: number,
];
