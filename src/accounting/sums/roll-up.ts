import { DAY_MS } from '../../base/units';
import { addToBins, addToTotals, contributionOf, newBins, newSums, type Sums } from '../../record/sums';
import { addTotals, noTotals } from '../../record/totals';
import { addBinCells } from './bins';
import { GROUPING_SETS, hasBins, keyOf, KnownKeys, type GroupKey } from './grouping-sets';
import { periodEnd, periodStart, UNITS, type Period, type Unit } from './periods';
import type { EarlierRow, FactRow, JobKey, RolledRow } from './summer';

/**
 * Roll-ups: the sums of each UTC day by every grouping set, and of months and years, made from their days. A job counts
 * once in each group of a period. So that several periods together count it once, a period keeps for each job that had
 * an earlier record in the same group when the last of those records counts: `RepeatedJob`.
 */

/** What is stored for a group in a period. */
export interface RolledGroup {
  /** The number of its grouping set. */
  readonly set: number;
  readonly cluster: string;
  readonly key: GroupKey;
  readonly sums: Sums;
}

/** A job of a group that was counted before the period. */
export interface RepeatedJob {
  readonly set: number;
  readonly cluster: string;
  readonly key: GroupKey;
  /** When its last record before the period counts (ms). */
  readonly before: number;
}

/** A text that no other group has. */
export const groupName = ({ set, cluster, key }: Omit<RolledGroup, 'sums'>): string =>
  `${set} ${key === null ? '' : `=${key}`}\n${cluster}`;

/** Shared by groups without bins, which never add to them. */
const NO_BINS = newBins();

interface ClusterGroups {
  readonly bySet: readonly Map<GroupKey, RolledGroup>[];
}

/** Sums up one day or one hour. */
export class DaySums {
  private readonly clusters = new Map<string, ClusterGroups>();
  /** The groups in which a job has been counted. */
  private readonly groupsOf = new Map<JobKey, RolledGroup[]>();
  readonly groups: RolledGroup[] = [];
  private readonly known = new KnownKeys();

  /** Adds a record, with its keys of all DIMENSIONS. */
  add({ countedAt, cluster, job, keys, facts }: FactRow): void {
    const contribution = contributionOf(facts, countedAt);
    const ofCluster = this.clusterOf(cluster);
    const groups = GROUPING_SETS.map((_, set) =>
      this.groupOf(ofCluster, set, cluster, keyOf(set, keys, this.known.within)),
    );
    for (const { set, sums } of groups) {
      addToTotals(sums.totals, contribution);
      if (hasBins(set)) addToBins(sums, contribution);
    }
    const counted = this.groupsOf.get(job);
    if (counted === undefined) this.groupsOf.set(job, groups);
    for (const group of groups) {
      if (counted?.includes(group)) continue;
      counted?.push(group);
      group.sums.totals.jobs++;
    }
  }

  /** What `earlier` records of its jobs, with their keys of all DIMENSIONS, mean for each group. */
  again(earlier: Iterable<EarlierRow>): readonly RepeatedJob[] {
    const last = new Map<RolledGroup, Map<JobKey, number>>();
    for (const { countedAt, cluster, job, keys } of earlier)
      for (let set = 0; set < GROUPING_SETS.length; set++) {
        const group = this.clusters.get(cluster)?.bySet[set]?.get(keyOf(set, keys));
        if (group === undefined || !this.groupsOf.get(job)?.includes(group)) continue;
        let jobs = last.get(group);
        if (jobs === undefined) last.set(group, (jobs = new Map<JobKey, number>()));
        jobs.set(job, Math.max(countedAt, jobs.get(job) ?? -1));
      }
    return [...last].flatMap(([{ set, cluster, key }, jobs]) =>
      [...jobs.values()].map((before) => ({ set, cluster, key, before })),
    );
  }

  private clusterOf(name: string): ClusterGroups {
    const known = this.clusters.get(name);
    if (known !== undefined) return known;
    const made = { bySet: GROUPING_SETS.map(() => new Map<GroupKey, RolledGroup>()) };
    this.clusters.set(name, made);
    return made;
  }

  private groupOf({ bySet }: ClusterGroups, set: number, cluster: string, key: GroupKey): RolledGroup {
    const groups = bySet[set] ?? new Map<GroupKey, RolledGroup>();
    const known = groups.get(key);
    if (known !== undefined) return known;
    const made = { set, cluster, key, sums: hasBins(set) ? newSums() : { totals: noTotals(), ...NO_BINS } };
    groups.set(key, made);
    this.groups.push(made);
    return made;
  }
}

/** A month or a year. */
export type LargerPeriod = Period & { readonly unit: Exclude<Unit, 'day'> };

/** The periods from which a month or year is summed up: the number of their unit, first day, first day after. */
export function partsOf({ unit, day }: LargerPeriod): [unit: number, first: number, end: number] {
  return [UNITS.indexOf(unit === 'month' ? 'day' : 'month'), day, periodEnd({ unit, day })];
}

/** Sums up a month from its days, or a year from its months. */
export class PeriodSums {
  private readonly found = new Map<string, RolledGroup>();
  /** Jobs that were counted before the period. */
  readonly again: RepeatedJob[] = [];

  constructor(private readonly period: LargerPeriod) {}

  add(set: number, { cluster, key, totals, bins }: Omit<RolledRow, 'day'>): void {
    const { sums } = this.groupOf(set, cluster, key);
    addTotals(sums.totals, totals);
    // The hours of a year are not in one time zone (summer time), so nobody asks for its bins.
    if (this.period.unit !== 'year') addBinCells(sums, bins);
  }

  /** Adds a job that one of the period's parts has counted again. */
  addAgain(again: RepeatedJob): void {
    const { set, cluster, key, before } = again;
    if (before < this.period.day * DAY_MS) this.again.push(again);
    else this.groupOf(set, cluster, key).sums.totals.jobs--;
  }

  get groups(): readonly RolledGroup[] {
    return [...this.found.values()];
  }

  private groupOf(set: number, cluster: string, key: GroupKey): RolledGroup {
    const name = groupName({ set, cluster, key });
    const known = this.found.get(name);
    if (known !== undefined) return known;
    const made = { set, cluster, key, sums: newSums() };
    this.found.set(name, made);
    return made;
  }
}

/**
 * Months, then years, that have ended by the last day summed up and are not summed up themselves: when a year comes
 * first, all its months are summed up.
 */
export function missingPeriods(summed: readonly Period[]): readonly LargerPeriod[] {
  const days = summed.flatMap(({ unit, day }) => (unit === 'day' ? day : []));
  const last = days.reduce((a, b) => Math.max(a, b), -1);
  const present = new Set(summed.map(({ unit, day }) => `${unit} ${day}`));
  return UNITS.filter((unit) => unit !== 'day').flatMap((unit) =>
    [...new Set(days.map((day) => periodStart(unit, day)))]
      .map((day) => ({ unit, day }))
      .filter((period) => periodEnd(period) <= last && !present.has(`${unit} ${period.day}`)),
  );
}
