import type { BudgetName } from './budgets';
/** What a benchmark is given, and what it returns. */

export interface BenchOptions {
  /** How often each step is repeated where one measurement says little. */
  readonly runs: number;
  /** Shorter windows and fewer runs. */
  readonly quick: boolean;
  /** Size of a history; null: the benchmark's own. */
  readonly jobs: number | null;
  /** Weeks of a history; null: by its size. */
  readonly weeks: number | null;
  /** Directory where a history is made, or kept from an earlier run; null: a temporary one. */
  readonly keep: string | null;
  /** File of past jobs; null: none. */
  readonly trace: string | null;
  /** Accounting DB or node.db of real jobs; null: none. */
  readonly db: string | null;
  /** Shows progress on a terminal. */
  readonly progress: (text: string) => void;
}

export type Unit =
  | 'ms'
  | 'us'
  | 'ns'
  | '%'
  | 'MiB'
  | 'x'
  | 'bytes'
  | 'jobs/s'
  | 'jobs'
  | 'requests/s'
  | 'KiB'
  | 's'
  | 'records/s'
  | '1/s'
  | '1/min';

/** One measured quantity. */
export interface Row {
  readonly what: string;
  readonly unit: Unit;
  /** Every single measurement; empty: it could not be measured, for the reason in `note`. */
  readonly values: readonly number[];
  /** The budget of the median. */
  readonly budget?: BudgetName | undefined;
  readonly note?: string;
}

export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
  /** A table below the rows: lines of cells, the first line is the head. */
  readonly table?: readonly (readonly string[])[];
  readonly notes?: readonly string[];
}

/** One file per benchmark; registered in main.ts. */
export interface Bench {
  readonly name: string;
  readonly about: string;
  run(options: BenchOptions): Promise<readonly Section[]>;
}
