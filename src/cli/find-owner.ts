import type { AccountingReader, OwnerAnswer, OwnerQuery, OwnerSort, OwnerTotals } from '../accounting/store';
import type { JobRecord } from '../sampler/record';

const limitOf = (record: JobRecord): number => record.h_vmem?.limit_bytes ?? 0;
const peakOf = (record: JobRecord): number => record.peak_rss?.lower_bytes ?? 0;
const wallclockOf = (record: JobRecord): number => record.wallclock_seconds ?? 0;

/** As the stores sort: largest first. */
const SORT_VALUE: Readonly<Record<OwnerSort, (record: JobRecord) => number>> = {
  time: (record) => Date.parse(record.ended_at ?? '') || record.revision,
  wallclock: wallclockOf,
  cpu: (record) => record.cpu_seconds ?? 0,
  peak: peakOf,
  requested: (record) => limitOf(record) * wallclockOf(record),
  unused: (record) => (limitOf(record) - peakOf(record)) * wallclockOf(record),
};

function addTotals(a: OwnerTotals, b: OwnerTotals): OwnerTotals {
  const names = Object.keys(a) as (keyof OwnerTotals)[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as unknown as OwnerTotals;
}

/** The records and totals of an owner, put together from every store. Rejects with StoreError. */
export async function findOwner(query: OwnerQuery, readers: readonly AccountingReader[]): Promise<OwnerAnswer> {
  const answers = await Promise.all(readers.map((reader) => reader.owner(query)));
  const [first, ...rest] = answers;
  if (first === undefined) throw new RangeError('no store to read');
  if (rest.length === 0) return first;
  const value = SORT_VALUE[query.sort ?? 'time'];
  return {
    records: answers
      .flatMap(({ records }) => records)
      .sort((a, b) => value(b.record) - value(a.record))
      .slice(0, query.limit),
    totals: rest.reduce((sum, { totals }) => addTotals(sum, totals), first.totals),
  };
}
