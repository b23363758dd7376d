import type { JobRecord } from '../record/record';
import { mergeAmong } from '../record/match';
import type { StoredRecord } from '../record/merge';
import { groupBy } from '../base/group-by';
import type { MergeOutcome } from './store';
import { filledTasks } from './task-requests';

/** A record among those of its job. */
export interface HeldRecord {
  /** Its number in the store; null: it is not there yet. */
  readonly id: number | null;
  /** The record as the store has it; null: it is not there yet. */
  readonly before: StoredRecord | null;
  readonly stored: StoredRecord;
}

/** What the records of some jobs have become. */
export interface Changes {
  readonly added: readonly HeldRecord[];
  readonly changed: readonly HeldRecord[];
  /** Records in the store that are now part of another. */
  readonly absorbed: readonly HeldRecord[];
}

/** A text that identifies a job or array task. */
export function jobOf({ cluster, job_id, task_id }: Pick<JobRecord, 'cluster' | 'job_id' | 'task_id'>): string {
  return `${job_id}/${task_id ?? 0}/${cluster}`;
}

/** All records of some jobs, held in memory, into which accounts are merged. */
export class JobRecords {
  /** The records of each task, by array task and PE task: only accounts of one of them can be the same run. */
  private readonly parts = new Map<string, HeldRecord[]>();
  private readonly absorbed: HeldRecord[] = [];

  /** A record that the store has. */
  load(id: number, stored: StoredRecord): void {
    this.partOf(stored.record).push({ id, before: stored, stored });
  }

  /** Merges accounts, one after the other. */
  merge(records: readonly JobRecord[]): readonly MergeOutcome[] {
    const outcomes = records.map((record) => this.mergeOne(record));
    this.passRequests();
    return outcomes;
  }

  private mergeOne(record: JobRecord): MergeOutcome {
    const part = this.partOf(record);
    const merged = mergeAmong(record, part);
    if (merged === null) return { ok: true, change: 'unchanged' };
    const { base, absorbed, stored } = merged;
    if (base === null) {
      part.push({ id: null, before: null, stored });
      return { ok: true, change: 'added' };
    }
    // Of two records the one in the store stays: the other may exist only in this transaction.
    const [stays, goes] = base.id === null && absorbed !== null ? [absorbed, base] : [base, absorbed];
    part[part.indexOf(stays)] = { ...stays, stored };
    if (goes !== null) {
      part.splice(part.indexOf(goes), 1);
      if (goes.id !== null) this.absorbed.push(goes);
    }
    return { ok: true, change: 'changed' };
  }

  /** Passes requests from masters to slave tasks that lack them. */
  private passRequests(): void {
    const jobs = groupBy([...this.all()], ({ stored: { record } }) => jobOf(record));
    for (const held of jobs.values())
      for (const { task, filled } of filledTasks(held)) {
        const part = this.partOf(filled.record);
        part[part.indexOf(task)] = { ...task, stored: filled };
      }
  }

  /** The numbers of the records that the store has. */
  ids(): readonly number[] {
    return [...this.all(), ...this.absorbed].flatMap(({ id }) => id ?? []);
  }

  *all(): Iterable<HeldRecord> {
    for (const part of this.parts.values()) yield* part;
  }

  changes(): Changes {
    const held = [...this.all()];
    return {
      added: held.filter(({ id }) => id === null),
      changed: held.filter(({ id, before, stored }) => id !== null && before !== stored),
      absorbed: this.absorbed,
    };
  }

  private partOf(record: JobRecord): HeldRecord[] {
    const name = `${record.pe_task_id ?? ''}/${jobOf(record)}`;
    const known = this.parts.get(name);
    if (known !== undefined) return known;
    const made: HeldRecord[] = [];
    this.parts.set(name, made);
    return made;
  }
}
