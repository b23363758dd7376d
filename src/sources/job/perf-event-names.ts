import { isUnavailable, unavailable, type Place, type Unavailable } from '../source';
import { corePmusOfHybrid, encodeTerms, readPmu, type PmuConfig } from './pmu';

/** An event that has a name of its own, the same on every kind of CPU. */
interface NamedEvent {
  readonly name: string;
  /** PERF_TYPE_* of linux/perf_event.h. */
  readonly type: number;
  readonly config: bigint;
  /** Software clocks count nanoseconds. */
  readonly unit: 'count' | 'seconds';
  readonly help: string;
}

const TYPE = { hardware: 0, software: 1, cache: 3, raw: 4 } as const;

const event = (type: number, config: number, name: string, help: string): NamedEvent => ({
  name,
  type,
  config: BigInt(config),
  unit: 'count',
  help,
});
const hardware = (config: number, name: string, help: string): NamedEvent => event(TYPE.hardware, config, name, help);
const software = (config: number, name: string, help: string): NamedEvent => event(TYPE.software, config, name, help);
const clock = (config: number, name: string, help: string): NamedEvent => ({
  ...software(config, name, help),
  unit: 'seconds',
});

const CACHE = { l1d: 0, l1i: 1, ll: 2, dtlb: 3, itlb: 4, bpu: 5, node: 6 } as const;
const OPERATION = { read: 0, write: 1, prefetch: 2 } as const;
const RESULT = { access: 0, miss: 1 } as const;

const cache = (
  name: string,
  [unit, operation, result]: readonly [keyof typeof CACHE, keyof typeof OPERATION, keyof typeof RESULT],
  help: string,
): NamedEvent => event(TYPE.cache, CACHE[unit] | (OPERATION[operation] << 8) | (RESULT[result] << 16), name, help);

/**
 * Every event with a name. The first 28 are Colmet's. Colmet gave the kernel bare numbers where a code of cache,
 * operation and result belongs, so its nine cache events counted read accesses, whatever their names say. They keep
 * that meaning here, so that figures stay comparable: cache_op_read and cache_result_access are cache_l1d, and
 * cache_op_prefetch is cache_ll (for prefetches there is llc_prefetches).
 */
export const NAMED_EVENTS: readonly NamedEvent[] = [
  hardware(0, 'cpu_cycles', 'CPU cycles while running.'),
  hardware(1, 'instructions', 'Instructions retired.'),
  hardware(2, 'cache_references', "Accesses to the last-level cache, as the CPU's maker defines them."),
  hardware(3, 'cache_misses', 'Accesses that the last-level cache could not serve.'),
  hardware(4, 'branch_instructions', 'Branches retired.'),
  hardware(5, 'branch_misses', 'Branches that were predicted wrongly.'),
  hardware(6, 'bus_cycles', 'Cycles of the bus.'),
  hardware(9, 'ref_cpu_cycles', 'Cycles at the nominal frequency.'),
  cache('cache_l1d', ['l1d', 'read', 'access'], 'Reads of the first-level data cache.'),
  cache('cache_ll', ['ll', 'read', 'access'], 'Reads of the last-level cache.'),
  cache('cache_dtlb', ['dtlb', 'read', 'access'], 'Reads that looked up the data TLB.'),
  cache('cache_itlb', ['itlb', 'read', 'access'], 'Fetches that looked up the instruction TLB.'),
  cache('cache_bpu', ['bpu', 'read', 'access'], 'Look-ups of the branch predictor.'),
  cache('cache_node', ['node', 'read', 'access'], 'Reads of memory, local and remote.'),
  cache('cache_op_read', ['l1d', 'read', 'access'], "The same as cache_l1d, under Colmet's name."),
  cache('cache_op_prefetch', ['ll', 'read', 'access'], 'The same as cache_ll: what Colmet counted under this name.'),
  cache('cache_result_access', ['l1d', 'read', 'access'], "The same as cache_l1d, under Colmet's name."),
  clock(0, 'cpu_clock', "Time on a CPU, by the CPU's clock."),
  clock(1, 'task_clock', "Time on a CPU, by the task's clock."),
  software(2, 'page_faults', 'Page faults.'),
  software(3, 'context_switches', 'Times that a thread left its CPU.'),
  software(4, 'cpu_migrations', 'Times that a thread moved to another CPU.'),
  software(5, 'page_faults_min', 'Page faults without reading from a disk.'),
  software(6, 'page_faults_maj', 'Page faults that had to read from a disk.'),
  software(7, 'alignment_faults', 'Unaligned accesses that the kernel had to fix (never on x86).'),
  software(8, 'emulation_faults', 'Instructions that the kernel had to emulate.'),
  software(9, 'dummy', 'Counts nothing.'),
  software(10, 'bpf_output', 'Events that BPF programs put out.'),
  hardware(7, 'stalled_cycles_frontend', 'Cycles without an instruction to issue.'),
  hardware(8, 'stalled_cycles_backend', 'Cycles in which no resource was free to issue to.'),
  cache('l1d_read_misses', ['l1d', 'read', 'miss'], 'Reads that the first-level data cache could not serve.'),
  cache('l1i_read_misses', ['l1i', 'read', 'miss'], 'Fetches that the first-level instruction cache could not serve.'),
  cache('llc_misses', ['ll', 'read', 'miss'], 'Reads that the last-level cache could not serve.'),
  cache('llc_prefetches', ['ll', 'prefetch', 'access'], 'Prefetches into the last-level cache.'),
  cache('dtlb_misses', ['dtlb', 'read', 'miss'], 'Reads whose page the data TLB did not know.'),
  cache('itlb_misses', ['itlb', 'read', 'miss'], 'Fetches whose page the instruction TLB did not know.'),
  cache('node_misses', ['node', 'read', 'miss'], "Reads of another node's memory."),
];

/** Other names in use. A "-" is as good as "_". */
const ALIASES: Readonly<Record<string, string>> = {
  cycles: 'cpu_cycles',
  branches: 'branch_instructions',
  ref_cycles: 'ref_cpu_cycles',
  faults: 'page_faults',
  minor_faults: 'page_faults_min',
  major_faults: 'page_faults_maj',
  cs: 'context_switches',
  migrations: 'cpu_migrations',
};

/** One code of an event; on a machine with two kinds of cores, an event has one for each. */
export interface Encoding extends PmuConfig {
  readonly type: number;
  /** Where it can count; null: on every CPU. */
  readonly cpus: readonly number[] | null;
}

export interface ResolvedEvent {
  /** As reported. */
  readonly name: string;
  readonly unit: 'count' | 'seconds';
  readonly encodings: readonly Encoding[];
}

/** In codes of types hardware and cache, the PMU's type stands in the bits above the event (PERF_PMU_TYPE_SHIFT). */
const PMU_SHIFT = 32n;

const plain = (config: bigint): PmuConfig => ({ config, config1: 0n, config2: 0n });

function resolveNamed({ name, unit, type, config }: NamedEvent, sys: string): ResolvedEvent {
  const cores = type === TYPE.software ? [] : corePmusOfHybrid(sys);
  const encodings =
    cores.length === 0
      ? [{ type, ...plain(config), cpus: null }]
      : cores.map((core) => ({ type, ...plain((BigInt(core.type) << PMU_SHIFT) | config), cpus: core.cpus }));
  return { name, unit, encodings };
}

function resolveRaw(name: string, code: string, sys: string): ResolvedEvent {
  const config = BigInt(`0x${code}`);
  const cores = corePmusOfHybrid(sys);
  const encodings =
    cores.length === 0
      ? [{ type: TYPE.raw, ...plain(config), cpus: null }]
      : cores.map((core) => ({ type: core.type, ...plain(config), cpus: core.cpus }));
  return { name, unit: 'count', encodings };
}

function resolveTerms(name: string, pmuName: string, terms: string, sys: string): ResolvedEvent | Unavailable {
  const pmu = readPmu(sys, pmuName);
  if (pmu === null) return unavailable(`${name}: no PMU "${pmuName}"`, `see ${sys}/bus/event_source/devices`);
  if (pmu.nodeWide) return unavailable(`${name}: ${pmuName} counts for the whole node, not for a job`);
  const words = encodeTerms(sys, pmu, terms);
  if (isUnavailable(words)) return words;
  const encoding = { type: pmu.type, ...words, cpus: pmu.cpus };
  return { name, unit: 'count', encodings: [encoding] };
}

/**
 * Finds an event by its name, by a raw code ("r1a2b", hexadecimal) or by a PMU's own terms
 * ("cpu/event=0x3c,umask=0x1/", "cpu/cache-misses/"); Unavailable when there is no such event.
 */
export function resolveEvent(text: string, { sys }: Pick<Place, 'sys'>): ResolvedEvent | Unavailable {
  const written = text.trim();
  const key = written.toLowerCase().replaceAll('-', '_');
  const wanted = Object.hasOwn(ALIASES, key) ? ALIASES[key] : key;
  const known = NAMED_EVENTS.find(({ name }) => name === wanted);
  if (known !== undefined) return resolveNamed(known, sys);
  const raw = /^r([0-9a-f]{1,16})$/i.exec(written);
  if (raw !== null) return resolveRaw(written, raw[1] ?? '', sys);
  const terms = /^([^/]+)\/([^/]*)\/$/.exec(written);
  if (terms !== null) return resolveTerms(written, terms[1] ?? '', terms[2] ?? '', sys);
  return unavailable(
    `${JSON.stringify(written.slice(0, 80))}: no such event`,
    'see "qmemacct metrics" for names; raw events are written r1a2b or PMU/term=value/',
  );
}
