import { emptyRecord, type Bracket, type JobRecord, type MemoryRequest } from '../sampler/record';
import { escapeForCsv } from './escape';
import type { Account } from './json';

export type Cell = string | number | boolean | null;
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

/** Fields that are one column. Columns are a contract: none may be renamed. */
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

type Nested = Exclude<keyof JobRecord, (typeof PLAIN)[number]>;

/** The columns of the fields that hold more than one value; a new field of the record must find its place here. */
const NESTED: Readonly<Record<Nested, (record: JobRecord) => Cells>> = {
  h_vmem: (record) => request('h_vmem', record.h_vmem),
  peak_rss: (record) => peak('peak_rss', record.peak_rss),
  peak_rss_swap: (record) => peak('peak_rss_swap', record.peak_rss_swap),
  peak_vmem: (record) => peak('peak_vmem', record.peak_vmem),
  peak_process_vmem: (record) => peak('peak_process_vmem', record.peak_process_vmem),
  peak_footprint: (record) => peak('peak_footprint', record.peak_footprint),
  sampler: ({ sampler }) => [
    ['sampler_cpu_seconds', sampler?.cpu_seconds ?? null],
    ['sampler_max_rss_bytes', sampler?.max_rss_bytes ?? null],
    ['sampler_mode', sampler?.mode ?? null],
  ],
  requests: (record) => [['requests', requestsText(record)]],
  notes: (record) => [['notes', record.notes.join(' ')]],
  metrics: ({ metrics }) => [
    [
      'metrics',
      Object.entries(metrics)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    ],
  ],
  granted_hosts: ({ granted_hosts: hosts }) => [
    ['granted_hosts', hosts?.map(({ host, slots }) => `${host}=${slots}`).join(' ') ?? null],
  ],
  grid_engine: ({ grid_engine: account }) => [
    ['ge_wallclock_seconds', account?.wallclock_seconds ?? null],
    ['ge_cpu_seconds', account?.cpu_seconds ?? null],
    ['ge_maxvmem_bytes', account?.maxvmem_bytes ?? null],
    ['ge_maxrss_bytes', account?.maxrss_bytes ?? null],
    ['ge_mem_gib_seconds', account?.mem_gib_seconds ?? null],
    ['ge_io_gib', account?.io_gib ?? null],
    ['ge_category', account?.category ?? null],
    ['ge_deleted_by', account?.deleted_by ?? null],
  ],
  // A chart has no place in a row.
  series: () => [],
};

/** "mem_free=2147483648 s_vmem=unlimited": the limits on this host. */
function requestsText(record: JobRecord): string {
  const limits = Object.entries(record.requests).map(([complex, { limit_bytes: limit }]) => [complex, limit] as const);
  return limits.map(([complex, limit]) => `${complex}=${limit ?? 'unlimited'}`).join(' ');
}

function cellsOf({ record, attempt }: Account): Cells {
  return [
    ...PLAIN.map((name): readonly [string, Cell] => [name, record[name]]),
    ['attempt', attempt],
    ...Object.values(NESTED).flatMap((cells) => cells(record)),
  ];
}

const cellText = (cell: Cell): string => (typeof cell === 'string' ? escapeForCsv(cell) : String(cell ?? ''));

const NO_KEY = { cluster: '', job_id: 0, task_id: null, pe_task_id: null, host: '', run_id: '' };
const HEAD = cellsOf({ record: emptyRecord(NO_KEY, 'finished', 'root', 0), attempt: 1 }).map(([name]) => name);

/** Lines of cells, each of them safe for a spreadsheet. */
export function renderCsvRows(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(',')}\n`).join('');
}

/** One line per record under stable column names, the head always. */
export function renderCsv(accounts: readonly Account[]): string {
  return renderCsvRows([HEAD, ...accounts.map((account) => cellsOf(account).map(([, cell]) => cell))]);
}
