import { AMOUNT_SORTS, SORTS, type Figures } from '../sorts';
import { GROUPING_SETS, keyOf, type GroupKey } from './grouping-sets';
import type { FactRow } from './summer';

/**
 * Lists of a day's largest records, so that who asks for those of a year need not read all its records. Of groups of one
 * dimension, or none, all clusters together, without what the job's owner alone says.
 */

/** The records of a smaller group are read as fast as lists of many days. */
export const LEAST_RECORDS = 2000;
/** A page and more: over a week the first pages rarely need a day's other records. */
export const MOST_LISTED = 60;

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

interface Group {
  records: number;
  readonly lists: readonly { readonly amounts: number[]; readonly ids: number[] }[];
}

/** A name is asked for, not the class that sums know. */
const SETS = GROUPING_SETS.flatMap((set, number) => (set.length < 2 && set[0] !== 'job_name' ? [number] : []));

/** Finds them among the records of one day. */
export class LargestOfDay {
  private readonly groups = SETS.map(() => new Map<GroupKey, Group>());

  /** A record with a number, with its keys of all DIMENSIONS. Records come oldest first. */
  add(id: number, { keys, facts }: Pick<FactRow, 'keys' | 'facts'>): void {
    const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
    const figures: Figures = {
      wallclock: seconds(facts.wallclock),
      cpu: seconds(facts.cpu),
      requested: facts.requested,
      held: facts.peak ?? facts.gridEngine,
    };
    const amounts = AMOUNT_SORTS.map((sort) => SORTS[sort].amount(figures));
    SETS.forEach((set, at) => {
      const group = this.groupOf(at, keyOf(set, keys));
      group.records++;
      amounts.forEach((amount, sort) => {
        const list = group.lists[sort];
        if (amount === null || list === undefined) return;
        if (list.ids.length === MOST_LISTED && amount < (list.amounts[MOST_LISTED - 1] ?? 0)) return;
        let place = list.ids.length;
        while (place > 0 && amount >= (list.amounts[place - 1] ?? 0)) place--;
        list.amounts.splice(place, 0, amount);
        list.ids.splice(place, 0, id);
        if (list.ids.length > MOST_LISTED) {
          list.amounts.pop();
          list.ids.pop();
        }
      });
    });
  }

  lists(): readonly LargestList[] {
    return this.groups.flatMap((groups, at) =>
      [...groups].flatMap(([key, { records, lists }]) =>
        records < LEAST_RECORDS || (key === null && at > 0)
          ? []
          : lists.map((list, sort) => ({ set: SETS[at] ?? 0, key, sort, ...list })),
      ),
    );
  }

  private groupOf(at: number, key: GroupKey): Group {
    const known = this.groups[at]?.get(key);
    if (known !== undefined) return known;
    const made = { records: 0, lists: AMOUNT_SORTS.map(() => ({ amounts: [], ids: [] })) };
    this.groups[at]?.set(key, made);
    return made;
  }
}
