import { GIB } from '../../base/units';
import { largestOfKnown } from '../../base/known';
import { categoryRequests, requestedSeconds, type CategoryRequest } from '../../gridengine/category-requests';
import { countedByExecd } from '../../record/cause';
import { activeSeconds, cpuEfficiency, DERIVED_HELP, memoryEfficiency, queueWait } from '../../record/efficiency';
import { FIELD_NAMES, FIELDS, type FieldName } from '../../record/fields';
import { shareOf } from '../../record/peak-figure';
import type { JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import { hasUnknownPart } from '../advice/advice';
import { heldOf, needOf } from '../advice/fit';
import { unitOfMetric, type QuantityUnit } from '../format/quantity';
import { succeeded } from '../../record/job-end';
import { wholeOf, type RunRecords } from '../job/job-whole';
import type { Meaning, Type } from './compile';
import { growthOf } from './growth';
import { dimensionOf, PLAIN } from './units';

/** Runs of one kind: of one owner, and of names that differ in their digits only. */
export interface Kind {
  readonly runs: number;
  readonly seconds: number;
}

/** One run of a job as rules see it. */
export interface Subject {
  /** The run's record; for a parallel job all its hosts as one. */
  readonly record: JobRecord;
  /** The record where memory was nearest to its limit: that of the run, or of one host of a parallel job. */
  readonly memory: JobRecord;
  /** Whether all that a request must fit is known. */
  readonly complete: boolean;
  /** What the job requested when it was submitted, by Grid Engine's accounting line. */
  readonly requested: readonly CategoryRequest[];
  /** null: the runs of its kind were not counted. */
  readonly kind: Kind | null;
}

let latestTime: { readonly requested: readonly CategoryRequest[]; readonly seconds: number | null } = {
  requested: [],
  seconds: null,
};

function requestedTime({ requested }: Subject): number | null {
  if (requested !== latestTime.requested) latestTime = { requested, seconds: requestedSeconds(requested, 'h_rt') };
  return latestTime.seconds;
}

/** A run as rules see it. */
export function subjectOf(records: RunRecords, kind: Kind | null): Subject {
  const category = records.find(({ grid_engine: line }) => line?.category != null)?.grid_engine?.category;
  const requested = categoryRequests(category ?? '');
  const { sum, total, fullest, needs } = wholeOf(records);
  return { record: total, memory: fullest, complete: sum === null || !hasUnknownPart(needs), requested, kind };
}

/** Something that a rule can name. */
export interface Fact extends Meaning<Subject> {
  readonly help: string;
  /** The field that it is read from, whole or a member of it. */
  readonly field?: FieldName;
  /** It is computed from memory over time, which lists are read without. */
  readonly needsSeries?: boolean;
  /** Whether the value is Grid Engine's figure, since no peak was measured: it is marked with ~. */
  readonly byGridEngine?: (subject: Subject) => boolean;
}

const numberType = (unit: QuantityUnit): Type => ({
  kind: 'number',
  of: dimensionOf(unit).of,
  isShare: unit === 'percent',
});

const SHARE: Type = { kind: 'number', of: PLAIN, isShare: true };

const fact = (type: Type, help: string, of: Fact['of'], needsSeries = false): Fact => ({
  type,
  help,
  of,
  needsSeries,
});

/** The memory needed on the fullest host, in bytes: as in advice, else Grid Engine's own figure. */
function needed({ memory, complete }: Subject): number | null {
  return complete ? (needOf(memory)?.bytes ?? countedByExecd(memory)) : null;
}

/** The peak's lower bound on the fullest host, in bytes, as screens show it; else Grid Engine's own figure. */
const held = ({ memory, complete }: Subject): number | null =>
  heldOf(memory) ?? (complete ? countedByExecd(memory) : null);

const notMeasured = ({ memory }: Subject): boolean => needOf(memory) === null;

let latestShare: { readonly subject: Subject; readonly share: number | null } | null = null;

/** The needed share of the limit; kept, since several rules ask for it. */
function neededShare(subject: Subject): number | null {
  if (latestShare?.subject !== subject)
    latestShare = { subject, share: shareOf(needed(subject), limitOf(subject.memory)) };
  return latestShare.share;
}

function busySlots({ record }: Subject): number | null {
  const active = activeSeconds(record);
  return record.cpu_seconds === null || active === null || active <= 0 ? null : record.cpu_seconds / active;
}

/**
 * Busy slots, plus threads that waited for a CPU: the kernel reports that wait at a process's end, in its exit record.
 */
function runnableThreads(subject: Subject): number | null {
  const busy = busySlots(subject);
  const active = activeSeconds(subject.record);
  const waited = subject.record.metrics.taskstats_cpu_delay_seconds ?? 0;
  return busy === null || active === null ? null : busy + waited / active;
}

/** The most memory in swap. The peaks show it only where memory was swapped out while it grew, not later on. */
function swapped({ record }: Subject): number | null {
  const { peak_rss_swap: both, peak_rss: rss, metrics } = record;
  const beyond = both === null || rss === null ? null : Math.max(0, both.lower_bytes - rss.lower_bytes);
  return largestOfKnown([metrics.cgroup_swap_peak_bytes, metrics.process_swap_peak_bytes, beyond]);
}

/** 0 counts as unknown: a kernel that does not count such waits says 0. */
function waitedForStorage({ record: { metrics } }: Subject): number | null {
  const known = [metrics.taskstats_block_io_delay_seconds, metrics.cgroup_io_stalled_seconds];
  return known.find((seconds) => (seconds ?? 0) > 0) ?? null;
}

const DERIVED: Readonly<Record<string, Fact>> = {
  cpu_efficiency: fact(SHARE, DERIVED_HELP.cpu_efficiency, ({ record }) => cpuEfficiency(record)),
  memory_efficiency: fact(SHARE, DERIVED_HELP.memory_efficiency, ({ memory }) => memoryEfficiency(memory)),
  queue_wait_seconds: fact(numberType('seconds'), DERIVED_HELP.queue_wait_seconds, ({ record }) => queueWait(record)),
  succeeded: fact({ kind: 'truth' }, 'it ended without an error', ({ record }) => succeeded(record)),
  limit_bytes: fact(numberType('bytes'), 'memory that its request allows, on all of its hosts', ({ record }) =>
    limitOf(record),
  ),
  needed_share: {
    type: SHARE,
    help: "of its limit, what had to fit: resident memory and swap, or the largest address space, on the fullest host; of jobs without samples Grid Engine's own figure",
    of: neededShare,
    byGridEngine: notMeasured,
  },
  needed_bytes: {
    type: numberType('bytes'),
    help: 'the same in bytes, on all hosts as if each were the fullest',
    of: (subject) => {
      const share = neededShare(subject);
      const limit = limitOf(subject.record);
      return share === null || limit === null ? needed(subject) : share * limit;
    },
    byGridEngine: notMeasured,
  },
  held_share: {
    type: SHARE,
    help: 'the same share by what was held for certain',
    of: (subject) => shareOf(held(subject), limitOf(subject.memory)),
    byGridEngine: notMeasured,
  },
  held_bytes: {
    type: numberType('bytes'),
    help: 'the same in bytes, on the fullest host alone',
    of: held,
    byGridEngine: notMeasured,
  },
  held_limit_bytes: fact(numberType('bytes'), 'memory that its request allows on that host', ({ memory }) =>
    limitOf(memory),
  ),
  active_seconds: fact(numberType('seconds'), 'elapsed time without that in which it was suspended', ({ record }) =>
    activeSeconds(record),
  ),
  busy_slots: fact(numberType('count'), 'CPU time over active_seconds: slots that computed, on average', busySlots),
  runnable_threads: fact(
    numberType('count'),
    'CPU time and time that its threads waited for a CPU, over active_seconds: those that ran or could have, on average, whatever else the host did; without exit records and over several hosts busy_slots',
    runnableThreads,
  ),
  idle_slots: fact(numberType('count'), 'its slots minus busy_slots; 0 where it kept more busy', (subject) => {
    const busy = busySlots(subject);
    const slots = subject.record.host_slots;
    return busy === null || slots === null ? null : Math.max(0, slots - busy);
  }),
  h_rt_seconds: fact(numberType('seconds'), "its walltime limit, by Grid Engine's accounting", requestedTime),
  swap_bytes: fact(numberType('bytes'), 'most of its memory that was in swap', swapped),
  storage_wait_seconds: fact(
    numberType('seconds'),
    'that its processes waited for storage, added up; not known where the kernel does not count it',
    waitedForStorage,
  ),
  growth_bytes: fact(
    numberType('bytes'),
    'by how much memory grew from the first eighth of the run to the last',
    ({ record }) => growthOf(record.series)?.bytes ?? null,
    true,
  ),
  rising_eighths: fact(
    numberType('count'),
    'how many of the last seven eighths of the run held more memory than the one before, by 1 % of the peak or more',
    ({ record }) => growthOf(record.series)?.rising ?? null,
    true,
  ),
  runs_of_kind: fact(
    numberType('count'),
    "runs of the owner's jobs of this name, digits aside, in the period of the list or report; of one job within a day of it",
    ({ kind }) => kind?.runs ?? null,
  ),
  mean_seconds_of_kind: fact(numberType('seconds'), 'how long these ran on average', ({ kind }) =>
    kind === null || kind.runs === 0 ? null : kind.seconds / kind.runs,
  ),
};

/** A number of a record under its name in CSV. */
function numberFact(name: string, help: string, isBytes: boolean, read: (record: JobRecord) => unknown): Fact {
  const inGib = name.endsWith('_gib_seconds') || name.endsWith('_gib');
  const unit = inGib ? (name.endsWith('_gib') ? 'bytes' : 'byte_seconds') : isBytes ? 'bytes' : unitOfMetric(name);
  return fact(numberType(unit), help, ({ record }) => {
    const value = read(record);
    return typeof value === 'number' ? value * (inGib ? GIB : 1) : null;
  });
}

function textFact(help: string, read: (record: JobRecord) => unknown): Fact {
  return fact({ kind: 'text' }, help, ({ record }) => {
    const value = read(record);
    return typeof value === 'string' ? value : null;
  });
}

const NUMBERS: ReadonlySet<string> = new Set(['integer', 'real', 'seconds']);
const TEXTS: ReadonlySet<string> = new Set(['word', 'choice', 'text']);

interface Stored {
  readonly name: string;
  readonly as: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly help: string;
}

function storedFact({ name, as, schema, help }: Stored, read: (record: JobRecord) => unknown): [string, Fact][] {
  if (NUMBERS.has(as)) return [[name, numberFact(name, help, schema.description === 'bytes', read)]];
  return TEXTS.has(as) ? [[name, textFact(help, read)]] : [];
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : null;
}

/** A field of the record, or its members, as CSV names them. */
function fieldFacts(field: FieldName): [string, Fact][] {
  const { storage, shape, help } = FIELDS[field];
  if (storage.as === 'bracket')
    return ['lower_bytes', 'upper_bytes'].map((end) => {
      const name = `${field}_${end}`;
      return [name, numberFact(name, help, true, (record) => member(record[field], end))];
    });
  if (storage.as === 'members') {
    const prefix = storage.prefix ?? field;
    return Object.entries(storage.of).flatMap(([name, leaf]) =>
      storedFact({ name: `${prefix}_${name}`, as: leaf.storage.as, schema: leaf.schema, help }, (record) =>
        member(record[field], name),
      ),
    );
  }
  return storedFact({ name: field, as: storage.as, schema: shape.schema, help }, (record) => record[field]);
}

/** Everything that a rule can name besides metrics. */
export const FACTS: ReadonlyMap<string, Fact> = new Map([
  ...FIELD_NAMES.flatMap((field) => fieldFacts(field).map(([name, of]) => [name, { ...of, field }] as const)),
  ...Object.entries(DERIVED),
]);

/** A metric of the record, in the language's own units. */
export function metricFact(name: string): Fact {
  const unit = unitOfMetric(name);
  const { factor } = dimensionOf(unit);
  return fact(numberType(unit), 'a metric', ({ record: { metrics } }) => {
    const value = metrics[name];
    return value === undefined ? null : value * factor;
  });
}
