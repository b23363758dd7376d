import type { AccountingReader, RecordsAnswer, RecordsQuery, Totals } from '../accounting/store';

function addTotals(a: Totals, b: Totals): Totals {
  const names = Object.keys(a) as (keyof Totals)[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as Record<keyof Totals, number>;
}

/**
 * The records and totals of an owner from every store (one at least), store by store: no order over all, and up to
 * `query.limit` records of each. Rejects with StoreError.
 */
export async function findOwner(query: RecordsQuery, readers: readonly AccountingReader[]): Promise<RecordsAnswer> {
  const answers = await Promise.all(readers.map((reader) => reader.records(query)));
  return answers.reduce((sum, answer) => ({
    records: [...sum.records, ...answer.records],
    totals: addTotals(sum.totals, answer.totals),
  }));
}
