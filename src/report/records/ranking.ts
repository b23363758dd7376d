import { JOULES_PER_KWH } from '../../base/units';
import type { Totals } from '../../record/totals';
import { unusedOfAll, unusedText } from './unused';

/** Something that owners, hosts ... can be ranked by. */
export interface Ranking {
  /** In a sentence: "Top owners by ...". */
  readonly name: string;
  /** Heading of its column, with the unit; for a count only its name. */
  readonly head: (dot: string) => string;
  readonly count: boolean;
  readonly says: string;
  readonly of: (totals: Totals) => number;
  /** Text of the cell where it is more than the formatted number. */
  readonly text?: (totals: Totals, format: (value: number) => string) => string;
}

const gibHours =
  (head: string) =>
  (dot: string): string =>
    `${head} GiB${dot}h`;

const counted = (name: keyof Totals, head: string, text: string, says: string): Ranking => ({
  name: text,
  head: () => head,
  count: true,
  says,
  of: (totals) => totals[name],
});

/** Rankings by their names for --by. */
export const RANKINGS = {
  unused: {
    name: 'unused memory',
    head: gibHours('unused'),
    count: false,
    says: "memory-hours requested and never used (above the peak, or Grid Engine's figure where there is none)",
    of: unusedOfAll,
    text: unusedText,
  },
  requested: {
    name: 'requested memory',
    head: gibHours('requested'),
    count: false,
    says: 'memory-hours requested',
    of: (totals) => totals.requested_gib_hours,
  },
  used: {
    name: 'used memory',
    head: gibHours('used'),
    count: false,
    says: 'memory-hours used (RSS)',
    of: (totals) => totals.used_gib_hours,
  },
  cpu: {
    name: 'CPU time',
    head: () => 'CPU h',
    count: false,
    says: 'CPU time',
    of: (totals) => totals.cpu_seconds / 3600,
  },
  slots: {
    name: 'slot hours',
    head: (dot) => `slot${dot}h`,
    count: false,
    says: 'elapsed time (suspended time left out) x slots',
    of: (totals) => totals.slot_seconds / 3600,
  },
  energy: {
    name: 'energy',
    head: () => 'kWh',
    count: false,
    says: 'energy charged to the jobs, where it is known',
    of: (totals) => totals.energy_joules / JOULES_PER_KWH,
  },
  jobs: counted('jobs', 'jobs', 'jobs', 'jobs and array tasks'),
  running: counted('running', 'running', 'running jobs', 'records of jobs that run'),
  failed: counted('failed', 'failed', 'failed jobs', 'records of jobs that ended badly'),
  killed: counted('killed_by_memory', 'killed', 'jobs killed by memory', 'records of jobs that memory ended'),
  above: counted('above_request', 'above', 'jobs above their request', 'records with a peak above the limit'),
  far_below: counted(
    'far_below',
    'far below',
    'jobs far below their request',
    'records with a peak far below the limit',
  ),
  unsampled: counted('unsampled', 'unsampled', 'jobs without samples', 'ended records that no sampler saw'),
} as const satisfies Readonly<Record<string, Ranking>>;

export type RankingName = keyof typeof RANKINGS;

export const RANKING_NAMES = Object.keys(RANKINGS) as readonly RankingName[];
