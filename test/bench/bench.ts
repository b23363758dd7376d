import type { BudgetName } from './budgets';
/** What a benchmark hands back, and what it is given. */

export interface BenchOptions {
  /** How often each thing is done where one time would say little. */
  readonly runs: number;
  /** A first look: shorter windows, fewer runs. */
  readonly quick: boolean;
  /** Size of a history; null: the benchmark's own. */
  readonly jobs: number | null;
  /** Weeks that a history has; null: by its size. */
  readonly weeks: number | null;
  /** Directory in which a history is made, or found as an earlier run left it; null: a temporary one. */
  readonly keep: string | null;
  /** File of past jobs; null: none. */
  readonly trace: string | null;
  /** Accounting DB or node.db of real jobs; null: none. */
  readonly db: string | null;
  /** Tells on a terminal how far it has come. */
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
  /** What the median is held against. */
  readonly budget?: BudgetName | undefined;
  readonly note?: string;
}

export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
  /** Figures of another shape, below the rows: lines of cells, the first of them the head. */
  readonly table?: readonly (readonly string[])[];
  readonly notes?: readonly string[];
}

/** One file per benchmark; registered in main.ts. */
export interface Bench {
  readonly name: string;
  readonly about: string;
  run(options: BenchOptions): Promise<readonly Section[]>;
}
