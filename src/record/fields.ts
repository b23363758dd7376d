import {
  boolean,
  described,
  inOrder,
  integer,
  LAST_MS,
  list,
  map,
  name,
  named,
  nullable,
  number,
  object,
  oneOf,
  refined,
  setOf,
  text,
  time,
  fail,
} from '../base/shape';
import { PERS } from '../gridengine/memory-request';
import type { Shape, ValueOf } from '../base/shape';

/**
 * The record: one job's account on one host. This table is its only description; the TypeScript type, the check of
 * records that come from outside, the rules of merging, the columns of the stores and of CSV, the JSON Schema and the
 * reference are made from it. A new field is one line in FIELDS.
 */

/** Bounds of what a record may hold: it may come from a user's own hand. */
export const RECORD_LIMITS = {
  stringBytes: 4096,
  /** PostgreSQL indexes sums by it, beside a key of 1400 bytes: an entry takes 2704. */
  clusterBytes: 512,
  /** Bounds sums, too: 65 processes with address spaces of 128 TiB would exceed it. */
  bytes: Number.MAX_SAFE_INTEGER,
  notes: 64,
  requests: 64,
  metrics: 1000,
  seriesPoints: 240,
  slots: 10_000_000,
  otherSeries: 16,
  hosts: 4096,
} as const;

/** Where a record comes from, the most trusted first: its rank when accounts are merged (`Merge`). */
export const TRUSTS = ['root', 'usage', 'accounting', 'self-reported'] as const;
export const STATUSES = ['finished', 'running', 'lost', 'unsampled'] as const;
/** Why a bracket's upper end is open: nothing that was seen rules out a higher value. */
export const OPEN_REASONS = [
  'no-lineage',
  'no-exit-records',
  'no-samples',
  'start-gap',
  'end-gap',
  'exec',
  'failed-read',
  'fallen-mark',
  'sampler-lost',
  'no-page-accounting',
  'lost-records',
  'listener-lost',
  'unknown-origin',
  'swap',
  'unseen-host',
  'unseen-task',
] as const;
/** Where the ends of a bracket came from; `limit`: its upper end is no more than a limit, nothing measured it. */
export const BRACKET_SOURCES = ['sample', 'mark', 'usage', 'exit-record', 'cgroup', 'limit'] as const;

/** Strings that repeat, which stores keep once. */
export const WORD_LISTS = [
  'cluster',
  'owner',
  'host',
  'job_name',
  'queue',
  'project',
  'pe',
  'account',
  'program',
  'command',
  'category',
  'submit_command',
  'complex',
] as const;
export type WordList = (typeof WORD_LISTS)[number];

/** How a store keeps a value. `word`: a dictionary of strings that repeat; `choice`: its number in a list. */
export type Storage =
  | { readonly as: 'integer' | 'real'; readonly unit?: string }
  | { readonly as: 'seconds' | 'time' | 'text' | 'json' }
  | { readonly as: 'choice'; readonly of: readonly string[] }
  | { readonly as: 'word'; readonly dictionary: WordList };

/** A field of several values, each with a column of its own. */
export interface Members {
  readonly as: 'members';
  readonly of: Readonly<Record<string, Leaf<unknown>>>;
  /** Prefix of the columns' names; left out: the field's name. */
  readonly prefix?: string;
  /** Members that are read for lists of records; the others are null there. Left out: all. */
  readonly brief?: readonly string[];
}

/** One value, and how a store keeps it. */
export interface Leaf<T> extends Shape<T> {
  readonly storage: Storage;
  /** Set only for members of a field. */
  readonly help?: string;
}

/** A member of a field, and what it means. */
const meaning = <S extends Shape<unknown>>(help: string, member: S): S & { readonly help: string } => ({
  ...member,
  help,
});

function leaf<T>(shape: Shape<T>, storage: Storage): Leaf<T> {
  return { ...shape, storage };
}

function orNull<T>(value: Leaf<T>): Leaf<T | null> {
  return leaf(nullable(value), value.storage);
}

const anyText = text(RECORD_LIMITS.stringBytes);
const aName = name(RECORD_LIMITS.stringBytes);
const word = (dictionary: WordList): Leaf<string> => leaf(anyText, { as: 'word', dictionary });
const choice = <const T extends string>(of: readonly T[]): Leaf<T> => leaf(oneOf(of), { as: 'choice', of });
const whole = (least: number, most?: number): Leaf<number> => leaf(integer(least, most), { as: 'integer' });
/** Sums stay finite. */
const MOST_REAL = 1e30;
const real = (unit: string): Leaf<number> => leaf(number(0, MOST_REAL), { as: 'real', unit });
const count = whole(0);
const slotCount = whole(0, RECORD_LIMITS.slots);
const bytes = leaf({ ...count, schema: { type: 'integer', description: 'bytes' } }, { as: 'integer', unit: 'bytes' });
/** The bound is far above any job, and far below where sums lose precision. */
const seconds = leaf(
  refined(number(0, 1e12), (value) => Math.round(value * 1000) / 1000),
  { as: 'seconds' },
);
const when = leaf(time, { as: 'time' });
const ordered = <T>(shape: Shape<Readonly<Record<string, T>>>): typeof shape =>
  refined(shape, (members) => inOrder(Object.entries(members)));
const MAX_INT32 = 2 ** 31 - 1;

export const BRACKET = {
  lower_bytes: meaning('lower bound', bytes),
  upper_bytes: meaning('upper bound; null: open', orNull(bytes)),
  slack_bytes: meaning("error of the kernel's counters, inside both bounds", bytes),
  proved: meaning("the kernel's own records rule out more than the upper bound", boolean),
  exact: meaning('proved, and the bounds within 1 MiB or 1 % of each other', boolean),
  open: meaning('why there is no proved upper bound', setOf(OPEN_REASONS)),
  sources: meaning('what the bounds rest on', setOf(BRACKET_SOURCES)),
  at: meaning('when the lower bound was seen', orNull(when)),
  command: meaning('the largest process at that moment', orNull(word('command'))),
};

/**
 * A peak as proved bounds, in bytes; `slack_bytes` is already inside both ends. `upper_bytes` null: open, for the reasons
 * in `open`. `exact`: proved, and the ends within max(1 MiB, 1 %). `at`: when the lower end was seen; null where only
 * `usage` knows it. `command`: the largest process at that moment.
 */
export const bracket = refined(
  object(
    BRACKET,
    'a peak as bounds with the truth between them; lower_bytes is the figure that is shown and compared with limits; upper_bytes null: open, for the reasons in "open"; with "limit" among the sources upper_bytes was not measured, it is only what a limit allowed',
  ),
  (value) =>
    value.upper_bytes !== null && value.upper_bytes < value.lower_bytes
      ? fail('has its upper end below its lower end')
      : value,
);

/** A memory request, scaled as Grid Engine scales it; `limit_bytes`: on this host, null: unlimited. */
export const REQUEST = {
  request_bytes: meaning('the request, as given to qsub', orNull(bytes)),
  limit_bytes: meaning('the limit; null: unlimited', orNull(bytes)),
  per: meaning('what the request is for', choice(PERS)),
};
export const memoryRequest = object(REQUEST);

const SAMPLER = {
  cpu_seconds: meaning('CPU time', seconds),
  max_rss_bytes: meaning('most resident memory', bytes),
  mode: meaning("small where the job's limits could not be lifted", choice(['full', 'small'])),
};
/** What the sampler itself took; `mode` small where the job's limits could not be lifted. */
export const samplerCost = object(SAMPLER);

const ACCOUNT = {
  wallclock_seconds: meaning('elapsed time', seconds),
  cpu_seconds: meaning('CPU time', seconds),
  user_seconds: meaning('CPU time in user mode', orNull(seconds)),
  system_seconds: meaning('CPU time in the kernel', orNull(seconds)),
  maxvmem_bytes: meaning('its peak, of what it adds up (maxvmem)', orNull(bytes)),
  maxrss_bytes: meaning('largest resident memory (maxrss)', orNull(bytes)),
  mem_gib_seconds: meaning('memory integrated over time (mem)', orNull(real('GiB seconds'))),
  io_gib: meaning('transferred by calls (io)', orNull(real('GiB'))),
  category: meaning('the options of the submission, normalised', orNull(word('category'))),
  submit_command: meaning(
    'the command line of the submission, without values of variables and arguments of the script',
    orNull(word('submit_command')),
  ),
  deleted_by: meaning('who deleted the job', orNull(word('owner'))),
  lines: meaning('accounting lines of this run', whole(1)),
};
/** What lists read of the account; `lines` shows that there is one. */
const LISTED_ACCOUNT: readonly (keyof typeof ACCOUNT)[] = [
  'wallclock_seconds',
  'maxvmem_bytes',
  'category',
  'submit_command',
  'deleted_by',
  'lines',
];

/**
 * What Grid Engine's own accounting says of the job on this host, under its dialect's meaning; if it wrote several
 * lines for one run (intermediate ones at midnight), their sums and maxima. `category`: the options that the job was
 * submitted with, as Grid Engine normalised them; the user chooses them.
 */
export const gridEngineAccount = object(ACCOUNT, "what Grid Engine's own accounting says, under its dialect's meaning");

export const grantedSlots = object({ host: aName, slots: count }, 'what a parallel job was granted on a host');

/** Complexes are identifiers; the pattern excludes only what would break keys, output or SQL. */
const COMPLEX = /^[^\s\p{C}=,;:/]{1,128}$/u;
const METRIC = /^[a-z][a-z0-9_]{0,127}$/;

/** The series charted beside resident memory, if ever seen above 0; a record may hold others. */
export const OTHER_SERIES = {
  cpu_cores: 'CPU time used in a second, in cores',
  swap_bytes: 'largest swapped memory that was sampled in the step',
  read_bytes_per_second: 'read from storage',
  written_bytes_per_second: 'written to storage',
  gpu_percent: 'use of the GPUs that it holds: 100 for each at full load',
  gpu_memory_bytes: 'largest memory on GPUs that was sampled in the step',
} as const;

/**
 * Memory over time for the chart: the largest rss_sum sampled in each step (in the last step of a running job the
 * latest), and what else was seen then.
 */
export const memorySeries = object({
  start: time,
  step_seconds: seconds,
  rss_bytes: list(bytes, RECORD_LIMITS.seriesPoints),
  others: described(
    map(list(number(0, MOST_REAL), RECORD_LIMITS.seriesPoints), {
      key: METRIC,
      what: 'series',
      most: RECORD_LIMITS.otherSeries,
    }),
    `of each step: ${Object.keys(OTHER_SERIES).join(', ')}; absent: never seen above 0, or not known`,
  ),
});

export type Trust = (typeof TRUSTS)[number];
export type RecordStatus = (typeof STATUSES)[number];
export type OpenReason = (typeof OPEN_REASONS)[number];
export type BracketSource = (typeof BRACKET_SOURCES)[number];
export type Bracket = ValueOf<typeof bracket>;
export type MemoryRequest = ValueOf<typeof memoryRequest>;
export type SamplerCost = ValueOf<typeof samplerCost>;
export type GridEngineAccount = ValueOf<typeof gridEngineAccount>;
export type GrantedSlots = ValueOf<typeof grantedSlots>;
export type MemorySeries = ValueOf<typeof memorySeries>;

/**
 * How a field of two accounts is merged. `key`: identifies the record. `own`: describes the account itself. `rank`: the
 * more trusted account wins. `final`: first an account of the ended job wins, since the value grows until then. `each`:
 * its entries one by one. `status`: together with the notes that explain it.
 */
export type Merge = 'key' | 'own' | 'rank' | 'final' | 'each' | 'status';

/** One line of the table. */
export interface Field<T = unknown> {
  readonly shape: Shape<T>;
  readonly merge: Merge;
  /** One value, one column; else several (`members`, with their prefix), or a kind that each format treats in its own way. */
  readonly storage: Storage | Members | { readonly as: 'bracket' | 'requests' | 'metrics' | 'notes' | 'series' };
  /** What the field holds when nothing is known. */
  readonly empty: T;
  /** Names a person or what they run: hidden from those who may not see it. */
  readonly personal: boolean;
  readonly help: string;
}

interface Options {
  readonly merge?: Merge;
  readonly personal?: boolean;
}

/** A field that is null where nothing is known. */
function known<T>(value: Leaf<T>, help: string, { merge = 'rank', personal = false }: Options = {}): Field<T | null> {
  return { shape: nullable(value), merge, storage: value.storage, empty: null, personal, help };
}

function part<T>(shape: Shape<T>, component: string, storage: Field['storage'], help: string): Field<T | null> {
  return { shape: nullable(named(shape, component)), merge: 'rank', storage, empty: null, personal: false, help };
}

const peak = (help: string): Field<Bracket | null> => part(bracket, 'Bracket', { as: 'bracket' }, help);

function must<T>(value: Leaf<T>, merge: Merge, empty: T, help: string): Field<T> {
  return { shape: value, merge, storage: value.storage, empty, personal: false, help };
}

/** The fields in their published order. */
export const FIELDS = {
  cluster: must(
    leaf(name(RECORD_LIMITS.clusterBytes), { as: 'word', dictionary: 'cluster' }),
    'key',
    '',
    'cluster_name of the cell, else the cell',
  ),
  job_id: must(whole(1), 'key', 0, "Grid Engine's job number"),
  task_id: known(whole(1), 'array task; null unless the job is an array job', { merge: 'key' }),
  pe_task_id: known(
    leaf(aName, { as: 'text' }),
    "task of a tightly integrated job (1.node02); null: the job's master",
    { merge: 'key' },
  ),
  host: must(leaf(aName, { as: 'word', dictionary: 'host' }), 'key', '', 'where it ran'),
  run_id: must(
    leaf(aName, { as: 'text' }),
    'key',
    '',
    "boot id (8 hex digits) . shepherd's pid . its start time in clock ticks; of a record that a user handed in, .u and the uid",
  ),
  owner: known(word('owner'), 'user who owns the job', { personal: true }),
  job_name: known(word('job_name'), 'name of the job; of a sampled one, when it started (qalter -N)', {
    personal: true,
  }),
  queue: known(word('queue'), 'queue it ran in'),
  project: known(word('project'), 'project'),
  pe: known(word('pe'), 'parallel environment'),
  account: known(word('account'), 'account string (qsub -A)', { personal: true }),
  program: known(
    word('program'),
    'digest of its script (or command), a point, and one of its working directory; numbers in them do not count',
    { personal: true },
  ),
  slots: known(slotCount, 'slots of the whole job'),
  host_slots: known(slotCount, 'slots on this host'),
  granted_hosts: {
    shape: nullable(list(named(grantedSlots, 'GrantedSlots'), RECORD_LIMITS.hosts)),
    merge: 'rank',
    storage: { as: 'json' },
    empty: null,
    personal: false,
    help: "of a parallel job's master: its hosts, as Grid Engine granted them",
  } satisfies Field<readonly GrantedSlots[] | null>,
  submitted_at: known(when, 'when it was submitted'),
  started_at: known(when, 'when it started'),
  ended_at: known(when, 'when it ended'),
  exit_status: known(whole(-MAX_INT32, MAX_INT32), 'exit status of the job'),
  signal: known(whole(0, MAX_INT32), "signal that ended the job's first process; 0: none"),
  failed: known(whole(-MAX_INT32, MAX_INT32), "Grid Engine's `failed` code; null until joined with its accounting"),
  status: must(choice(STATUSES), 'status', 'finished', 'finished, running, lost (shepherd or host died) or unsampled'),
  trust: must(
    choice(TRUSTS),
    'own',
    'root',
    'data source: root sampler, usage file, accounting line, or self-reported',
  ),
  h_vmem: part(memoryRequest, 'MemoryRequest', { as: 'members', of: REQUEST }, 'h_vmem request and limit on this host'),
  requests: {
    shape: ordered(
      map(named(memoryRequest, 'MemoryRequest'), { key: COMPLEX, what: 'complex', most: RECORD_LIMITS.requests }),
    ),
    merge: 'each',
    storage: { as: 'requests' },
    empty: {},
    personal: false,
    help: 'every other memory request or limit in force, by complex',
  } satisfies Field<Readonly<Record<string, MemoryRequest>>>,
  request_order: known(
    word('complex'),
    "the site's order of complexes, the first requested being what the record is judged by; null: the usual one",
  ),
  peak_rss: peak('resident memory, summed over the distinct address spaces'),
  peak_rss_swap: peak('resident memory and swap, summed'),
  peak_vmem: peak('address space, summed'),
  peak_process_vmem: peak('largest address space of one process'),
  peak_footprint: peak('anonymous, shared and swapped memory, each page once'),
  wallclock_seconds: known(seconds, 'elapsed time', { merge: 'final' }),
  suspended_seconds: known(seconds, 'elapsed time in which all its processes were stopped', { merge: 'final' }),
  cpu_seconds: known(seconds, 'CPU time, children included', { merge: 'final' }),
  processes: known(count, 'distinct processes seen'),
  max_processes: known(count, 'most processes at one time'),
  max_threads: known(count, 'most threads at one time'),
  read_bytes: known(bytes, 'read from storage', { merge: 'final' }),
  written_bytes: known(bytes, 'written to storage', { merge: 'final' }),
  read_chars: known(bytes, 'read by calls, page cache included', { merge: 'final' }),
  written_chars: known(bytes, 'written by calls, page cache included', { merge: 'final' }),
  claimed_by_tree_only: known(count, 'processes found by the process tree alone'),
  claimed_by_group_only: known(count, 'processes found by the additional group id alone'),
  samples: known(count, 'samples taken'),
  interval_seconds: known(seconds, 'interval between samples'),
  longest_gap_seconds: known(seconds, 'longest time between two samples'),
  unobserved_start_seconds: known(seconds, "from the job's start to the first sample"),
  rss_byte_seconds: known(real('byte seconds'), 'resident memory integrated over time'),
  sampler: part(samplerCost, 'SamplerCost', { as: 'members', of: SAMPLER }, 'what the sampler itself took'),
  grid_engine: part(
    gridEngineAccount,
    'GridEngineAccount',
    { as: 'members', of: ACCOUNT, prefix: 'ge', brief: LISTED_ACCOUNT },
    "Grid Engine's own figures; null until joined with its accounting",
  ),
  metrics: {
    shape: ordered(map(number(-MOST_REAL, MOST_REAL), { key: METRIC, what: 'metric', most: RECORD_LIMITS.metrics })),
    merge: 'each',
    storage: { as: 'metrics' },
    empty: {},
    personal: false,
    help: 'what the other sources say of the whole job, by metric, in its unit (qmemacct metrics)',
  } satisfies Field<Readonly<Record<string, number>>>,
  series: part(memorySeries, 'MemorySeries', { as: 'series' }, 'memory over time, and what else is charted'),
  notes: {
    shape: {
      ...list(anyText, RECORD_LIMITS.notes),
      read: (value) => list(anyText, RECORD_LIMITS.notes).read(value ?? []),
    },
    merge: 'status',
    storage: { as: 'notes' },
    empty: [],
    personal: true,
    help: 'what the reader should know about these figures',
  } satisfies Field<readonly string[]>,
  revision: must(
    whole(0, LAST_MS),
    'own',
    0,
    'when this account was made (ms since the epoch): of two of equal rank the later wins',
  ),
};

export type FieldName = keyof typeof FIELDS;
export const FIELD_NAMES = Object.keys(FIELDS) as readonly FieldName[];

/** One job's account on one host, field by field as FIELDS says. */
export type JobRecord = { readonly [Name in FieldName]: ValueOf<(typeof FIELDS)[Name]['shape']> };
