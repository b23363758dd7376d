import { largestOfKnown, sumOfKnown } from '../../base/known';
import { largestFirst } from '../../base/largest-first';
import { JOULES_PER_KWH } from '../../base/units';
import { jobLineOf, perHost, endOrStart, type JobLine } from '../../accounting/job-line';
import { H_VMEM } from '../../gridengine/memory-complex';
import { memoryEfficiency, queueWait } from '../../record/efficiency';
import { jobName } from '../../record/job-name';
import { chargedEnergy, requestedBytes } from '../../record/facts';
import { figureOf } from '../../record/peak-figure';
import type { JobRecord, Bracket } from '../../record/record';
import { limitOf, requestOf } from '../../record/request';
import { formatCounted, formatPeak } from '../format/bracket';
import { endingLabel, succeeded, signalName } from '../job/ending';
import { shareText } from '../screen/gauge';
import { heartbeatOf, runningLabel } from '../job/running';
import { formatMinute, parseTime } from '../format/local-time';
import type { RecordLine } from './lines';
import type { Screen } from '../screen/screen';
import type { Column } from '../screen/table';
import { jobLabel } from '../job/title';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatGibHours,
  formatNumber,
  formatPercent,
  formatRequested,
  plural,
} from '../format/units';

/** The columns of a list of records. */
export interface RecordColumn extends Column {
  /** For the list of all columns. */
  readonly says: string;
  readonly cell: (line: RecordLine, screen: Screen) => string;
  /** The cell of a line that a store added up; left out: the column needs the records. */
  readonly summed?: (line: JobLine, screen: Screen) => string;
}

const LINES = new WeakMap<RecordLine, JobLine>();

/** A line of records, or one that was added up. */
export type ListLine = RecordLine | JobLine;

const isSummed = (line: ListLine): line is JobLine => 'ends' in line;

/** A line added up; kept, since many of its columns ask for it. */
export function summedLine(line: ListLine): JobLine {
  if (isSummed(line)) return line;
  const known = LINES.get(line) ?? jobLineOf(line);
  LINES.set(line, known);
  return known;
}

/** A cell that needs only sums over the line, and its latest and fullest record. */
const ofSums = (
  summed: (line: JobLine, screen: Screen) => string,
): Required<Pick<RecordColumn, 'cell' | 'summed'>> => ({
  summed,
  cell: (line, screen) => summed(summedLine(line), screen),
});

/** The cell of a line; '' where it was added up without what the column shows. */
export const cellOf = ({ cell, summed }: RecordColumn, line: ListLine, screen: Screen): string =>
  isSummed(line) ? (summed?.(line, screen) ?? '') : cell(line, screen);

type Of<T> = (record: JobRecord) => T;

function requestedByteSeconds(record: JobRecord): number | null {
  const requested = requestedBytes(record);
  return requested === null || record.wallclock_seconds === null ? null : requested * record.wallclock_seconds;
}

function moment(text: string | null, screen: Screen): string {
  const time = parseTime(text);
  return time === null ? '' : formatMinute(time).slice(time.getFullYear() === screen.now.getFullYear() ? 5 : 0);
}

/** The earliest of some times. */
function earliest(line: RecordLine, of: Of<string | null>): string | null {
  return line.map(of).reduce((first, time) => (time !== null && (first === null || time < first) ? time : first));
}

function untilText({ latest }: JobLine, screen: Screen): string {
  const text = moment(endOrStart(latest), screen);
  return text === '' || latest.ended_at !== null ? text : `${text} ${screen.glyphs.ellipsis}`;
}

function efficiencyText({ cpu_seconds: cpu, slot_seconds: slots }: JobLine): string {
  return cpu === null || slots === null || slots <= 0 ? '' : formatPercent(cpu / slots);
}

function memoryText({ fullest }: JobLine, screen: Screen): string {
  return shareText(memoryEfficiency(fullest), screen);
}

/** How a record ended, or its state, in a line that counts several. */
function labelOf(record: JobRecord, screen: Screen): string {
  return heartbeatOf(record, screen)?.silent ? 'silent' : endingLabel(record);
}

/** At most this many ways to end are named; where there are more, bad ends are counted together. */
const MOST_ENDINGS = 2;

function endingCounts(ends: JobLine['ends'], labelled: (record: JobRecord) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { record, count } of ends) {
    const label = labelled(record);
    counts.set(label, (counts.get(label) ?? 0) + count);
  }
  return counts;
}

function endingText({ records, latest, ends }: JobLine, screen: Screen): string {
  if (records === 1 && latest.status === 'running') return screen.style.warning(runningLabel(latest, screen));
  const each = endingCounts(ends, (record) => labelOf(record, screen));
  const together = (record: JobRecord): string => (succeeded(record) === false ? 'failed' : labelOf(record, screen));
  const text = [...(each.size > MOST_ENDINGS ? endingCounts(ends, together) : each)]
    .sort(([, a], [, b]) => b - a)
    .map(([label, count]) => (records === 1 ? label : `${formatCount(count)} ${label}`))
    .join(', ');
  const bad = ends.some(({ record }) => succeeded(record) === false);
  const plain = ends.every(({ record }) => endingLabel(record) === 'ok');
  return bad ? screen.style.bad(text) : plain ? text : screen.style.warning(text);
}

/** "4711", "4711.3"; for several records "4720 ×20" tasks, "4711 (2 runs)", "4711 (10 hosts)", "4711 (3 slave tasks)". */
function jobText({ records, tasks, masters, host, latest }: JobLine, screen: Screen): string {
  if (records === 1) return jobLabel(latest, screen);
  if (tasks > 1) return `${jobName(latest)} ${screen.glyphs.times}${tasks}`;
  const slaves = records - masters;
  const parts =
    masters > 1 ? `${masters} runs` : host.values > 1 ? `${host.values} hosts` : plural(slaves, 'slave task');
  return `${jobName(latest)} (${parts})`;
}

const peakCell =
  (of: Of<Bracket | null>): RecordColumn['cell'] =>
  (line, screen) => {
    const brackets = line.flatMap((record) => of(record) ?? []);
    const [bracket] = largestFirst(brackets, figureOf);
    return bracket === undefined ? '' : formatPeak(bracket, screen.glyphs);
  };

/** The peak; where none was measured, Grid Engine's figure. */
function peakText(
  { fullest: { peak_rss: peak }, largest_counted_bytes: counted }: JobLine,
  { glyphs }: Screen,
): string {
  if (peak !== null) return formatPeak(peak, glyphs);
  return counted === null ? glyphs.none : formatCounted(counted);
}

function limitText({ fullest, largest_limit_bytes: largest }: JobLine): string {
  const limit = limitOf(fullest) ?? largest;
  return limit === null ? '' : formatRequested(limit);
}

/** Grid Engine's `config` file of a slave task lacks the job's name. */
const nameOf = (line: RecordLine): string =>
  summedLine(line).latest.job_name ?? line.find(({ job_name: name }) => name !== null)?.job_name ?? '';

/** The value that all records of a line have, or how many different ones there are. */
function agreedText({ value, values }: JobLine['owner'], screen: Screen, what: string): string {
  return values <= 1 ? screen.safe(value ?? '') : `${formatCount(values)} ${what}`;
}

const orNothing = (value: number | null, format: (value: number) => string): string =>
  value === null ? '' : format(value);

/** "4 GiB", "mem_free 4 GiB". */
function requestCell(line: RecordLine, screen: Screen): string {
  const requests = line.flatMap((record) => requestOf(record) ?? []);
  const [request] = largestFirst(requests, ({ request_bytes: bytes }) => bytes ?? -1);
  if (request?.request_bytes == null) return '';
  const size = formatRequested(request.request_bytes);
  return request.complex === H_VMEM ? size : `${screen.safe(request.complex)} ${size}`;
}

const sizeCell =
  (of: Of<number | null>, format: (value: number) => string): RecordColumn['cell'] =>
  (line) =>
    orNothing(largestOfKnown(line.map(of)), format);

const sumCell =
  (of: Of<number | null>, format: (value: number) => string): RecordColumn['cell'] =>
  (line) =>
    orNothing(sumOfKnown(line.map(of)), format);

const textCell =
  (of: Of<string | null>, what: string): RecordColumn['cell'] =>
  (line, screen) => {
    const values = new Set(line.map(of).filter((value) => value !== null));
    return agreedText({ value: [...values][0] ?? null, values: values.size }, screen, what);
  };

const numberText = (value: number | null): string | null => (value === null ? null : String(value));

/** NONE is what Grid Engine writes for no project. */
const projectOf: Of<string | null> = ({ project }) => (project === 'NONE' ? null : project);

/** Every column by its name for --columns. */
export const RECORD_COLUMNS = {
  job: { head: 'job', says: 'number, with the task of an array job', ...ofSums(jobText) },
  owner: {
    head: 'owner',
    says: 'the user',
    shrinksTo: 8,
    ...ofSums(({ owner }, screen) => agreedText(owner, screen, 'owners')),
  },
  name: {
    head: 'name',
    says: "the job's name",
    dispensable: 1,
    shrinksTo: 11,
    cell: (line, screen) => screen.safe(nameOf(line)),
    summed: ({ latest }, screen) => screen.safe(latest.job_name ?? ''),
  },
  project: { head: 'project', says: 'its project', shrinksTo: 8, cell: textCell(projectOf, 'projects') },
  queue: { head: 'queue', says: 'the queue it ran in', shrinksTo: 8, cell: textCell(({ queue }) => queue, 'queues') },
  host: {
    head: 'host',
    hosts: true,
    says: 'where it ran',
    dispensable: 9,
    shrinksTo: 8,
    ...ofSums(({ host }, screen) => agreedText(host, screen, 'hosts')),
  },
  pe: { head: 'pe', says: 'its parallel environment', shrinksTo: 8, cell: textCell(({ pe }) => pe, 'pes') },
  account: {
    head: 'account',
    says: 'accounting string (qsub -A)',
    shrinksTo: 8,
    cell: textCell(({ account }) => account, 'accounts'),
  },
  program: {
    head: 'program',
    says: 'digest of its script (or command) and of its directory: equal where these are, but for numbers',
    shrinksTo: 8,
    cell: textCell(({ program }) => program, 'programs'),
  },
  cluster: {
    head: 'cluster',
    says: 'the cluster',
    shrinksTo: 8,
    cell: textCell(({ cluster }) => cluster, 'clusters'),
  },
  submitted: {
    head: 'submitted',
    says: 'when it was submitted',
    cell: (line, screen) =>
      moment(
        earliest(line, (record) => record.submitted_at),
        screen,
      ),
  },
  started: {
    head: 'started',
    says: 'when it started',
    cell: (line, screen) =>
      moment(
        earliest(line, (record) => record.started_at),
        screen,
      ),
  },
  until: { head: 'until', dispensable: 6, says: 'when it ended, or last reported', ...ofSums(untilText) },
  waited: {
    head: 'waited',
    says: 'from submission to start',
    align: 'right',
    cell: sizeCell(queueWait, formatDuration),
  },
  ran: {
    head: 'ran',
    says: 'elapsed time, the longest of several',
    dispensable: 5,
    align: 'right',
    ...ofSums(({ longest_seconds }) => orNothing(longest_seconds, formatDuration)),
  },
  slots: {
    head: 'slots',
    says: 'slots of the whole job',
    dispensable: 8,
    align: 'right',
    ...ofSums(({ slots, latest }) => String(slots ?? latest.host_slots ?? '')),
  },
  request: {
    head: 'request',
    says: 'memory as requested (per slot, unless the complex is per job)',
    align: 'right',
    cell: requestCell,
  },
  limit: { head: 'limit', dispensable: 3, says: 'requested memory on the host', align: 'right', ...ofSums(limitText) },
  peak: {
    head: 'peak',
    says: 'peak resident memory (RSS), a lower bound with >=, ~ of Grid Engine (maxvmem); of several the one closest to its limit',
    align: 'right',
    ...ofSums(peakText),
  },
  rss_swap: {
    head: 'RSS+swap',
    says: 'largest resident and swapped memory',
    align: 'right',
    cell: peakCell((record) => record.peak_rss_swap),
  },
  process: {
    head: 'process',
    says: 'largest address space of one process: what h_vmem and s_vmem limit by ulimit',
    align: 'right',
    cell: peakCell((record) => record.peak_process_vmem),
  },
  vmem: {
    head: 'vmem',
    says: 'largest sum of address spaces',
    align: 'right',
    cell: peakCell((record) => record.peak_vmem),
  },
  share: {
    head: 'of limit',
    says: 'memory efficiency: that peak over the limit on the host',
    dispensable: 2,
    align: 'right',
    ...ofSums(memoryText),
  },
  cpu: {
    head: 'CPU',
    says: 'CPU efficiency: CPU time over elapsed time and slots',
    dispensable: 4,
    align: 'right',
    ...ofSums(efficiencyText),
  },
  cpu_time: {
    head: 'CPU time',
    says: 'CPU time',
    align: 'right',
    cell: sumCell((record) => record.cpu_seconds, formatDuration),
  },
  requested: {
    head: 'requested',
    says: 'requested memory-hours, in GiB x h',
    align: 'right',
    cell: (line) => orNothing(sumOfKnown(perHost(line).map(requestedByteSeconds)), formatGibHours),
  },
  used: {
    head: 'used',
    says: 'used memory-hours (RSS), in GiB x h',
    align: 'right',
    cell: sumCell((record) => record.rss_byte_seconds, formatGibHours),
  },
  unused: {
    head: 'unused',
    says: 'requested and never used, in GiB x h, with ~ by Grid Engine (maxvmem)',
    dispensable: 7,
    align: 'right',
    ...ofSums(({ unused_byte_seconds: unused, is_counted: isCounted }) =>
      orNothing(unused, (sum) => `${isCounted ? '~' : ''}${formatGibHours(sum)}`),
    ),
  },
  read: {
    head: 'read',
    says: 'bytes read from storage',
    align: 'right',
    cell: sumCell((record) => record.read_bytes, formatBytes),
  },
  written: {
    head: 'written',
    says: 'bytes written to storage',
    align: 'right',
    cell: sumCell((record) => record.written_bytes, formatBytes),
  },
  energy: {
    head: 'energy',
    says: 'energy charged to the job, in kWh',
    align: 'right',
    cell: sumCell(chargedEnergy, (joules) => formatNumber(joules / JOULES_PER_KWH)),
  },
  processes: {
    head: 'processes',
    says: 'distinct processes',
    align: 'right',
    cell: sumCell((record) => record.processes, formatCount),
  },
  maxvmem: {
    head: 'maxvmem',
    says: "Grid Engine's own maxvmem, the largest of several",
    align: 'right',
    cell: sizeCell((record) => record.grid_engine?.maxvmem_bytes ?? null, formatBytes),
  },
  state: {
    head: 'state',
    says: 'finished, running, lost, unsampled',
    cell: textCell(({ status }) => status, 'states'),
  },
  ended: { head: 'ended', says: 'how it ended: ok, exit status or signal', ...ofSums(endingText) },
  exit: {
    head: 'exit',
    says: 'exit status',
    align: 'right',
    cell: textCell((record) => numberText(record.exit_status), 'values'),
  },
  signal: {
    head: 'signal',
    says: 'signal that ended it',
    cell: textCell((record) => (record.signal ? signalName(record.signal) : null), 'signals'),
  },
  failed: {
    head: 'failed',
    says: "Grid Engine's failed code",
    align: 'right',
    cell: textCell((record) => numberText(record.failed), 'codes'),
  },
  trust: {
    head: 'quality',
    says: 'data source: root sampler, usage, accounting or self-reported',
    cell: textCell(({ trust }) => trust, 'sources'),
  },
  samples: {
    head: 'samples',
    says: 'samples taken',
    align: 'right',
    cell: sumCell((record) => record.samples, formatCount),
  },
} as const satisfies Readonly<Record<string, RecordColumn>>;

export type RecordColumnName = keyof typeof RECORD_COLUMNS;

export const RECORD_COLUMN_NAMES = Object.keys(RECORD_COLUMNS) as readonly RecordColumnName[];

/** The usual columns for one owner's jobs. */
export const OWNER_COLUMNS: readonly RecordColumnName[] = [
  ...(['job', 'name', 'host', 'until', 'ran', 'slots', 'limit', 'peak', 'share', 'cpu', 'unused', 'ended'] as const),
];

/** The usual columns for several owners' jobs. */
export const MANY_OWNERS_COLUMNS: readonly RecordColumnName[] = ['job', 'owner', ...OWNER_COLUMNS.slice(1)];
