/**
 * How the energy of a node is charged to the jobs on it. The rule, for one interval:
 *
 * 1. Idle energy = idle power x seconds, at most what the packages used. Idle power is what the site says
 *    (`[sources.rapl] idle_watts`), else the smallest package power seen so far while the node was below 5 % busy. It is
 *    shown beside the job's energy and never charged to a job: the node would have used it without the job.
 * 2. What the packages used above that is charged by CPU time: a job pays its share of all CPU time used on the node.
 * 3. The energy of DRAM is charged by memory: a job pays its resident memory over all memory in use.
 * 4. What no job used (the system, other users, an interval with no CPU time at all) is charged to no job.
 * 5. The raw figure of the node, packages and DRAM, is kept beside, so that it can be divided otherwise.
 *
 * It is an approximation: cycles do not cost the same energy (vector units, turbo), and cores differ. If nothing is
 * configured, idle power counts as 0 until an idle interval has been seen, so that a job is charged too much rather
 * than too little; `idleKnownSeconds` tells for how long idle power was known.
 */
import { metricsOf, type Metric } from '../../sources/source';

/** What a node used in an interval. Joules, CPU seconds, bytes; null: no counter, or one that restarted in between. */
export interface NodeUse {
  readonly seconds: number;
  readonly packageJoules: number | null;
  readonly dramJoules: number | null;
  /** CPU time used by everything on the node, and CPU time that there was (seconds x CPUs). */
  readonly busyCpuSeconds: number | null;
  readonly cpuSeconds: number | null;
  /** Memory in use (total less available). */
  readonly usedBytes: number | null;
}

/** What one job used in the same interval. */
export interface JobUse {
  readonly cpuSeconds: number | null;
  readonly rssBytes: number | null;
}

/** Power of the idle node, in watts; null: not known yet. */
export interface IdlePower {
  readonly watts: number | null;
  readonly configured: boolean;
}

/** Sums over the intervals of one job's life on one node, before the first one. Joules and seconds. */
const NOTHING_USED = {
  /** Charged to the job. */
  packageJoules: 0,
  dramJoules: 0,
  /** Energy of the node while the job ran: its idle part, and all of it. */
  idleJoules: 0,
  nodeJoules: 0,
  seconds: 0,
  /** The part of `seconds` with usable counters and CPU times: if it is not all, the sums are lower bounds. */
  coveredSeconds: 0,
  idleKnownSeconds: 0,
};
type EnergyAccount = Readonly<typeof NOTHING_USED>;

export const newEnergyAccount = (): EnergyAccount => NOTHING_USED;

/** Below this share of its CPU time a node counts as idle. */
const IDLE_SHARE = 0.05;
/** RAPL advances in steps of 1 ms and CPU times in ticks of 10 ms: shorter intervals make false minima. */
const LEAST_IDLE_SECONDS = 1;
/** In longer intervals, while no job ran, a counter may have wrapped around more than once. */
const MOST_IDLE_SECONDS = 60;

/** Idle power before anything was seen; `watts` above 0 is the site's setting and stays. */
export function newIdlePower(watts: number): IdlePower {
  return watts > 0 && watts < Infinity ? { watts, configured: true } : { watts: null, configured: false };
}

const known = (value: number | null): number | null =>
  value !== null && value >= 0 && value < Infinity ? value : null;

/** Idle power after one more interval. */
export function learnIdlePower(idle: IdlePower, node: NodeUse): IdlePower {
  const joules = known(node.packageJoules);
  const busy = known(node.busyCpuSeconds);
  const cpu = known(node.cpuSeconds);
  if (idle.configured || joules === null || joules === 0 || busy === null || cpu === null || cpu === 0) return idle;
  const counts = node.seconds >= LEAST_IDLE_SECONDS && node.seconds <= MOST_IDLE_SECONDS;
  if (!counts || busy / cpu >= IDLE_SHARE) return idle;
  const watts = joules / node.seconds;
  return watts > 0 && watts < (idle.watts ?? Infinity) ? { watts, configured: false } : idle;
}

/** `part` as a share of `whole`, at most 1, since readings are not simultaneous. */
function share(part: number | null, whole: number | null): number {
  const own = known(part) ?? 0;
  const all = known(whole);
  return all === null || own === 0 ? 0 : own / Math.max(all, own);
}

/** One interval of one job. */
interface EnergyInterval {
  readonly node: NodeUse;
  readonly job: JobUse;
  readonly idle: IdlePower;
}

/** The account after one more interval. An interval whose length is 0 or not a number changes nothing. */
export function charge(account: EnergyAccount, { node, job, idle }: EnergyInterval): EnergyAccount {
  const seconds = known(node.seconds) ?? 0;
  if (seconds === 0) return account;
  const counted = known(node.packageJoules);
  const packageJoules = counted ?? 0;
  const dramJoules = known(node.dramJoules) ?? 0;
  const idleWatts = known(idle.watts);
  const idleJoules = Math.min(packageJoules, (idleWatts ?? 0) * seconds);
  const covered = counted !== null && known(node.busyCpuSeconds) !== null && known(job.cpuSeconds) !== null;
  return {
    packageJoules: account.packageJoules + (packageJoules - idleJoules) * share(job.cpuSeconds, node.busyCpuSeconds),
    dramJoules: account.dramJoules + dramJoules * share(job.rssBytes, node.usedBytes),
    idleJoules: account.idleJoules + idleJoules,
    nodeJoules: account.nodeJoules + packageJoules + dramJoules,
    seconds: account.seconds + seconds,
    coveredSeconds: account.coveredSeconds + (covered ? seconds : 0),
    idleKnownSeconds: account.idleKnownSeconds + (idleWatts === null ? 0 : seconds),
  };
}

const { counter } = metricsOf('energy', 'job');
const THOUSANDTHS = { resolution: 1000 };

const joules = (what: string, help: string): Metric => counter(what, 'joules', help, THOUSANDTHS);

const METRICS = {
  packageJoules: joules('package', "CPU packages, above idle: the job's share by CPU time."),
  dramJoules: joules('dram', "Memory: the job's share by resident memory."),
  idleJoules: joules('idle', 'What the idle node would have used while the job ran; charged to no job.'),
  nodeJoules: joules('node', 'Packages and memory of the whole node while the job ran, other jobs included.'),
  coveredSeconds: counter(
    'covered',
    'seconds',
    'Time for which the energy is known: where the job ran longer, the other figures are lower bounds.',
    THOUSANDTHS,
  ),
} as const satisfies Readonly<Partial<Record<keyof EnergyAccount, Metric>>>;

/** What a record says of a job's energy. */
export const ENERGY_JOB_METRICS: readonly Metric[] = Object.values(METRICS);

/** Flat figures for the record, by the names of ENERGY_JOB_METRICS; empty before the first interval. */
export function energyMetrics(account: EnergyAccount): Readonly<Record<string, number>> {
  if (account.seconds === 0) return {};
  return Object.fromEntries(
    (Object.keys(METRICS) as readonly (keyof typeof METRICS)[]).map((field) => {
      const { name, resolution = 1 } = METRICS[field];
      return [name, Math.round(account[field] * resolution) / resolution];
    }),
  );
}
