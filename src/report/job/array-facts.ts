import type { Dialect } from '../../gridengine/dialect';
import { cpuEfficiency, queueWait } from '../../record/efficiency';
import { figureOf } from '../../record/peak-figure';
import type { JobRecord } from '../../record/record';
import { ArrayNeeds } from '../advice/array-needs';
import { measure, type Measured } from '../advice/advice';
import { fullness, fullnessOfRun } from '../advice/fit';
import { formatCounted, formatHeld } from '../format/bracket';
import { formatDuration, formatPercent } from '../format/units';
import type { ClassCounts } from '../rules/judge';
import { whyEnded, type Why } from '../why/why';
import type { Words } from '../why/words';
import { countedOf, SUM_OVER_HOSTS, type Counted } from './counted';
import { endingLabel } from './ending';
import { wholeOf, type JobWhole, type RunRecords } from './job-whole';

/** One task: its records put together (`whole`), and as one record with peak and limit of its fullest host. */
export interface Task {
  readonly record: JobRecord;
  readonly whole: JobWhole;
  /** Grid Engine's figure where no peak was measured, else null. */
  readonly counted: Counted | null;
}

export function taskOf(records: RunRecords): Task {
  const whole = wholeOf(records);
  const { peak_rss, h_vmem, requests, request_order } = whole.memoryHost;
  const record = whole.sum === null ? whole.total : { ...whole.total, peak_rss, h_vmem, requests, request_order };
  return { record, whole, counted: peak_rss === null ? countedOf(whole) : null };
}

interface Measure {
  readonly name: string;
  readonly of: (task: Task) => number | null;
  readonly format: (value: number) => string;
}

export const PEAK_MEMORY = 'peak memory (RSS)';
export const COUNTED_MEMORY = 'memory by maxvmem';

export const COUNTED_OVER_HOSTS = `${COUNTED_MEMORY}, ${SUM_OVER_HOSTS}`;

const countedAs =
  (sum: boolean): Measure['of'] =>
  ({ counted }) =>
    counted?.isSum === sum ? counted.bytes : null;

const MEASURES: readonly Measure[] = [
  {
    name: PEAK_MEMORY,
    of: ({ record }) => record.peak_rss && figureOf(record.peak_rss),
    format: formatHeld,
  },
  { name: COUNTED_MEMORY, of: countedAs(false), format: formatCounted },
  { name: COUNTED_OVER_HOSTS, of: countedAs(true), format: formatCounted },
  {
    name: 'largest address space',
    of: ({ record }) => record.peak_process_vmem && figureOf(record.peak_process_vmem),
    format: formatHeld,
  },
  { name: 'CPU time', of: ({ record }) => record.cpu_seconds, format: formatDuration },
  { name: 'CPU over slots', of: ({ record }) => cpuEfficiency(record), format: formatPercent },
  { name: 'ran', of: ({ record }) => record.wallclock_seconds, format: formatDuration },
];

const QUEUE_WAIT: Measure = { name: 'queue wait', of: ({ record }) => queueWait(record), format: formatDuration };

export function median(sorted: ArrayLike<number>): number {
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** The known values of a measure, and the task with the largest (the last of several). */
class Spread {
  private readonly values: number[] = [];
  private most = -Infinity;
  private task: number | null = null;

  constructor(readonly measure: Measure) {}

  add(task: Task): void {
    const value = this.measure.of(task);
    if (value === null) return;
    this.values.push(value);
    if (value >= this.most) [this.most, this.task] = [value, task.record.task_id];
  }

  /** The table row; null where no value is known. */
  row(): readonly string[] | null {
    const { name, format } = this.measure;
    const sorted = Float64Array.from(this.values).sort();
    const [least] = sorted;
    return least === undefined
      ? null
      : [name, format(least), format(median(sorted)), format(this.most), String(this.task ?? '')];
  }
}

export interface BadTask {
  readonly task: number | null;
  readonly why: Why;
}

/** A way in which tasks ended: how many did, and the first of them. */
interface Ending {
  readonly label: string;
  count: number;
  readonly tasks: number[];
}

/** Of each ending at most this many tasks are named; if there are more, none is. */
export const MOST_NAMED = 4;

interface ArrayView {
  readonly full: boolean;
  readonly words: Words;
  readonly dialect: Dialect | undefined;
  /** Counts the tasks by their classes; null: not wanted. */
  readonly counts: ClassCounts | null;
  /** At most this many bad ends are explained; left out: all. */
  readonly mostExplained?: number;
}

/** What the screen of an array is made from: its tasks added up, one after the other. */
export class ArrayFacts {
  tasks = 0;
  /**
   * The task nearest to its limit, without limits the one that needs most; the first one where no figures are known.
   */
  worst: Task | null = null;
  private weight = -Infinity;
  readonly hosts = new Set<string>();
  /** ISO times; `lastEnd` null: not all have ended. */
  firstStart: string | null = null;
  lastEnd: string | null = '';
  readonly spreads: readonly Spread[];
  private readonly ends = new Map<string, Ending>();
  readonly bad: BadTask[] = [];
  /** Number of tasks that ran into their limit, and the largest need among the others; null: none is known. */
  stopped = 0;
  mostOfOthers: Measured | null = null;
  readonly needs = new ArrayNeeds();
  submitCommand: string | null = null;

  constructor(tasks: Iterable<RunRecords>, { full, words, dialect, counts, mostExplained = Infinity }: ArrayView) {
    this.spreads = [...MEASURES, ...(full ? [QUEUE_WAIT] : [])].map((measure) => new Spread(measure));
    for (const records of tasks) {
      const task = taskOf(records);
      this.add(task);
      counts?.add(records);
      const why = this.bad.length < mostExplained ? whyEnded(records, words, dialect) : null;
      if (why !== null) this.bad.push({ task: task.record.task_id, why });
    }
  }

  /** The most frequent first. */
  endings(): readonly Ending[] {
    return [...this.ends.values()].sort((a, b) => b.count - a.count);
  }

  private add(task: Task): void {
    const { record, whole } = task;
    this.tasks += 1;
    this.hosts.add(record.host);
    this.addTimes(record);
    const measured = measure(record);
    const nearest = fullness(whole.fullest);
    const weight = nearest < 0 ? fullnessOfRun(whole.records) : nearest;
    if (this.worst === null || weight > this.weight) [this.worst, this.weight] = [task, weight];
    for (const spread of this.spreads) spread.add(task);
    this.addEnding(record);
    if (measured.isStopped) this.stopped += 1;
    else if (measured.bytes > (this.mostOfOthers?.bytes ?? 0)) this.mostOfOthers = measured;
    this.needs.add(whole.sum === null ? [measured] : whole.needs.map(measure));
    this.submitCommand ??= record.grid_engine?.submit_command ?? null;
  }

  /** Whether the memory of any task is known. */
  get knowsWorst(): boolean {
    return this.weight >= 0;
  }

  private addTimes({ started_at: started, ended_at: ended }: JobRecord): void {
    // ISO times in UTC sort as text.
    if (started !== null && (this.firstStart === null || started < this.firstStart)) this.firstStart = started;
    if (this.lastEnd !== null && (ended === null || ended > this.lastEnd)) this.lastEnd = ended;
  }

  private addEnding(record: JobRecord): void {
    const label = endingLabel(record);
    const ending = this.ends.get(label) ?? { label, count: 0, tasks: [] };
    if (ending.count === 0) this.ends.set(label, ending);
    ending.count += 1;
    if (ending.tasks.length <= MOST_NAMED && record.task_id !== null) ending.tasks.push(record.task_id);
  }
}
