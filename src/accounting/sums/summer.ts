import { DAY_MS } from '../../base/units';
import type { Facts } from '../../record/facts';
import {
  addShiftedHours,
  addToBins,
  addToTotals,
  contributionOf,
  newBins,
  newSums,
  type Bins,
} from '../../record/sums';
import { addTotals, noTotals, TOTALS_NAMES, type MutableTotals, type Totals } from '../../record/totals';
import type { SummaryAnswer, SummaryGroup, SummaryQuery } from '../summary';
import { compareKeys, sortOf, summaryAnswer, zoneOffset } from '../summary-answer';
import { addBinCells, type BinCells } from './bins';
import { narrowest, type GroupKey } from './grouping-sets';
import { addHourBins, addHourTotals, type HourChoice, type HourGroup, type HourSums } from './hour-sums';
import { dayOf, isoDay, type Span } from './periods';
import type { SumPlan } from './plan';

/** One value per cluster, job and array task. */
export type JobKey = number | string;

/** A record as sums see it. */
export interface FactRow {
  /** Its number in the store; null: it has none yet. */
  readonly id: number | null;
  /** The moment at which it counts (ms). */
  readonly countedAt: number;
  readonly cluster: string;
  readonly job: JobKey;
  /** In the order of the dimensions that were asked for; for `job_name` the name class. */
  readonly keys: readonly GroupKey[];
  readonly facts: Facts;
}

/** A record from before a span, of a job that has one in it; of several with the same keys, the last is enough. */
export type EarlierRow = Pick<FactRow, 'countedAt' | 'cluster' | 'job' | 'keys'>;

/** A period's sums of one group. */
export interface RolledRow {
  /** First day of the period. */
  readonly day: number;
  readonly cluster: string;
  readonly key: GroupKey;
  readonly totals: Totals;
  readonly bins: BinCells;
}

/** Sums of a group over periods together. */
export type GroupTotals = readonly [GroupKey, Totals];

/** Jobs of a group that an earlier period of the interval has counted already. */
export interface RepeatedJobRow {
  readonly cluster: string;
  readonly key: GroupKey;
  readonly jobs: number;
}

/** How many jobs of an hour's group had an earlier record in it from `since` on. */
const countedSince = ({ before }: HourGroup, since: number): number =>
  before.length === 0 ? 0 : before.filter((at) => at >= since).length;

/**
 * Adds up the answer to a query, part by part of its plan; the store reads the parts. Jobs are counted once in the
 * interval and once in each group: a job counts on the first of its days, and later periods' counts of it are
 * subtracted.
 */
export class SummaryBuilder {
  private readonly sums = newSums();
  private readonly groups = new Map<GroupKey, MutableTotals>();
  /** The hours' groups: they are many, and only added up once it is known which of them the answer lists. */
  private readonly hourGroups: (readonly [GroupKey, HourGroup])[] = [];
  /** null: all. */
  private listed: ReadonlySet<GroupKey> | null = null;
  private read = 0;
  /** The UTC day of the part that is being read, and the bins of that day. */
  private day = -1;
  private dayBins = newBins();
  private named = { day: -1, name: '' };
  private readonly seen = new Set<JobKey>();
  private readonly seenByGroup = new Map<GroupKey, Set<JobKey>>();

  constructor(
    private readonly query: SummaryQuery,
    private readonly plan: SumPlan,
  ) {}

  /** Adds a record of a part that is read record by record, oldest first; `keyAt`: index of the key to group by. */
  addRecord({ countedAt, cluster, job, keys, facts }: FactRow, keyAt = 0): void {
    const day = dayOf(countedAt);
    if (day !== this.day) this.turnTo(day);
    this.read++;
    const contribution = contributionOf(facts, countedAt);
    addToTotals(this.sums.totals, contribution);
    addToBins(this.dayBins, contribution);
    if (!this.seen.has(job)) {
      this.seen.add(job);
      this.sums.totals.jobs++;
    }
    if (this.query.limit === 0) return;
    const key = this.keyOf(day, cluster, keys[keyAt] ?? null);
    const group = this.groupOf(key);
    addToTotals(group, contribution);
    let jobs = this.seenByGroup.get(key);
    if (jobs === undefined) this.seenByGroup.set(key, (jobs = new Set()));
    if (jobs.has(job)) return;
    jobs.add(job);
    group.jobs++;
  }

  /** Adds the sums of an hour of such a part, in place of its records. */
  addHour({ since }: Span, hour: HourSums, choice: HourChoice): void {
    const { groups = null } = this.plan.rolled ?? {};
    const day = dayOf(since);
    if (day !== this.day) this.turnTo(day);
    for (const group of hour.chosen(choice)) {
      this.read += addHourTotals(this.sums.totals, group);
      addHourBins(this.dayBins, group);
      this.sums.totals.jobs -= countedSince(group, this.query.since);
      if (groups === null) this.addHourGroup(this.keyOf(day, group.cluster, narrowest(choice.set, group.key)), group);
    }
    if (groups === null) return;
    const { set } = groups;
    for (const group of hour.chosen({ ...choice, set, key: null, within: choice.key }))
      this.hourGroups.push([narrowest(set, group.key), group]);
  }

  /** Ends a part, if the plan has roll-ups; `earlier`: the earlier records of its jobs that the query selects. */
  endPart(earlier: Iterable<EarlierRow>, keyAt = 0): void {
    const again = new Set<JobKey>();
    const againByGroup = new Map<GroupKey, Set<JobKey>>();
    for (const { countedAt, job, cluster, keys } of earlier) {
      if (this.seen.has(job)) again.add(job);
      if (countedAt < this.groupSince) continue;
      const key = this.keyOf(this.day, cluster, keys[keyAt] ?? null);
      if (this.seenByGroup.get(key)?.has(job)) againByGroup.set(key, (againByGroup.get(key) ?? new Set()).add(job));
    }
    this.sums.totals.jobs -= again.size;
    for (const [key, jobs] of againByGroup) this.groupOf(key).jobs -= jobs.size;
    this.seen.clear();
    this.seenByGroup.clear();
  }

  /** Adds the rows of the plan's `periods`, with their bins. */
  addRolled(rows: Iterable<RolledRow>): void {
    for (const row of rows) {
      addTotals(this.sums.totals, row.totals);
      const bins = newBins();
      addBinCells(bins, row.bins);
      this.addBins(row.day, bins);
      if (this.plan.rolled?.groups === null)
        addTotals(this.groupOf(this.keyOf(row.day, row.cluster, row.key)), row.totals);
    }
  }

  /** For the same periods: subtracts jobs that an earlier part of the interval has counted. */
  subtractAgain(rows: Iterable<RepeatedJobRow>): void {
    for (const { cluster, key, jobs } of rows) {
      this.sums.totals.jobs -= jobs;
      if (this.plan.rolled?.groups === null && this.query.by !== 'day')
        this.groupOf(this.keyOf(0, cluster, key)).jobs -= jobs;
    }
  }

  /** The total by which the listed groups can be chosen before all groups are read; null: read all of them. */
  get chosenBy(): keyof Totals | null {
    const sort = sortOf(this.query);
    // The numbers of jobs are known only at the end, after what is subtracted.
    return this.query.limit === undefined || sort === 'jobs' ? null : sort;
  }

  /**
   * Keeps only the groups that the answer lists, given what roll-ups add to the total `chosenBy`, and returns their
   * keys. The others must go: their partial sums may be larger than the whole, since unused memory can be negative.
   */
  keepListed(name: keyof Totals, rolled: Iterable<readonly [GroupKey, number]>): ReadonlySet<GroupKey> {
    const values = new Map([...this.groups].map(([key, totals]) => [key, totals[name]]));
    const add = (key: GroupKey, value: number): void => void values.set(key, (values.get(key) ?? 0) + value);
    const at = TOTALS_NAMES.indexOf(name);
    for (const [key, { totals }] of this.hourGroups) add(key, totals[at] ?? 0);
    for (const [key, value] of rolled) add(key, value);
    const sorted = [...values].sort(([a, x], [b, y]) => y - x || compareKeys(a, b));
    const listed = new Set(sorted.slice(0, this.query.limit).map(([key]) => key));
    for (const key of this.groups.keys()) if (!listed.has(key)) this.groups.delete(key);
    this.listed = listed;
    return listed;
  }

  /** Adds sums of the plan's groups, at least of the listed ones; a group may come several times. */
  addGroups(groups: Iterable<GroupTotals>): void {
    for (const [key, totals] of groups) addTotals(this.groupOf(key), totals);
  }

  subtractAgainOfGroups(rows: Iterable<RepeatedJobRow>): void {
    for (const { key, jobs } of rows) this.groupOf(key).jobs -= jobs;
  }

  answer(): SummaryAnswer {
    this.turnTo(-1);
    for (const [key, group] of this.hourGroups) if (this.listed?.has(key) !== false) this.addHourGroup(key, group);
    const groups = [...this.groups].map(([key, totals]): SummaryGroup => ({ key, totals }));
    return summaryAnswer({ ...this.sums, groups, read: this.read }, this.query);
  }

  /** From when on an earlier record means that a group has counted the job: days count their jobs separately. */
  private get groupSince(): number {
    const { by, since } = this.query;
    return by === 'day' ? Math.max(since, this.day * DAY_MS) : since;
  }

  private addHourGroup(key: GroupKey, group: HourGroup): void {
    const totals = this.groupOf(key);
    addHourTotals(totals, group);
    totals.jobs -= countedSince(group, this.groupSince);
  }

  private keyOf(day: number, cluster: string, key: GroupKey): GroupKey {
    const { by } = this.query;
    return by === 'day' ? this.nameOf(day) : by === 'cluster' ? cluster : key;
  }

  /** Keeps the last name, since records come day by day. */
  private nameOf(day: number): string {
    if (day !== this.named.day) this.named = { day, name: isoDay(day) };
    return this.named.name;
  }

  private groupOf(key: GroupKey): MutableTotals {
    const known = this.groups.get(key);
    if (known !== undefined) return known;
    const made = noTotals();
    this.groups.set(key, made);
    return made;
  }

  private addBins(day: number, { hours, shares, coverage }: Bins): void {
    addShiftedHours(this.sums.hours, hours, (hour) => zoneOffset(day, hour));
    shares.forEach((count, index) => (this.sums.shares[index] = (this.sums.shares[index] ?? 0) + count));
    coverage.forEach((count, index) => (this.sums.coverage[index] = (this.sums.coverage[index] ?? 0) + count));
  }

  private turnTo(day: number): void {
    if (this.day >= 0) this.addBins(this.day, this.dayBins);
    this.dayBins = newBins();
    this.day = day;
  }
}
