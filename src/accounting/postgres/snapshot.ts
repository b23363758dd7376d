import { countedAt, JOB_SPAN_MS } from '../../record/facts';
import type { StoredRecord } from '../../record/merge';
import type { JobRecord } from '../../record/record';
import { groupBy } from '../../base/group-by';
import type { JobRecords } from '../job-records';
import type { RecordFilter } from '../store';
import { DAY_MS, dayOf, hourOf } from '../sums/periods';
import type { Transaction } from './connect';
import type { WaitingAccounts } from './inbox';
import { jobList, loadJobs } from './merger';
import { Parameters, type Source } from './record-filter';

/**
 * The jobs that something waits of in the inbox, read whole, with it merged into them as the merger will. They stand in
 * for the rows with `ids` in the table.
 */
export interface Unsettled {
  readonly records: readonly UnsettledRecord[];
  readonly ids: readonly number[];
  /** UTC days on which they count, now or in the table, and the hours of these. */
  readonly days: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
}

export interface UnsettledRecord {
  readonly stored: StoredRecord;
  readonly countedAt: number;
  /** That it counts under: of a task of a parallel job its master's. */
  readonly name: string | null;
  /** Records of its job that are not self-reported, itself among them. */
  readonly job: readonly JobRecord[];
}

export const NOTHING_UNSETTLED: Unsettled = { records: [], ids: [], days: new Set(), hours: new Set() };

/** As `countedName` (record-filter.ts) says. */
function nameOf(record: JobRecord, job: readonly JobRecord[]): string | null {
  if (record.job_name !== null || record.pe_task_id === null) return record.job_name;
  const at = countedAt(record);
  const apart = (other: JobRecord): number => Math.abs(countedAt(other) - at);
  const [nearest] = job
    .filter(
      (other) =>
        other.pe_task_id === null &&
        other.owner === record.owner &&
        other.job_name !== null &&
        apart(other) <= JOB_SPAN_MS,
    )
    .sort((a, b) => apart(a) - apart(b) || ((a.job_name ?? '') < (b.job_name ?? '') ? -1 : 1));
  return nearest?.job_name ?? null;
}

function unsettledOf(held: JobRecords): Unsettled {
  const all = [...held.all(), ...held.changes().absorbed];
  const now = [...held.all()].map(({ stored }) => stored);
  const jobs = groupBy(now, ({ record }) => `${record.job_id}/${record.task_id ?? ''}/${record.cluster}`);
  const versions = all.flatMap(({ before, stored }) => (before === null ? [stored] : [before, stored]));
  const times = versions.map(({ record }) => countedAt(record));
  return {
    records: [...jobs.values()].flatMap((job) => {
      const records = job.map(({ record }) => record);
      const trusted = records.filter(({ trust }) => trust !== 'self-reported');
      return job.map((stored) => ({
        stored,
        countedAt: countedAt(stored.record),
        name: nameOf(stored.record, records),
        job: trusted,
      }));
    }),
    ids: all.flatMap(({ id }) => id ?? []),
    days: new Set(times.map(dayOf)),
    hours: new Set(times.map(hourOf)),
  };
}

type UnsettledQuery = Readonly<Record<'since' | 'until', number>> & { readonly owner: string | undefined };

/** What a question is answered from: one transaction's view of the table and of the inbox. */
export class Snapshot {
  private readonly found = new Map<string, Promise<Unsettled>>();

  constructor(
    readonly db: Pick<Transaction, 'query' | 'rows'>,
    readonly source: Source,
    private readonly accounts: WaitingAccounts,
  ) {}

  /** The jobs that rows of the inbox are of which satisfy a condition on `i`, with these rows merged into them. */
  async jobsOf(condition: string, parameters: Parameters): Promise<JobRecords> {
    const waiting = await this.accounts.read(this.db, condition, parameters.values, 'qmemacct.visible_inbox');
    const held = await loadJobs(this.db, jobList(waiting), this.source.records);
    held.merge(waiting);
    return held;
  }

  /** The jobs of which something waits that may matter to a filter. */
  unsettled({ since, until, owner }: RecordFilter): Promise<Unsettled> {
    const name = JSON.stringify([since, until, owner]);
    const known = this.found.get(name) ?? this.findUnsettled({ since, until, owner });
    this.found.set(name, known);
    return known;
  }

  private async findUnsettled({ since, until, owner }: UnsettledQuery): Promise<Unsettled> {
    const parameters = new Parameters();
    // The accounts of a run count within a day of each other.
    const from = parameters.put(Math.floor(since - DAY_MS));
    const parts = [
      `i.counted_at >= ${from}::bigint`,
      `i.counted_at < ${parameters.put(Math.ceil(until + DAY_MS))}::bigint`,
    ];
    if (owner !== undefined) parts.push(`(i.owner = ${parameters.put(owner)} OR i.owner IS NULL)`);
    const held = await this.jobsOf(parts.join(' AND '), parameters);
    const unsettled = unsettledOf(held);
    return unsettled.records.length === 0 ? NOTHING_UNSETTLED : unsettled;
  }
}

/** A condition on `r`: none of these rows. */
export function notOf(ids: readonly number[]): string {
  return ids.length === 0 ? '' : ` AND r.id NOT IN (${ids.join(', ')})`;
}
