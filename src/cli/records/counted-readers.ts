import type { AccountingReader, RecordFilter } from '../../accounting/store';
import { privateWorld } from '../../record/job-name';
import { ofCluster, type OpenStores } from '../stores/stores';
import { findRecords } from './find';

/**
 * The readers for sums and exports of a filter's jobs. Private runs (`qmemacct run`) count if the filter names their
 * cluster or selects no other jobs; together with a cluster's jobs they are left out. Rejects with StoreError.
 */
export async function countedReaders(
  { readers, own }: Pick<OpenStores, 'readers' | 'own'>,
  filter: RecordFilter,
): Promise<readonly AccountingReader[]> {
  if (own === null || filter.cluster !== undefined) return readers;
  const { since, until } = filter;
  const { groups } = await own.summary({ since, until, by: 'cluster' });
  const all = groups.flatMap(({ key }) => key ?? []);
  const clusters = all.filter((cluster) => privateWorld(cluster) === null);
  if (clusters.length === all.length) return readers;
  const counted = readers.flatMap((reader) =>
    reader === own ? clusters.map((cluster) => ofCluster(own, cluster)) : reader,
  );
  if (counted.length === 0) return readers;
  const { records } = await findRecords({ ...filter, limit: 1, totals: false, fields: ['cluster'] }, counted);
  return records.length > 0 ? counted : readers;
}
