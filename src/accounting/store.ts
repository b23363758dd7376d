import type { FieldName } from '../record/fields';
import type { WordCodec } from './cell-codec';
import type { TaskColumn } from './task-column';
import type { PlainColumn, TableColumn } from '../record/plain-columns';
import type { JobRecord, RecordStatus } from '../record/record';
import type { Totals } from '../record/totals';
import type { StoredRecord } from '../record/merge';
import type { NodeHeartbeat, NodeStatus } from '../record/node-status';
import type { JobLinesAnswer } from './job-line';
import type { RecordSort } from './sorts';
import type { SummaryAnswer, SummaryQuery } from './summary';

/**
 * The shared store of job records: one interface, SQLite or PostgreSQL behind it.
 * Every method rejects with StoreError where the store can't be used.
 */
export interface AccountingReader {
  /** The records of a job, attempt by attempt; none: empty `records`. */
  job(query: JobQuery): Promise<JobAnswer>;
  /**
   * The runs of an array's tasks, in the order of the tasks, as columns. null: read the records instead, since there
   * are few, one of them is parallel, or the number has had several jobs.
   */
  taskTable?(query: TaskTableQuery): Promise<TaskTable | null>;
  /**
   * All records of all jobs that have had one of these numbers, in any order, without their series (null). `fields`: as in
   * RecordsQuery.
   */
  jobs(numbers: readonly number[], fields?: readonly FieldName[]): Promise<readonly StoredRecord[]>;
  /** The records that a filter selects, and totals over all of them. */
  records(query: RecordsQuery): Promise<RecordsAnswer>;
  /**
   * Every record that a filter selects at the call, newest first, page by page, however many there are: each once, as
   * it is when its page is read. Records that arrive meanwhile are left out.
   */
  pages(query: PagesQuery): AsyncIterable<RecordPage>;
  /** The same as plain columns, if the store reads these faster than records. */
  readonly tables?: RecordTables;
  /**
   * The newest jobs that a filter selects, added up, if the store does that faster than it gives their records. null:
   * one of them is parallel, or perhaps rescheduled or claimed, so read the records instead.
   */
  jobLines?(query: RecordFilter, wanted: JobLinesWanted): Promise<JobLinesAnswer | null>;
  /** Sums over an interval, group by group: from up-to-date roll-ups of whole days, else from the records. */
  summary(query: SummaryQuery): Promise<SummaryAnswer>;
  /** Heartbeats of running jobs, with their series, by cluster, job, task, pe task and host. */
  running(query: RunningQuery): Promise<readonly StoredRecord[]>;
  /** Last heartbeats of hosts since `since` (ms since the epoch), by cluster and host. */
  nodes(query: NodesQuery): Promise<readonly NodeHeartbeat[]>;
  close(): Promise<void>;
}

export interface AccountingStore extends AccountingReader {
  /**
   * Merges records (as `parseRecord` returns them) in one transaction; committed when it resolves.
   * One outcome per record, in order. Merging a record again changes nothing.
   */
  merge(records: readonly JobRecord[]): Promise<readonly MergeOutcome[]>;
  /** Stores this host's status in place of its previous one. */
  saveHeartbeat(status: NodeStatus): Promise<void>;
}

/** `error`: this record can't be stored, the others are. */
export type MergeOutcome =
  | { readonly ok: true; readonly change: 'added' | 'changed' | 'unchanged' }
  | { readonly ok: false; readonly error: string };

export interface JobQuery {
  readonly job_id: number;
  /** Left out: every cluster in the store. */
  readonly cluster?: string;
  /** Left out: every task of an array job. */
  readonly task_id?: number;
  /** Every job that has had this number, not only the newest. */
  readonly all?: boolean;
  /** If the number has more records than this, a store may leave out their series (null), and all but `fields`. */
  readonly most_whole?: number;
  readonly fields?: readonly FieldName[];
  /** The job that had this number at this time (ms since the epoch): the newest submitted or started by then. */
  readonly at?: number;
}

/** Records of an array: those with some ids, or all if there are more than `more_than`. */
export interface TaskTableQuery {
  readonly job_id: number;
  readonly fields: readonly FieldName[];
  readonly rows: { readonly ids: readonly number[] } | { readonly more_than: number };
}

/** Records as columns, which for thousands of tasks are read in a fraction of the time. */
export interface TaskTable {
  /** The cluster of all records; null: there are none, or only some ids were asked for. */
  readonly cluster: string | null;
  /** The record's id in the store, row by row. */
  readonly ids: readonly number[];
  /** By the column's name. */
  readonly columns: ReadonlyMap<string, TaskColumn>;
  /** Works only while the store is open. */
  readonly words: WordCodec;
  /** An error from reading a row, as an error of the store. */
  readonly fault: (error: unknown) => unknown;
}

export interface JobAnswer {
  /** By cluster, incarnation, task, pe task and attempt. */
  readonly records: readonly JobAttempt[];
  /** Jobs with the same number, submitted before and after those in `records` (job numbers wrap). */
  readonly older_incarnations: number;
  readonly newer_incarnations: number;
  /** Series, and fields other than the query's, are left out: there are more records than `most_whole`. */
  readonly few_fields?: boolean;
}

export interface JobAttempt extends StoredRecord {
  /** 1 for the first start of this job (array task), 2 for its first re-run ...; the same for its slave tasks. */
  readonly attempt: number;
  readonly attempts: number;
  /** 1 for the first job that had this number in this cluster. */
  readonly incarnation: number;
}

export interface RunningQuery {
  /** Left out: every cluster in the store. */
  readonly cluster?: string;
  /** Only jobs with a heartbeat then or later (ms since the epoch): a job whose node died still says that it runs. */
  readonly since: number;
}

export interface NodesQuery {
  readonly since: number;
}

/** Which records: those that count in the interval and satisfy every part that is given. */
export interface RecordFilter {
  /** Half-open, ms since the epoch. A job counts where it ended, a running one at its last heartbeat. */
  readonly since: number;
  readonly until: number;
  readonly cluster?: string;
  /** Every job that has had this number. */
  readonly job_id?: number;
  readonly owner?: string;
  readonly project?: string;
  readonly queue?: string;
  /** A name, or names and patterns with commas (`isHostPattern`). */
  readonly host?: string;
  readonly pe?: string;
  /** A name, or a pattern with `*` and `?`. */
  readonly job_name?: string;
  /** The class of names that differ only in their digits (`nameClass`). */
  readonly name_class?: string;
  readonly states?: readonly RecordStatus[];
  /** Ended badly: Grid Engine's `failed`, exit status or signal is not 0. */
  readonly failed?: boolean;
  /** Whether the job has samples. */
  readonly sampled?: boolean;
  /** Bounds of the memory held (`heldBytes`), by which lists are sorted, too. */
  readonly peak_at_least?: number;
  readonly peak_at_most?: number;
  /** Bounds of the limit on the host. */
  readonly limit_at_least?: number;
  readonly limit_at_most?: number;
  /** Bounds of the memory held over the limit. */
  readonly share_at_least?: number;
  readonly share_at_most?: number;
  readonly wallclock_at_least?: number;
  /**
   * Sums include self-reported records, too: for a user's own store. Without this, sums count such a record only once
   * Grid Engine's accounting confirms it; lists always show it.
   */
  readonly self_reported?: boolean;
}

export interface RecordsQuery extends RecordFilter {
  /**
   * 'time' (default): newest first; else largest first. 'peak': Grid Engine's figure where none was measured; 'unused':
   * (request - peak) x elapsed time.
   */
  readonly sort?: RecordSort;
  /** At most this many records (default 50); the totals cover all. */
  readonly limit?: number;
  /** false: only the list is wanted, and a store may leave the totals 0, which cost more than a short list. */
  readonly totals?: false;
  /**
   * The fields that are needed (default: all): a store may leave the others and `provenance` empty, and in peaks the
   * slack 0 and the time and command null, which is faster.
   */
  readonly fields?: readonly FieldName[];
}

/** Finds the records of a query. Rejects with StoreError. */
export type FindRecords = (query: RecordsQuery) => Promise<readonly StoredRecord[]>;

/** What is wanted of the jobs of the selected records. */
export interface JobLinesWanted {
  /** At most this many jobs. */
  readonly jobs: number;
  /** Whether the waits of the newest records are wanted: of `least` records, even if the jobs have fewer, or some more. */
  readonly waits: boolean;
  readonly least: number;
  /** At most about this many records are searched for jobs. */
  readonly limit: number;
  /** As in RecordsQuery, for the records that stand out. */
  readonly fields: readonly FieldName[];
}

export interface PagesQuery extends RecordFilter {
  /** As in RecordsQuery (default: all but `series`, which is read only where it is named). */
  readonly fields?: readonly FieldName[];
}

export interface RecordPage {
  readonly records: readonly StoredRecord[];
  /** Records in all pages together. */
  readonly of: number;
  readonly shown?: Shown;
}

/** As `AccountingReader.pages`, in two steps, the second of which several threads can share. */
export interface RecordTables {
  /** The name by which `openReader` opens the store. */
  readonly location: string;
  /** pgpass file with which it was opened; empty: none. */
  readonly credentials: string;
  /** Records that are read at once. */
  readonly page: number;
  select(query: RecordFilter): Promise<SelectedRecords>;
  /** The plain columns of stored records, in the order of `ids`, page by page. */
  read(ids: readonly number[], columns: readonly PlainColumn[]): AsyncIterable<TablePage>;
}

export interface SelectedRecords {
  /** Records that are not in the table yet, or not as they are now. */
  readonly waiting: readonly StoredRecord[];
  /** Ids of the other records, which are in the table. */
  readonly ids: readonly number[];
}

export interface TablePage {
  /** The columns asked for, in their order. */
  readonly columns: readonly TableColumn[];
  readonly rows: number;
}

/**
 * What a site shows a user of others' jobs, if it is not all: the jobs without owners and names, those of the user's
 * projects, or none. Records and sums cover only what is shown.
 */
export type Shown = 'anonymous' | 'project' | 'own';

export interface RecordsAnswer {
  /** Without their series (null). */
  readonly records: readonly StoredRecord[];
  readonly totals: Totals;
  readonly shown?: Shown;
}
