import { AMOUNT_SORTS, SORTS, type Figures } from '../sorts';
import { GROUPING_SETS, keyOf, type GroupKey } from './grouping-sets';
import type { FactRow } from './summer';

/**
 * Lists of a day's largest records, so that a query for those of a year need not read all records of the year. They are
 * made for groups of one dimension, or none, over all clusters, without self-reported records.
 */

/** A smaller group gets no list: its records are read as fast as lists of many days. */
const LEAST_RECORDS = 2000;
/** The same for groups without an index, where all records of the day would be read. */
const LEAST_WITHOUT_INDEX = 200;
/** The first pages of a week rarely need more. A shorter list is complete, so stored lists must share this length. */
export const MOST_LISTED = 40;

/** The first of a group's records by an order, largest first; of equal ones the newest. */
interface LargestList {
  /** The number of its grouping set. */
  readonly set: number;
  readonly key: GroupKey;
  /** The number of its order (AMOUNT_SORTS). */
  readonly sort: number;
  /** The amounts that they are ordered by; records without one are not listed. */
  readonly amounts: readonly number[];
  readonly ids: readonly number[];
}

/** Sets with lists: not of job names, since lists are asked for by name, while sums know only the class. */
const SETS = GROUPING_SETS.flatMap((set, number) => (set.length < 2 && set[0] !== 'job_name' ? [number] : []));
const LEAST = SETS.map((number) =>
  GROUPING_SETS[number]?.some((name) => name !== 'owner') === true ? LEAST_WITHOUT_INDEX : LEAST_RECORDS,
);

/** Finds the largest records of one day. */
export class LargestOfDay {
  /** The number of each record, and by order its amount; -Infinity: not known. */
  private readonly ids: number[] = [];
  private readonly amounts = AMOUNT_SORTS.map((): number[] => []);
  /** The indexes in `ids` of each group's records. */
  private readonly groups = SETS.map(() => new Map<GroupKey, number[]>());

  /** Adds a record, with its keys of all DIMENSIONS. Records come oldest first. */
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
