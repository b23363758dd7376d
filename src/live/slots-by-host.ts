import type { QhostJob } from '../gridengine/qhost/qhost-report';

export interface HostSlots {
  readonly host: string;
  readonly slots: number;
  /** Slots for slave tasks: all except the master task's, if it has one. */
  readonly slaves: number;
  readonly master: boolean;
}

interface Placement {
  /** qhost's rows for the job, by host. */
  readonly rows: ReadonlyMap<string, readonly QhostJob[]>;
  /** Slots by qstat; null: unknown. */
  readonly granted: number | null;
  /** The hosts where it runs by qstat, the master host first. */
  readonly elsewhere: readonly string[];
}

/**
 * A job's slots on each of its hosts, the master host first. qhost has one row for each slot, and for a PE with
 * job_is_first_task FALSE one more row (MASTER), which is no slot. The answer does not say which kind the PE is, but
 * the extra row shows if there is one row more than granted slots. If that number is unknown or does not fit (qhost's
 * answer is older), each row counts as a slot. Slots that qhost does not list are distributed evenly over the hosts
 * that only qstat names.
 */
export function slotsByHost({ rows, granted, elsewhere }: Placement): readonly HostSlots[] {
  const masterHost = hostOfMaster(rows) ?? elsewhere[0] ?? rows.keys().next().value ?? null;
  const total = [...rows.values()].reduce((sum, { length }) => sum + length, 0);
  const extra = granted !== null && total === granted + 1 && hasExtraRow(rows.get(masterHost ?? '') ?? []);
  const listed = [...rows].map(([host, { length }]) => ({
    host,
    slots: length - (extra && host === masterHost ? 1 : 0),
    slaves: length - (host === masterHost ? 1 : 0),
    master: host === masterHost,
  }));
  const missing = Math.max(0, (granted ?? (rows.size === 0 ? 1 : total)) - total);
  const missingHosts = elsewhere.filter((host) => !rows.has(host));
  const dealt = missingHosts.map((host, index) => {
    const slots = Math.floor(missing / missingHosts.length) + (index < missing % missingHosts.length ? 1 : 0);
    const master = host === masterHost;
    return { host, slots, slaves: Math.max(0, slots - (master ? 1 : 0)), master };
  });
  return [...listed, ...dealt].sort((a, b) => Number(b.master) - Number(a.master));
}

function hostOfMaster(rows: Placement['rows']): string | null {
  for (const [host, list] of rows) if (list.some(({ role }) => role === 'MASTER')) return host;
  return null;
}

/** Whether one of the master host's rows may be the extra one, which comes with the rows of at least one slot. */
function hasExtraRow(rows: readonly QhostJob[]): boolean {
  return rows.length > 1 && rows.some(({ role }) => role !== 'SLAVE');
}
