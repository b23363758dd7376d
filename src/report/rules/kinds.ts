import { DAY_MS } from '../../base/units';
import type { FindRecords } from '../../accounting/store';
import { countedAt } from '../../record/facts';
import type { FieldName } from '../../record/fields';
import { HIDDEN } from '../../record/hidden';
import { nameClass } from '../../record/name-class';
import { recordKeyText, type JobRecord } from '../../record/record';
import type { Kind } from './facts';

/** At most this many runs of a kind are read and counted. */
const MOST_RUNS = 1000;
/** At most this many kinds are asked for in one command or answer. */
const MOST_QUESTIONS = 20;
/** A longer run is no part of a swarm: the runs of its kind need not be counted. */
const SHORT_SECONDS = 600;

interface Named {
  readonly owner: string | null;
  readonly name: string | null;
}

/** The last key, kept since all tasks of an array have the same. */
let latest: Named & { readonly key: string | null } = { owner: null, name: null, key: null };

function keyOf({ owner, job_name: name }: Pick<JobRecord, 'owner' | 'job_name'>): string | null {
  if (owner !== latest.owner || name !== latest.name) {
    const isKnown = owner !== null && owner !== HIDDEN && name !== null;
    latest = { owner, name, key: isKnown ? JSON.stringify([owner, nameClass(name)]) : null };
  }
  return latest.key;
}

/** The fields that `Kinds` reads. */
export const KIND_FIELDS: readonly FieldName[] = [
  ...(['cluster', 'job_id', 'task_id', 'pe_task_id', 'host', 'run_id'] as const),
  ...(['owner', 'job_name', 'status', 'wallclock_seconds'] as const),
];

/** How many runs there are of each kind among some records, and how long they ran. */
export class Kinds {
  private readonly kinds = new Map<string, Kind>();

  constructor(records: readonly JobRecord[] = []) {
    this.add(records);
  }

  /** Counts more records. */
  add(records: readonly JobRecord[]): void {
    for (const record of records) {
      const key = record.pe_task_id === null ? keyOf(record) : null;
      const { status, wallclock_seconds: elapsed } = record;
      // A run of unknown length would count as if it took no time.
      if (key === null || status === 'running' || elapsed === null) continue;
      const { runs, seconds } = this.kinds.get(key) ?? { runs: 0, seconds: 0 };
      this.kinds.set(key, { runs: runs + 1, seconds: seconds + elapsed });
    }
  }

  readonly of = (record: JobRecord): Kind | null => this.kinds.get(keyOf(record) ?? '') ?? null;
}

/** The fields that `shortRuns` reads. */
export const SHORT_FIELDS = ['owner', 'job_name', 'wallclock_seconds'] as const;

/** A short run of each kind, for at most MOST_QUESTIONS kinds. */
export function shortRuns<Run extends Pick<JobRecord, (typeof SHORT_FIELDS)[number]>>(
  records: Iterable<Run>,
): readonly Run[] {
  const found = new Map<string, Run>();
  for (const record of records) {
    const isShort = record.wallclock_seconds !== null && record.wallclock_seconds < SHORT_SECONDS;
    const key = isShort ? keyOf(record) : null;
    if (key !== null && found.size < MOST_QUESTIONS) found.set(key, record);
  }
  return [...found.values()];
}

/**
 * The kinds of the short runs among these records, counted over the runs within a day of each. Rejects with StoreError.
 */
export async function kindsNear(records: readonly JobRecord[], find: FindRecords): Promise<Kinds> {
  const found = await Promise.all(
    shortRuns(records).map((record) => {
      const at = countedAt(record);
      return find({
        owner: record.owner ?? '',
        name_class: nameClass(record.job_name ?? ''),
        since: at - DAY_MS,
        until: at + DAY_MS,
        limit: MOST_RUNS,
        totals: false,
        fields: KIND_FIELDS,
      });
    }),
  );
  return new Kinds([...new Map(found.flat().map((one) => [recordKeyText(one.record), one.record])).values()]);
}
