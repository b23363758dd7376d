import { emptyRecord, type Bracket, type JobRecord, type MemoryRequest } from '../sampler/record';
import { escapeForCsv } from './escape';
import type { Account } from './json';

type Cell = string | number | boolean | null;
type Cells = readonly (readonly [column: string, cell: Cell])[];

const request = (name: string, value: MemoryRequest | null): Cells => [
  [`${name}_request_bytes`, value?.request_bytes ?? null],
  [`${name}_limit_bytes`, value?.limit_bytes ?? null],
  [`${name}_per`, value?.per ?? null],
];

const peak = (name: string, value: Bracket | null): Cells => [
  [`${name}_lower_bytes`, value?.lower_bytes ?? null],
  [`${name}_upper_bytes`, value?.upper_bytes ?? null],
  [`${name}_slack_bytes`, value?.slack_bytes ?? null],
  [`${name}_proved`, value?.proved ?? null],
  [`${name}_exact`, value?.exact ?? null],
  [`${name}_open`, value?.open.join(' ') ?? null],
  [`${name}_sources`, value?.sources.join(' ') ?? null],
  [`${name}_at`, value?.at ?? null],
  [`${name}_command`, value?.command ?? null],
];

/** Fields with a name and a value of their own kind; the rest follows in `cellsOf`. Append only: columns are a contract. */
const PLAIN = [
  'cluster',
  'job_id',
  'task_id',
  'pe_task_id',
  'host',
  'run_id',
  'owner',
  'job_name',
  'queue',
  'project',
  'pe',
  'account',
  'slots',
  'host_slots',
  'submitted_at',
  'started_at',
  'ended_at',
  'exit_status',
  'signal',
  'failed',
  'status',
  'trust',
  'wallclock_seconds',
  'cpu_seconds',
  'cpu_efficiency',
  'memory_efficiency',
  'processes',
  'max_processes',
  'max_threads',
  'read_bytes',
  'written_bytes',
  'read_chars',
  'written_chars',
  'claimed_by_tree_only',
  'claimed_by_group_only',
  'samples',
  'interval_seconds',
  'longest_gap_seconds',
  'unobserved_start_seconds',
  'rss_byte_seconds',
  'revision',
] as const satisfies readonly (keyof JobRecord)[];

/** `series` is for charts; it has no place in a row. */
const NESTED = [
  'h_vmem',
  'requests',
  'peak_rss',
  'peak_rss_swap',
  'peak_vmem',
  'peak_process_vmem',
  'peak_footprint',
  'sampler',
  'notes',
  'series',
] as const satisfies readonly (keyof JobRecord)[];

type Unlisted = Exclude<keyof JobRecord, (typeof PLAIN)[number] | (typeof NESTED)[number]>;
const everyFieldHasItsPlace: [Unlisted] extends [never] ? true : never = true;
void everyFieldHasItsPlace;

function cellsOf({ record, attempt }: Account): Cells {
  return [
    ...PLAIN.map((name): readonly [string, Cell] => [name, record[name]]),
    ['attempt', attempt],
    ...request('h_vmem', record.h_vmem),
    ...peak('peak_rss', record.peak_rss),
    ...peak('peak_rss_swap', record.peak_rss_swap),
    ...peak('peak_vmem', record.peak_vmem),
    ...peak('peak_process_vmem', record.peak_process_vmem),
    ...peak('peak_footprint', record.peak_footprint),
    ['sampler_cpu_seconds', record.sampler?.cpu_seconds ?? null],
    ['sampler_max_rss_bytes', record.sampler?.max_rss_bytes ?? null],
    ['sampler_mode', record.sampler?.mode ?? null],
    [
      'requests',
      Object.entries(record.requests)
        .map(([complex, { limit_bytes: limit }]) => `${complex}=${limit ?? 'unlimited'}`)
        .join(' '),
    ],
    ['notes', record.notes.join(' ')],
  ];
}

const cellText = (cell: Cell): string => (typeof cell === 'string' ? escapeForCsv(cell) : String(cell ?? ''));

const NO_KEY = { cluster: '', job_id: 0, task_id: null, pe_task_id: null, host: '', run_id: '' };
const HEAD = cellsOf({ record: emptyRecord(NO_KEY, 'finished', 'root', 0), attempt: 1 }).map(([name]) => name);

/** One line per record under stable column names, the head always. */
export function renderCsv(accounts: readonly Account[]): string {
  const rows = accounts.map((account) => cellsOf(account).map(([, cell]) => cellText(cell)));
  return [HEAD, ...rows].map((row) => `${row.join(',')}\n`).join('');
}
