import { AMOUNT_SORTS, SORTS, type Figures } from '../sorts';
import { GROUPING_SETS, keyOf, type GroupKey } from './grouping-sets';
import type { FactRow } from './summer';

/**
 * Lists of a day's largest records, so that who asks for those of a year need not read all its records. Of groups of one
 * dimension, or none, all clusters together, without what the job's owner alone says.
 */

/** The records of a smaller group are read as fast as lists of many days. */
const LEAST_RECORDS = 2000;
/** The same where no index finds the group's records: all of the day are read. */
const LEAST_WITHOUT_INDEX = 200;
/** Of a week's days the first pages rarely need more. A shorter list is whole: stored ones must have been made with this. */
export const MOST_LISTED = 40;

/** The first of a group's records by an order, largest first; of equal ones the newest. */
interface LargestList {
  /** The number of its grouping set. */
  readonly set: number;
  readonly key: GroupKey;
  /** The number of its order (AMOUNT_SORTS). */
  readonly sort: number;
  /** What they are ordered by; records without it are not listed. */
  readonly amounts: readonly number[];
  readonly ids: readonly number[];
}

/** A name is asked for, not the class that sums know. */
const SETS = GROUPING_SETS.flatMap((set, number) => (set.length < 2 && set[0] !== 'job_name' ? [number] : []));
const LEAST = SETS.map((number) =>
  GROUPING_SETS[number]?.some((name) => name !== 'owner') === true ? LEAST_WITHOUT_INDEX : LEAST_RECORDS,
);

/** Finds them among the records of one day. */
export class LargestOfDay {
  /** Of each record its number and, by order, its amounts; -Infinity: not known. */
  private readonly ids: number[] = [];
  private readonly amounts = AMOUNT_SORTS.map((): number[] => []);
  /** The places there of each group's records. */
  private readonly groups = SETS.map(() => new Map<GroupKey, number[]>());

  /** A record, with its keys of all DIMENSIONS. Records come oldest first. */
  add({ id, keys, facts }: FactRow): void {
    if (id === null) return;
    const figures: Figures = {
      wallclock: facts.wallclock === null ? null : facts.wallclock / 1000,
      cpu: facts.cpu === null ? null : facts.cpu / 1000,
      requested: facts.requested,
      held: facts.peak ?? facts.gridEngine,
    };
    const place = this.ids.push(id) - 1;
    for (const [sort, name] of AMOUNT_SORTS.entries())
      this.amounts[sort]?.push(SORTS[name].amount(figures) ?? -Infinity);
    for (const [at, set] of SETS.entries()) {
      const key = keyOf(set, keys);
      const places = this.groups[at]?.get(key);
      if (places === undefined) this.groups[at]?.set(key, [place]);
      else places.push(place);
    }
  }

  lists(): readonly LargestList[] {
    return this.groups.flatMap((groups, at) =>
      [...groups].flatMap(([key, places]) =>
        places.length < (LEAST[at] ?? 0) || (key === null && at > 0)
          ? []
          : this.amounts.map((amounts, sort) => ({ set: SETS[at] ?? 0, key, sort, ...this.largest(places, amounts) })),
      ),
    );
  }

  private largest(places: readonly number[], amountAt: readonly number[]): Pick<LargestList, 'amounts' | 'ids'> {
    const amounts: number[] = [];
    const ids: number[] = [];
    for (const place of places) {
      const amount = amountAt[place] ?? -Infinity;
      if (amount === -Infinity || (ids.length === MOST_LISTED && amount < (amounts[MOST_LISTED - 1] ?? 0))) continue;
      let before = ids.length;
      while (before > 0 && amount >= (amounts[before - 1] ?? 0)) before--;
      amounts.splice(before, 0, amount);
      ids.splice(before, 0, this.ids[place] ?? 0);
      amounts.length = ids.length = Math.min(ids.length, MOST_LISTED);
    }
    return { amounts, ids };
  }
}
