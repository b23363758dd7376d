import { groupBy } from '../../base/group-by';
import { COVERAGE_REASONS } from '../../record/coverage';
import { SHARE_STEPS, type Bins } from '../../record/sums';
import { TOTALS_NAMES, type MutableTotals } from '../../record/totals';
import { GROUPING_SETS, hasBins, keyOf, widerKey, type GroupKey } from './grouping-sets';
import { groupName, type DaySums } from './roll-up';
import type { EarlierRow, FactRow } from './summer';

/** The groups of an hour that a query asks for. */
export interface HourChoice {
  readonly set: number;
  /** null: all. */
  readonly key: string | null;
  /** Only keys within this key of all dimensions but the last; null: all. */
  readonly within: string | null;
  readonly cluster: string | null;
}

/** The sums of a group in an hour, as compact lists, since there are many. */
export interface HourGroup {
  readonly cluster: string;
  readonly key: GroupKey;
  /** In the order of TOTALS_NAMES. */
  readonly totals: readonly number[];
  /** The bins that are not 0: place, value, place, value ... */
  readonly bins: readonly number[];
  /** For each job with a record in the group before the hour, too: when the last of those counts (ms). */
  readonly before: readonly number[];
}

const BIN_PLACES = [3 * 24, SHARE_STEPS + 1, COVERAGE_REASONS.length];

function listOf({ hours, shares, coverage }: Bins): readonly number[] {
  const list: number[] = [];
  let first = 0;
  for (const [index, values] of [hours, shares, coverage].entries()) {
    values.forEach((value, at) => {
      if (value !== 0) list.push(first + at, value);
    });
    first += BIN_PLACES[index] ?? 0;
  }
  return list;
}

/** Adds a group's bins to `bins`. */
export function addHourBins({ hours, shares, coverage }: Bins, { bins }: HourGroup): void {
  const lists = [hours, shares, coverage];
  for (let index = 0; index < bins.length; index += 2) {
    let place = bins[index] ?? 0;
    let which = 0;
    for (; place >= (BIN_PLACES[which] ?? Infinity); which++) place -= BIN_PLACES[which] ?? 0;
    const list = lists[which];
    if (list !== undefined) list[place] = (list[place] ?? 0) + (bins[index + 1] ?? 0);
  }
}

const RECORDS_AT = TOTALS_NAMES.indexOf('records');

/** Adds a group's sums to `totals`; returns the number of its records. */
export function addHourTotals(totals: MutableTotals, group: HourGroup): number {
  for (let index = 0; index < TOTALS_NAMES.length; index++) {
    const name = TOTALS_NAMES[index];
    if (name !== undefined) totals[name] += group.totals[index] ?? 0;
  }
  return group.totals[RECORDS_AT] ?? 0;
}

/** The sums of an hour by every grouping set. */
export class HourSums {
  /** By grouping set, then by key. */
  private readonly groups: readonly Map<GroupKey, HourGroup[]>[] = GROUPING_SETS.map(() => new Map());
  /** Groups of several dimensions by their wider key, made when first asked for. */
  private readonly byWider = new Map<number, ReadonlyMap<string, readonly HourGroup[]>>();

  /** `earlier`: records from before the hour, of jobs that have one in it. */
  constructor(sums: DaySums, earlier: readonly EarlierRow[]) {
    const again = groupBy(sums.again(earlier), groupName);
    for (const group of sums.groups) {
      const { set, cluster, key } = group;
      const totals = TOTALS_NAMES.map((name) => group.sums.totals[name]);
      const before = again.size === 0 ? [] : (again.get(groupName(group))?.map((job) => job.before) ?? []);
      const made = { cluster, key, totals, bins: hasBins(set) ? listOf(group.sums) : [], before };
      const same = this.groups[set]?.get(key);
      if (same === undefined) this.groups[set]?.set(key, [made]);
      else same.push(made);
    }
  }

  *chosen({ set, key, within, cluster }: HourChoice): Generator<HourGroup, void> {
    const groups = this.groups[set] ?? new Map<GroupKey, HourGroup[]>();
    const lists: Iterable<readonly HourGroup[] | undefined> =
      within !== null ? [this.within(set).get(within)] : key !== null ? [groups.get(key)] : groups.values();
    for (const list of lists)
      for (const group of list ?? []) if (cluster === null || group.cluster === cluster) yield group;
  }

  private within(set: number): ReadonlyMap<string, readonly HourGroup[]> {
    const known = this.byWider.get(set);
    if (known !== undefined) return known;
    const made = groupBy([...(this.groups[set]?.values() ?? [])].flat(), ({ key }) => widerKey(key ?? ''));
    this.byWider.set(set, made);
    return made;
  }
}

/** Whether a record belongs to what a query asks for. */
export function isChosen({ cluster, keys }: Pick<FactRow, 'cluster' | 'keys'>, choice: HourChoice): boolean {
  return (
    (choice.cluster === null || cluster === choice.cluster) &&
    (choice.key === null || keyOf(choice.set, keys) === choice.key)
  );
}
