import { HOUR_MS } from '../../base/units';
import { countedAt, factsOf, JOB_SPAN_MS, type Facts } from '../../record/facts';
import { asStored, type StoredRecord } from '../../record/merge';
import type { JobRecord } from '../../record/record';
import { groupBy } from '../../base/group-by';
import { jobOf, type JobRecords } from '../job-records';
import type { RecordFilter } from '../store';
import { DIMENSIONS } from '../summary';
import { recordKey, type GroupKey } from '../sums/grouping-sets';
import { dayOf, hourOf } from '../sums/periods';
import type { Transaction } from './connect';
import type { WaitingAccounts } from './inbox';
import { jobList, loadJobs } from './merger';
import { Parameters, type Source } from './record-filter';

/**
 * The jobs with accounts in the inbox, read whole, with these accounts merged into them as the merger will do. The
 * `records` replace the table's rows with `ids`.
 */
export interface Unsettled {
  readonly records: readonly UnsettledRecord[];
  readonly ids: readonly number[];
  /** UTC days, and hours, in which the records count, as they are now or as the table has them. */
  readonly days: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
}

class UnsettledRecord {
  readonly countedAt: number;
  readonly job: string;
  /** The job name that it counts under: a slave task's is its master's. */
  readonly name: string | null;
  private known: { readonly facts: Facts; readonly keys: readonly GroupKey[] } | null = null;

  /** `all`: the records of its job, including itself. */
  constructor(
    readonly stored: StoredRecord,
    private readonly all: readonly JobRecord[],
  ) {
    const { record } = stored;
    this.countedAt = countedAt(record);
    this.job = jobOf(record);
    this.name = nameOf(record, all);
  }

  get facts(): Facts {
    return this.summed.facts;
  }

  /** By DIMENSIONS. */
  get keys(): readonly GroupKey[] {
    return this.summed.keys;
  }

  private get summed(): { readonly facts: Facts; readonly keys: readonly GroupKey[] } {
    const { record } = this.stored;
    this.known ??= {
      facts: factsOf(record, standsForHost(record, this.all), this.all),
      keys: DIMENSIONS.map((dimension) =>
        recordKey(dimension, dimension === 'job_name' ? this.name : record[dimension]),
      ),
    };
    return this.known;
  }
}

/** By account, for jobs known only from that account, like most running ones: kept from query to query. */
const ALONE = new WeakMap<JobRecord, UnsettledRecord>();

function unsettledAlone(account: JobRecord): UnsettledRecord {
  const known = ALONE.get(account);
  if (known !== undefined) return known;
  const stored = asStored(account);
  const made = new UnsettledRecord(stored, [stored.record]);
  ALONE.set(account, made);
  return made;
}

export const NOTHING_UNSETTLED: Unsettled = { records: [], ids: [], days: new Set(), hours: new Set() };

/** As `countedName` (record-filter.ts), from the records of the job. */
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

/** Whether the record stands for its host among the records of its job, as in `factColumns`. */
function standsForHost(record: JobRecord, job: readonly JobRecord[]): boolean {
  if (record.pe_task_id === null) return true;
  const at = countedAt(record);
  return (
    record.pe_task_id.startsWith('1.') &&
    !job.some(
      (other) =>
        other.trust !== 'self-reported' &&
        other.pe_task_id === null &&
        other.host === record.host &&
        Math.abs(countedAt(other) - at) <= JOB_SPAN_MS,
    )
  );
}

/** `alone`: accounts of jobs that have no other record. */
function unsettledOf(alone: readonly JobRecord[], held: JobRecords): Unsettled {
  const all = [...held.all(), ...held.changes().absorbed];
  const jobs = groupBy(
    [...held.all()].map(({ stored }) => stored),
    ({ record }) => jobOf(record),
  );
  const records = [
    ...alone.map(unsettledAlone),
    ...[...jobs.values()].flatMap((job) => {
      const ofJob = job.map(({ record }) => record);
      return job.map((stored) => new UnsettledRecord(stored, ofJob));
    }),
  ];
  const before = all.flatMap((one) => (one.before === null ? [] : [countedAt(one.before.record)]));
  const times = [...records.map((one) => one.countedAt), ...before];
  return {
    records,
    ids: held.ids(),
    days: new Set(times.map(dayOf)),
    hours: new Set(times.map(hourOf)),
  };
}

type UnsettledQuery = Readonly<Record<'until', number>> & { readonly owner: string | undefined };

let snapshots = 0;

/** What a query is answered from: one transaction's view of the table and of the inbox. */
export class Snapshot {
  private readonly found = new Map<string, Promise<Unsettled>>();
  /** Unique in this process. */
  readonly number = ++snapshots;

  constructor(
    readonly db: Pick<Transaction, 'query' | 'rows'>,
    readonly source: Source,
    private readonly accounts: WaitingAccounts,
  ) {}

  /** The jobs with rows in the inbox that satisfy a condition on `i`, with these rows merged into them. */
  async jobsOf(condition: string, parameters: Parameters): Promise<JobRecords> {
    const { waiting, held } = await this.load(condition, parameters);
    held.merge(waiting);
    return held;
  }

  private async load(
    condition: string,
    { values }: Parameters,
  ): Promise<{ readonly waiting: readonly JobRecord[]; readonly held: JobRecords }> {
    const waiting = await this.accounts.read(this.db, condition, values);
    return { waiting, held: await loadJobs(this.db, jobList(waiting), this.source.records) };
  }

  /** The jobs with waiting accounts that may matter to a filter, whatever its `since`: old ones do not wait long. */
  unsettled({ until, owner }: Pick<RecordFilter, 'until' | 'owner'>): Promise<Unsettled> {
    // Rounded up, so that all queries up to now share one answer.
    const hour = Math.ceil(until / HOUR_MS) * HOUR_MS;
    const name = JSON.stringify([hour, owner]);
    const known = this.found.get(name) ?? this.findUnsettled({ until: hour, owner });
    this.found.set(name, known);
    return known;
  }

  private async findUnsettled({ until, owner }: UnsettledQuery): Promise<Unsettled> {
    const parameters = new Parameters();
    // What an account counts for may depend on a later account of its job.
    const parts = [`i.counted_at < ${parameters.put(Math.ceil(until + JOB_SPAN_MS))}::bigint`];
    if (owner !== undefined) parts.push(`(i.owner = ${parameters.put(owner)} OR i.owner IS NULL)`);
    const { waiting, held } = await this.load(parts.join(' AND '), parameters);
    const stored = new Set([...held.all()].map((one) => jobOf(one.stored.record)));
    const jobs = [...groupBy(waiting, jobOf)];
    const isAlone = ([job, accounts]: (typeof jobs)[number]): boolean => accounts.length === 1 && !stored.has(job);
    held.merge(jobs.flatMap((job) => (isAlone(job) ? [] : job[1])));
    const alone = jobs.flatMap((job) => (isAlone(job) ? job[1] : []));
    return waiting.length === 0 ? NOTHING_UNSETTLED : unsettledOf(alone, held);
  }
}

/** A condition on `r` (with AND): it is none of these rows. */
export function notOf(ids: readonly number[]): string {
  return ids.length === 0 ? '' : ` AND r.id NOT IN (${ids.join(', ')})`;
}
