import type {
  Bracket,
  BracketSource,
  GrantedSlots,
  GridEngineAccount,
  JobRecord,
  MemoryRequest,
  MemorySeries,
  OpenReason,
  RecordStatus,
  SamplerCost,
  Trust,
} from './record';

/** Bounds of what a record may hold: it may come from a user's own hand. */
export const RECORD_LIMITS = { stringBytes: 4096, notes: 64, requests: 64, seriesPoints: 240, hosts: 4096 } as const;

export const TRUSTS = ['root', 'usage', 'accounting', 'self-reported'] as const satisfies readonly Trust[];
export const STATUSES = ['finished', 'running', 'lost', 'unsampled'] as const satisfies readonly RecordStatus[];
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
] as const satisfies readonly OpenReason[];
export const BRACKET_SOURCES = [
  'sample',
  'mark',
  'usage',
  'exit-record',
  'cgroup',
  'limit',
] as const satisfies readonly BracketSource[];

/** Last ms of the year 9999: later times have no four-digit year. */
const LAST_MS = 253402300799999;
const MAX_INT32 = 2 ** 31 - 1;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;
/** Complexes are identifiers; this leaves out what would break keys, output or SQL, not more. */
const COMPLEX = /^[^\s\p{C}=,;:/]{1,128}$/u;

class Unusable extends Error {}

/** Checks of one field: throw Unusable naming `path`. An absent field is null: an older sampler does not know it. */
type Check<T> = (value: unknown, path: string) => T;

function fail(path: string, problem: string): never {
  throw new Unusable(`${path} ${problem}`);
}

function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, path) => (value === null || value === undefined ? null : check(value, path));
}

function number(least: number, most = Number.MAX_VALUE): Check<number> {
  return (value, path) => {
    if (typeof value !== 'number' || !(value >= least && value <= most))
      fail(path, `is not a number of ${least} to ${most}`);
    // -0 + 0 is 0: no store keeps the sign of a zero.
    return value + 0;
  };
}

function integer(least: number, most = Number.MAX_SAFE_INTEGER): Check<number> {
  const inRange = number(least, most);
  return (value, path) => {
    const checked = inRange(value, path);
    return Number.isSafeInteger(checked) ? checked : fail(path, 'is not a whole number');
  };
}

/** Lone surrogates, which no UTF-8 store can hold, become U+FFFD; so does NUL, which C code would end a string at. */
const text: Check<string> = (value, path) => {
  if (typeof value !== 'string') return fail(path, 'is not a string');

  const whole = value.length > RECORD_LIMITS.stringBytes ? value : value.replace(/[\p{Cs}\0]/gu, '\uFFFD');
  if (Buffer.byteLength(whole) > RECORD_LIMITS.stringBytes)
    return fail(path, `is longer than ${RECORD_LIMITS.stringBytes} bytes`);
  return whole;
};

const name: Check<string> = (value, path) => text(value, path) || fail(path, 'is empty');

const bool: Check<boolean> = (value, path) => (typeof value === 'boolean' ? value : fail(path, 'is not true or false'));

/** A time in its normal form, `toISOString`'s. */
const time: Check<string> = (value, path) => {
  if (typeof value !== 'string' || value.length > 40 || !TIME.test(value))
    return fail(path, 'is not an ISO 8601 UTC time');
  const ms = Date.parse(value);
  if (!(ms >= 0 && ms <= LAST_MS)) return fail(path, 'is no time since 1970');
  const normal = new Date(ms).toISOString();
  // Date.parse takes 30 February for 1 March.
  return normal.slice(0, 19) === value.slice(0, 19) ? normal : fail(path, 'is no date of the calendar');
};

function oneOf<T extends string>(known: readonly T[]): Check<T> {
  return (value, path) => known.find((item) => item === value) ?? fail(path, `is none of ${known.join(', ')}`);
}

/** Members of a vocabulary, each once, in the vocabulary's order. */
function setOf<T extends string>(known: readonly T[]): Check<readonly T[]> {
  const member = oneOf(known);
  return (value, path) => {
    const given = list(member, known.length)(value, path);
    return known.filter((item) => given.includes(item));
  };
}

function list<T>(check: Check<T>, most: number): Check<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) return fail(path, 'is not a list');
    if (value.length > most) return fail(path, `has more than ${most} items`);
    return value.map((item: unknown, index) => check(item, `${path}[${index}]`));
  };
}

function table(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(path, 'is not an object');
  return value as Record<string, unknown>;
}

const bytes = integer(0);
const count = integer(0);
/** Far above any job, far below where sums lose their footing. */
const seconds = number(0, 1e12);

const bracket: Check<Bracket> = (value, path) => {
  const given = table(value, path);
  const lower = bytes(given.lower_bytes, `${path}.lower_bytes`);
  const upper = nullable(bytes)(given.upper_bytes, `${path}.upper_bytes`);
  if (upper !== null && upper < lower) fail(path, 'has its upper end below its lower end');
  return {
    lower_bytes: lower,
    upper_bytes: upper,
    slack_bytes: bytes(given.slack_bytes, `${path}.slack_bytes`),
    proved: bool(given.proved, `${path}.proved`),
    exact: bool(given.exact, `${path}.exact`),
    open: setOf(OPEN_REASONS)(given.open, `${path}.open`),
    sources: setOf(BRACKET_SOURCES)(given.sources, `${path}.sources`),
    at: nullable(time)(given.at, `${path}.at`),
    command: nullable(text)(given.command, `${path}.command`),
  };
};

const memoryRequest: Check<MemoryRequest> = (value, path) => {
  const given = table(value, path);
  return {
    request_bytes: nullable(bytes)(given.request_bytes, `${path}.request_bytes`),
    limit_bytes: nullable(bytes)(given.limit_bytes, `${path}.limit_bytes`),
    per: oneOf(['slot', 'job'] as const)(given.per, `${path}.per`),
  };
};

const requests: Check<Readonly<Record<string, MemoryRequest>>> = (value, path) => {
  const entries = Object.entries(table(value ?? {}, path));
  if (entries.length > RECORD_LIMITS.requests) fail(path, `has more than ${RECORD_LIMITS.requests} items`);
  return Object.fromEntries(
    entries.map(([complex, request]) => {
      if (!COMPLEX.test(complex)) fail(path, 'has a key that is no complex');
      return [complex, memoryRequest(request, `${path}.${complex}`)];
    }),
  );
};

const grantedSlots: Check<GrantedSlots> = (value, path) => {
  const given = table(value, path);
  return { host: name(given.host, `${path}.host`), slots: count(given.slots, `${path}.slots`) };
};

const MOST_METRICS = 1000;
const METRIC = /^[a-z][a-z0-9_]{0,127}$/;

const metrics: Check<Readonly<Record<string, number>>> = (value, path) => {
  const entries = Object.entries(table(value ?? {}, path));
  if (entries.length > MOST_METRICS) throw new Unusable(`${path} has more than ${MOST_METRICS} entries`);
  return Object.fromEntries(
    entries.map(([name, given]) => {
      if (!METRIC.test(name)) throw new Unusable(`${path} has an entry that is no metric`);
      if (typeof given !== 'number' || !Number.isFinite(given)) throw new Unusable(`${path}.${name} is not a number`);
      return [name, given + 0];
    }),
  );
};

const sampler: Check<SamplerCost> = (value, path) => {
  const given = table(value, path);
  return {
    cpu_seconds: seconds(given.cpu_seconds, `${path}.cpu_seconds`),
    max_rss_bytes: bytes(given.max_rss_bytes, `${path}.max_rss_bytes`),
    mode: oneOf(['full', 'small'] as const)(given.mode, `${path}.mode`),
  };
};

const gridEngine: Check<GridEngineAccount> = (value, path) => {
  const given = table(value, path);
  const field = <Name extends keyof GridEngineAccount>(name: Name, check: Check<GridEngineAccount[Name]>) =>
    check(given[name], `${path}.${name}`);
  const amount = nullable(number(0, 1e30));
  return {
    wallclock_seconds: field('wallclock_seconds', seconds),
    cpu_seconds: field('cpu_seconds', seconds),
    user_seconds: field('user_seconds', nullable(seconds)),
    system_seconds: field('system_seconds', nullable(seconds)),
    maxvmem_bytes: field('maxvmem_bytes', nullable(bytes)),
    maxrss_bytes: field('maxrss_bytes', nullable(bytes)),
    mem_gib_seconds: field('mem_gib_seconds', amount),
    io_gib: field('io_gib', amount),
    category: field('category', nullable(text)),
    deleted_by: field('deleted_by', nullable(text)),
    lines: field('lines', integer(1)),
  };
};

const series: Check<MemorySeries> = (value, path) => {
  const given = table(value, path);
  return {
    start: time(given.start, `${path}.start`),
    step_seconds: number(0, 1e12)(given.step_seconds, `${path}.step_seconds`),
    rss_bytes: list(bytes, RECORD_LIMITS.seriesPoints)(given.rss_bytes, `${path}.rss_bytes`),
  };
};

type Checks = { readonly [Field in keyof JobRecord]: Check<JobRecord[Field]> };

const CHECKS: Checks = {
  cluster: name,
  job_id: integer(1),
  task_id: nullable(integer(1)),
  pe_task_id: nullable(name),
  host: name,
  run_id: name,
  owner: nullable(text),
  job_name: nullable(text),
  queue: nullable(text),
  project: nullable(text),
  pe: nullable(text),
  account: nullable(text),
  slots: nullable(count),
  host_slots: nullable(count),
  granted_hosts: nullable(list(grantedSlots, RECORD_LIMITS.hosts)),
  submitted_at: nullable(time),
  started_at: nullable(time),
  ended_at: nullable(time),
  exit_status: nullable(integer(-MAX_INT32, MAX_INT32)),
  signal: nullable(integer(0, MAX_INT32)),
  failed: nullable(integer(-MAX_INT32, MAX_INT32)),
  status: oneOf(STATUSES),
  trust: oneOf(TRUSTS),
  h_vmem: nullable(memoryRequest),
  requests,
  peak_rss: nullable(bracket),
  peak_rss_swap: nullable(bracket),
  peak_vmem: nullable(bracket),
  peak_process_vmem: nullable(bracket),
  peak_footprint: nullable(bracket),
  wallclock_seconds: nullable(seconds),
  cpu_seconds: nullable(seconds),
  cpu_efficiency: nullable(number(0, 1e12)),
  memory_efficiency: nullable(number(0, 1e18)),
  processes: nullable(count),
  max_processes: nullable(count),
  max_threads: nullable(count),
  read_bytes: nullable(bytes),
  written_bytes: nullable(bytes),
  read_chars: nullable(bytes),
  written_chars: nullable(bytes),
  claimed_by_tree_only: nullable(count),
  claimed_by_group_only: nullable(count),
  samples: nullable(count),
  interval_seconds: nullable(seconds),
  longest_gap_seconds: nullable(seconds),
  unobserved_start_seconds: nullable(seconds),
  rss_byte_seconds: nullable(number(0, 1e30)),
  sampler: nullable(sampler),
  grid_engine: nullable(gridEngine),
  metrics,
  series: nullable(series),
  notes: (value, path) => list(text, RECORD_LIMITS.notes)(value ?? [], path),
  revision: integer(0),
};

/** Own properties only: what `__proto__` in the JSON brings is no field. */
function ownValue(given: Readonly<Record<string, unknown>>, field: string): unknown {
  return Object.hasOwn(given, field) ? given[field] : undefined;
}

/**
 * A record out of untrusted JSON, every field checked and in its normal form; unknown fields are dropped. `trust`
 * replaces what the record claims of itself. Never throws.
 */
export function parseRecord(value: unknown, options: { readonly trust?: Trust } = {}): JobRecord | { error: string } {
  try {
    const given = table(value, 'the record');
    const fields = Object.entries(CHECKS).map(([field, check]) => [
      field,
      (check as Check<unknown>)(field === 'trust' && options.trust ? options.trust : ownValue(given, field), field),
    ]);
    return Object.fromEntries(fields) as JobRecord;
  } catch (error) {
    if (error instanceof Unusable) return { error: error.message };
    return { error: `can't be checked (${error instanceof Error ? error.message : 'unknown reason'})` };
  }
}
