import type { AccountingReader, OwnerAnswer, OwnerQuery, OwnerTotals } from '../accounting/store';

function addTotals(a: OwnerTotals, b: OwnerTotals): OwnerTotals {
  const names = Object.keys(a) as (keyof OwnerTotals)[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as Record<keyof OwnerTotals, number>;
}

/**
 * The records and totals of an owner from every store (one at least), store by store: no order over all, and up to
 * `query.limit` records of each. Rejects with StoreError.
 */
export async function findOwner(query: OwnerQuery, readers: readonly AccountingReader[]): Promise<OwnerAnswer> {
  const answers = await Promise.all(readers.map((reader) => reader.owner(query)));
  return answers.reduce((sum, answer) => ({
    records: [...sum.records, ...answer.records],
    totals: addTotals(sum.totals, answer.totals),
  }));
}
