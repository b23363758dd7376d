import { monotonicMs } from '../base/monotonic';
import type { OptionValue } from '../record/setting';

/**
 * What every source of samples is: a name, what it reads, its fixed list of metrics, and open/read/close. A source parses
 * and nothing else: who reads it, when, and what becomes of the values is the sampler's business.
 *
 * Absent is not failed: missing hardware or permission is a state, `Unavailable`, that is reported once.
 */

export type Unit =
  | 'bytes'
  | 'seconds'
  | 'byte_seconds'
  | 'joules'
  | 'watts'
  | 'celsius'
  | 'hertz'
  | 'rpm'
  | 'volts'
  | 'percent'
  | 'ratio'
  | 'bits_per_second'
  | 'timestamp'
  | 'count';

export interface Metric {
  /** Unique in the product: the source's name, "_", what is measured; ends in "_" and the unit unless that is count. */
  readonly name: string;
  readonly unit: Unit;
  /** counter: only grows, until the thing that it counts for (node, device, job) starts again. */
  readonly kind: 'gauge' | 'counter';
  /** What one value is about. */
  readonly scope: 'process' | 'job' | 'node';
  /** Stored as integers: the value times this. 1 unless given: whole bytes, whole events; 1000 keeps milliseconds. */
  readonly resolution?: number;
  /** The label that distinguishes several values of one reading ("cpu", "interface", "zone"); none: one value only. */
  readonly instance?: string;
  /** One line: what it is and where it comes from. */
  readonly help: string;
}

/** One value, in the metric's unit. */
export interface Reading {
  readonly metric: string;
  /** Empty where the metric has one value only. */
  readonly instance: string;
  readonly value: number;
  /** The process that it belongs to, where the source knows it (GPU memory). */
  readonly pid?: number;
}

/** Why a source gives nothing here, and what would change that (null: nothing would). One line each. */
export interface Unavailable {
  readonly unavailable: string;
  readonly fix: string | null;
}

/** Where a source looks. A fixture tree stands in for the machine. */
export interface Place {
  /** "/proc" */
  readonly proc: string;
  /** "/sys" */
  readonly sys: string;
  /** "/": whatever else is read (device files, /var/run). */
  readonly root: string;
  /** ms of a clock that never goes back. */
  readonly now: () => number;
  /** The source's own options, complete: `[sources.NAME]` of qmemacct.toml over the defaults in `options`. */
  readonly options: Readonly<Record<string, OptionValue>>;
}

export interface OpenSource {
  /** Values of this moment. Devices that have vanished are left out; Unavailable when nothing is left. Never throws. */
  readonly read: () => readonly Reading[] | Unavailable;
  readonly close: () => void;
}

export interface Source {
  /** Lower-case letters and digits: the key of its table in qmemacct.toml. */
  readonly name: string;
  /** Files, directories or calls, as a reader of the documentation wants to see them. */
  readonly reads: readonly string[];
  readonly metrics: readonly Metric[];
  /** May block on slow hardware or on a user's memory: is read in the helper process only. */
  readonly blocking: boolean;
  /** For a reading with time limits of its own: seconds after which all of them have surely passed. */
  readonly patience?: (options: Place['options']) => number;
  /** Default time between two readings, in seconds. */
  readonly interval: number;
  /** Read unless the site says otherwise. */
  readonly enabled: boolean;
  /** Its own options in qmemacct.toml, with their defaults. */
  readonly options: Readonly<Record<string, OptionValue>>;
  readonly open: (place: Place) => OpenSource | Unavailable;
}

/** All that is known of a source without opening it. */
export type SourceFacts = Omit<Source, 'open'>;

/** A source that is asked about certain processes (PSS) rather than about the node. */
export interface ProcessSource extends SourceFacts {
  readonly open: (place: Place) => OpenProcessSource | Unavailable;
}

export interface OpenProcessSource {
  /** Calls `about` with a process before reading anything of it that may block, so that it is known which one did. */
  readonly read: (pids: readonly number[], about?: (pid: number) => void) => readonly Reading[] | Unavailable;
  readonly close: () => void;
}

/** The defaults of a source. */
export const USUAL = { blocking: false, interval: 10, enabled: true, options: {} } as const satisfies Partial<Source>;

type Usual = keyof typeof USUAL;

/** A source with the defaults of USUAL for what it leaves out. */
export const source = (given: Omit<Source, Usual> & Partial<Pick<Source, Usual>>): Source => ({ ...USUAL, ...given });

export function isUnavailable(result: unknown): result is Unavailable {
  return typeof result === 'object' && result !== null && 'unavailable' in result;
}

export const unavailable = (why: string, fix: string | null = null): Unavailable => ({ unavailable: why, fix });

/** The machine itself. */
export const THIS_MACHINE: Omit<Place, 'options'> = {
  proc: '/proc',
  sys: '/sys',
  root: '/',
  now: monotonicMs,
};

type Describe = (
  what: string,
  unit: Unit,
  help: string,
  more?: Partial<Pick<Metric, 'resolution' | 'instance'>>,
) => Metric;

/** Describes the metrics of one source; their names follow from the source, what is measured and the unit. */
export function metricsOf(
  name: string,
  scope: Metric['scope'] = 'node',
): { readonly gauge: Describe; readonly counter: Describe } {
  const describe =
    (kind: Metric['kind']): Describe =>
    (what, unit, help, more = {}) => ({
      name: `${name}_${what}${unit === 'count' ? '' : `_${unit}`}`,
      unit,
      kind,
      scope,
      ...more,
      help,
    });
  return { gauge: describe('gauge'), counter: describe('counter') };
}

export const reading = (metric: Metric, value: number, instance = ''): Reading => ({
  metric: metric.name,
  instance,
  value,
});

type MetricValue = readonly [Metric, number | null | undefined];

/** Readings of the values that are known. */
export const knownReadings = (values: readonly MetricValue[], instance = ''): readonly Reading[] =>
  values.flatMap(([metric, value]) => (value == null ? [] : [reading(metric, value, instance)]));

type MetricsByKey = Readonly<Record<string, Metric>>;

/** Readings of the metrics whose keys have a value. */
export function readingsByKey(metrics: MetricsByKey, values: ReadonlyMap<string, number>, instance = '') {
  const found = Object.entries(metrics).map(([key, metric]): MetricValue => [metric, values.get(key)]);
  return knownReadings(found, instance);
}

/**
 * An open source that keeps nothing open. `read` returns the readings; if it returns null or none, `why` gives the
 * reason.
 */
export function opened(read: () => readonly Reading[] | null, why: () => Unavailable): OpenSource | Unavailable {
  const readOrWhy = (): readonly Reading[] | Unavailable => {
    const readings = read();
    return readings === null || readings.length === 0 ? why() : readings;
  };
  const first = readOrWhy();
  return 'unavailable' in first ? first : { read: readOrWhy, close: () => undefined };
}

/** An option that is a list of words; empty when it is no list. */
export const listOption = (value: OptionValue | undefined): readonly string[] =>
  typeof value === 'object' ? value : [];
