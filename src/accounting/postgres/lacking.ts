import type { OwnerTotals } from '../sqlite/read/whole-store';
import type { Connection } from './connect';

const nameOf = ({ cluster, owner }: Pick<OwnerTotals, 'cluster' | 'owner'>): string => JSON.stringify([cluster, owner]);

const NOTHING = { records: 0, cpu: 0, wallclock: 0 };

/** Sums over another store's records, added up as they are read. */
export class Tally {
  private readonly sums = new Map<string, OwnerTotals>();

  add({ cluster, owner, ...more }: OwnerTotals): void {
    const name = nameOf({ cluster, owner });
    const { records, cpu, wallclock } = this.sums.get(name) ?? NOTHING;
    this.sums.set(name, {
      cluster,
      owner,
      records: records + more.records,
      cpu: cpu + more.cpu,
      wallclock: wallclock + more.wallclock,
    });
  }

  totals(): readonly OwnerTotals[] {
    return [...this.sums.values()];
  }
}

const HERE = `SELECT c.name AS cluster, o.name AS owner, count(*) AS records,
    coalesce(sum(r.cpu_ms)::double precision, 0) / 1000 AS cpu, coalesce(sum(r.wallclock_ms)::double precision, 0) / 1000 AS wallclock
  FROM qmemacct.record AS r JOIN qmemacct.cluster AS c ON c.id = r.cluster_id
    LEFT JOIN qmemacct.owner AS o ON o.id = r.owner_id
  GROUP BY c.name, o.name`;

/** Sums over this store's records; running ones count with their figures so far. */
export function totalsHere(db: Pick<Connection, 'query'>): Promise<readonly OwnerTotals[]> {
  return db.query<OwnerTotals>(HERE);
}

/** Milliseconds that rounding may cost each record. */
const ROUNDING = 0.001;

/** What `here` lacks compared with `there`, one line per cluster and owner. More is no fault: others deliver, too. */
export function lacking(there: readonly OwnerTotals[], here: readonly OwnerTotals[]): readonly string[] {
  const own = new Map(here.map((totals) => [nameOf(totals), totals]));
  // Merging may give a record an owner, so records without one are only compared by cluster.
  const ofCluster = (all: readonly OwnerTotals[], cluster: string): number =>
    all.filter((totals) => totals.cluster === cluster).reduce((sum, { records }) => sum + records, 0);
  const lines: string[] = [];
  for (const cluster of new Set(there.map((totals) => totals.cluster))) {
    const [wanted, found] = [ofCluster(there, cluster), ofCluster(here, cluster)];
    if (found < wanted) lines.push(`cluster ${cluster}: ${wanted - found} of ${wanted} records`);
  }
  for (const wanted of there) {
    if (wanted.owner === null) continue;
    const found = own.get(nameOf(wanted)) ?? NOTHING;
    const parts = [
      ...(found.records < wanted.records ? [`${wanted.records - found.records} of ${wanted.records} records`] : []),
      ...(['cpu', 'wallclock'] as const).flatMap((name) => {
        const less = wanted[name] - found[name];
        return less > ROUNDING * wanted.records + 1e-9 * wanted[name] ? [`${less.toFixed(3)} s of ${name}`] : [];
      }),
    ];
    if (parts.length > 0) lines.push(`owner ${wanted.owner} in cluster ${wanted.cluster}: ${parts.join(', ')}`);
  }
  return lines;
}
