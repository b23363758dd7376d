import {
  addToBins,
  addToTotals,
  contributionOf,
  DEFAULT_FAR_BELOW,
  newSums,
  stepsOf,
  type Sums,
} from '../../record/sums';
import { addTotals } from '../../record/totals';
import type { Dictionary } from '../columns';
import { DIMENSIONS, type Dimension } from '../summary';
import { addBinCells } from './bins';
import { DAY_MS, periodEnd, periodStart, UNITS, type Period, type Unit } from './periods';
import type { EarlierRow, FactRow, GroupKey, JobKey, RolledRow } from './summer';

/**
 * Roll-ups: the sums of each UTC day by every dimension, and those of months and years, made of their days. A job counts
 * once in each group of a period. So that several periods count it once together, a period keeps of each job that had a
 * record before it in the same group when the last of these counts: `Again`.
 */

/** What is stored of a group in a period. */
export interface RolledGroup {
  /** 0: all of a cluster; else its place in DIMENSIONS, from 1. */
  readonly dimension: number;
  readonly cluster: string;
  readonly key: GroupKey;
  readonly sums: Sums;
}

/** A job of a group that was counted before the period. */
export interface Again {
  readonly dimension: number;
  readonly cluster: string;
  readonly key: GroupKey;
  /** When its last record of before counts (ms). */
  readonly before: number;
}

/** Number of a dimension in the roll-ups; 0: all of a cluster. */
export function dimensionNumber(name: Dimension | null): number {
  return name === null ? 0 : DIMENSIONS.indexOf(name) + 1;
}

/** The dictionary that a dimension's keys are numbers of. */
export function dictionaryOf(name: Dimension): Dictionary {
  return name === 'job_name' ? 'name_class' : name;
}

const STEPS = stepsOf(DEFAULT_FAR_BELOW);

interface ClusterGroups {
  readonly byDimension: readonly Map<GroupKey, RolledGroup>[];
}

/** Sums up one day. */
export class DaySums {
  private readonly clusters = new Map<string, ClusterGroups>();
  /** The groups in which a job has been counted. */
  private readonly groupsOf = new Map<JobKey, RolledGroup[]>();
  private readonly found: RolledGroup[] = [];

  /** A record of the day, with its keys of all DIMENSIONS. */
  add({ countedAt, cluster, job, keys, facts }: FactRow): void {
    const contribution = contributionOf(facts, countedAt);
    const ofCluster = this.clusterOf(cluster);
    const known = this.groupsOf.get(job);
    const counted = known ?? [];
    if (known === undefined) this.groupsOf.set(job, counted);
    for (let dimension = 0; dimension <= DIMENSIONS.length; dimension++) {
      const group = this.groupOf(ofCluster, dimension, cluster, dimension === 0 ? null : (keys[dimension - 1] ?? null));
      addToTotals(group.sums.totals, contribution, STEPS);
      addToBins(group.sums, contribution);
      if (known?.includes(group)) continue;
      counted.push(group);
      group.sums.totals.jobs++;
    }
  }

  groups(): readonly RolledGroup[] {
    return this.found;
  }

  /** Of the earlier records of the day's jobs, with their keys of all DIMENSIONS. */
  again(earlier: Iterable<EarlierRow>): readonly Again[] {
    const last = new Map<RolledGroup, Map<JobKey, number>>();
    for (const { countedAt, cluster, job, keys } of earlier)
      for (let dimension = 0; dimension <= DIMENSIONS.length; dimension++) {
        const key = dimension === 0 ? null : (keys[dimension - 1] ?? null);
        const group = this.clusters.get(cluster)?.byDimension[dimension]?.get(key);
        if (group === undefined || !this.groupsOf.get(job)?.includes(group)) continue;
        let jobs = last.get(group);
        if (jobs === undefined) last.set(group, (jobs = new Map<JobKey, number>()));
        jobs.set(job, Math.max(countedAt, jobs.get(job) ?? -1));
      }
    return [...last].flatMap(([{ dimension, cluster, key }, jobs]) =>
      [...jobs.values()].map((before) => ({ dimension, cluster, key, before })),
    );
  }

  private clusterOf(name: string): ClusterGroups {
    const known = this.clusters.get(name);
    if (known !== undefined) return known;
    const made = { byDimension: Array.from({ length: DIMENSIONS.length + 1 }, () => new Map<GroupKey, RolledGroup>()) };
    this.clusters.set(name, made);
    return made;
  }

  private groupOf({ byDimension }: ClusterGroups, dimension: number, cluster: string, key: GroupKey): RolledGroup {
    const ofDimension = byDimension[dimension] ?? new Map<GroupKey, RolledGroup>();
    const known = ofDimension.get(key);
    if (known !== undefined) return known;
    const made = { dimension, cluster, key, sums: newSums() };
    ofDimension.set(key, made);
    this.found.push(made);
    return made;
  }
}

/** Sums up a month of its days, or a year of its months, in one dimension. */
export class PeriodSums {
  private readonly found = new Map<string, RolledGroup>();
  private readonly before: Again[] = [];
  private readonly startMs: number;

  constructor(
    period: Period,
    private readonly dimension: number,
  ) {
    this.startMs = period.day * DAY_MS;
  }

  add({ cluster, key, totals, bins }: Omit<RolledRow, 'day'>): void {
    const { sums } = this.groupOf(cluster, key);
    addTotals(sums.totals, totals);
    if (bins !== null) addBinCells(sums, bins);
  }

  /** A job that one of its parts has counted again. */
  addAgain({ cluster, key, before }: Omit<Again, 'dimension'>): void {
    if (before < this.startMs) this.before.push({ dimension: this.dimension, cluster, key, before });
    else this.groupOf(cluster, key).sums.totals.jobs--;
  }

  groups(): Iterable<RolledGroup> {
    return this.found.values();
  }

  again(): readonly Again[] {
    return this.before;
  }

  private groupOf(cluster: string, key: GroupKey): RolledGroup {
    const name = `${key === null ? '' : `=${key}`}\n${cluster}`;
    const known = this.found.get(name);
    if (known !== undefined) return known;
    const made = { dimension: this.dimension, cluster, key, sums: newSums() };
    this.found.set(name, made);
    return made;
  }
}

export const PARTS_OF: Readonly<Record<Exclude<Unit, 'day'>, Unit>> = { month: 'day', year: 'month' };

/** Months, then years, that have ended by the last of the days summed up, and are not summed up themselves. */
export function missingPeriods(days: readonly number[], summed: readonly Period[]): readonly Period[] {
  const last = days.reduce((a, b) => Math.max(a, b), -1);
  const present = new Set(summed.map(({ unit, day }) => `${unit} ${day}`));
  return UNITS.filter((unit) => unit !== 'day').flatMap((unit) =>
    [...new Set(days.map((day) => periodStart(unit, day)))]
      .map((day): Period => ({ unit, day }))
      .filter((period) => periodEnd(period) <= last && !present.has(`${unit} ${period.day}`)),
  );
}
