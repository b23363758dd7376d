import { sumOfKnown } from '../../base/known';
import { figureOf, measuredUpper } from '../../record/peak-figure';
import { memoryMeaning, type Dialect, type MemoryMeasure } from '../../gridengine/dialect';
import type { Bracket, GridEngineAccount, JobRecord } from '../../record/record';
import { formatBracket } from '../format/bracket';
import type { Screen } from '../screen/screen';
import { renderTable } from '../screen/table';
import { formatBytes, formatDuration, formatNumber } from '../format/units';

const MEASURES: Readonly<Record<MemoryMeasure, string>> = {
  rss_swap_sum: 'RSS and swap of all processes',
  vmem_sum: 'address spaces of all processes',
  cgroup: "the cgroup's memory, page cache included",
};

const MAXRSS = {
  largest_process: 'the largest process',
  rss_sum: 'RSS of all processes',
  cgroup: MEASURES.cgroup,
} as const;

/** Our own peak that measures the same as `measure`; null: there is none. */
function oursOf(measure: MemoryMeasure | null, record: JobRecord): Bracket | null {
  if (measure === 'rss_swap_sum') return record.peak_rss_swap;
  return measure === 'vmem_sum' ? record.peak_vmem : null;
}

/** Grid Engine samples: its figure is never above the true peak, and may be a little below. */
const SAMPLING_MISSES = 0.9;
const ROUNDING = 1.01;

function mayBe(bytes: number, bracket: Bracket | null): boolean {
  if (bracket === null) return false;
  const most = measuredUpper(bracket) ?? figureOf(bracket) / SAMPLING_MISSES;
  return bytes <= most * ROUNDING && bytes >= figureOf(bracket) * SAMPLING_MISSES;
}

/** Which of two measures a maxvmem is, by comparison with our own figures; null: they can't tell. */
function agreeing(bytes: number, record: JobRecord): MemoryMeasure | null {
  const held = mayBe(bytes, record.peak_rss_swap);
  if (held === mayBe(bytes, record.peak_vmem)) return null;
  return held ? 'rss_swap_sum' : 'vmem_sum';
}

type Row = readonly [name: string, theirs: string, ours: string, note: string];

function maxvmemRow(bytes: number, record: JobRecord, dialect: Dialect, screen: Screen): Row {
  const known = memoryMeaning(dialect).maxvmem;
  const measure = known ?? agreeing(bytes, record);
  const ours = oursOf(measure, record);
  const note =
    measure === null
      ? 'RSS and swap, or address spaces: by version'
      : `${MEASURES[measure]}${known === null ? ', by the figure' : ''}`;
  return ['maxvmem', formatBytes(bytes), ours === null ? '' : formatBracket(ours, screen.glyphs), note];
}

/** With systemd, Open Cluster Scheduler reports no maxvmem, and its maxrss is the peak of the job's systemd unit. */
function maxrssRow(bytes: number, record: JobRecord, dialect: Dialect, screen: Screen): Row {
  const { maxrss } = memoryMeaning(dialect, record.grid_engine?.maxvmem_bytes == null);
  const ours = maxrss === 'rss_sum' ? record.peak_rss : null;
  const note = maxrss === null ? 'the largest process, or as its version counts' : MAXRSS[maxrss];
  return ['maxrss', formatBytes(bytes), ours === null ? '' : formatBracket(ours, screen.glyphs), note];
}

type Amount = 'cpu_seconds' | 'user_seconds' | 'system_seconds' | 'maxvmem_bytes' | 'mem_gib_seconds' | 'io_gib';

/**
 * Grid Engine's accounting lines of a parallel job as one: Grid Engine writes a line for each task, or one with their
 * sums (accounting_summary). The maxvmem of the tasks are added up, as the peaks of hosts are. null: no line has come.
 */
export function wholeAccount(records: readonly JobRecord[]): GridEngineAccount | null {
  const accounts = records.flatMap(({ grid_engine: account }) => account ?? []);
  const [first, ...others] = accounts;
  if (first === undefined || others.length === 0) return first ?? null;
  const sum = (name: Amount): number | null => sumOfKnown(accounts.map((account) => account[name]));
  return {
    wallclock_seconds: Math.max(...accounts.map((account) => account.wallclock_seconds)),
    cpu_seconds: sum('cpu_seconds') ?? 0,
    user_seconds: sum('user_seconds'),
    system_seconds: sum('system_seconds'),
    maxvmem_bytes: sum('maxvmem_bytes'),
    maxrss_bytes: null,
    mem_gib_seconds: sum('mem_gib_seconds'),
    io_gib: sum('io_gib'),
    category: first.category,
    submit_command: first.submit_command,
    deleted_by: accounts.find((account) => account.deleted_by !== null)?.deleted_by ?? null,
    lines: accounts.reduce((lines, account) => lines + account.lines, 0),
  };
}

/** Grid Engine's own accounting of a record's job beside our figures; no lines where it is unknown. */
export function renderGridEngine(
  record: JobRecord,
  width: number,
  screen: Screen,
  dialect: Dialect = 'unknown',
): string[] {
  const account = record.grid_engine;
  if (account === null) return [];
  const duration = (seconds: number | null): string => (seconds === null ? '' : formatDuration(seconds));
  const { maxvmem_bytes: maxvmem, maxrss_bytes: maxrss, mem_gib_seconds: held, io_gib: io } = account;
  const rows: readonly Row[] = [
    ...(maxvmem === null ? [] : [maxvmemRow(maxvmem, record, dialect, screen)]),
    ...(maxrss === null ? [] : [maxrssRow(maxrss, record, dialect, screen)]),
    ['CPU time', duration(account.cpu_seconds), duration(record.cpu_seconds), ''],
    ['wallclock', duration(account.wallclock_seconds), duration(record.wallclock_seconds), ''],
    ...(held === null
      ? []
      : [['mem', `${formatNumber(held)} GiB${screen.glyphs.dot}s`, '', 'memory over CPU time'] as const]),
    ...(io === null ? [] : [['io', `${formatNumber(io)} GiB`, '', 'read and written'] as const]),
    ...(account.deleted_by === null ? [] : [['deleted by', screen.safe(account.deleted_by), '', ''] as const]),
  ];
  return renderTable(
    [
      { head: '' },
      { head: 'Grid Engine', align: 'right', shrinksTo: 12 },
      { head: 'ours', align: 'right' },
      { head: '', dispensable: 1 },
    ],
    rows,
    screen,
    width,
  );
}
