import type { Database } from 'better-sqlite3';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { FailingSources } from '../../record/node-status';
import { recordOrNull, type JobRecord } from '../../record/record';
import type { SeriesBatch } from '../series/series-buffer';
import { SeriesTable } from '../series/series-table';
import { openDatabase } from './open-database';
import { outboxState, type OutboxState } from './outbox-state';
import { prune } from './prune';
import { SampleTable, type StoredSample } from './sample-table';

export interface OutboxRow {
  readonly id: number;
  /** The record as JSON. */
  readonly record: string;
}

/** A record that a job's owner has handed in, as JSON. */
export interface HandedRecord {
  readonly uid: number;
  readonly record: string;
}

interface HandedAmount {
  readonly records: number;
  readonly bytes: number;
}

interface StoredJob {
  readonly run: string;
  readonly finished: boolean;
  /** The record so far, as JSON. */
  readonly record: string;
}

interface JobRow {
  readonly id: number;
  readonly run: string;
  readonly finished: number;
  readonly record: string;
}

const toJob = ({ run, finished, record }: JobRow): StoredJob => ({ run, finished: finished === 1, record });

const BUSY_MS = 4000;

function prepare(database: Database) {
  return {
    upsertJob: database.prepare<[string, number, number, number, string], { id: number }>(
      `INSERT INTO job (run, started, changed, finished, record) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (run) DO UPDATE SET changed = excluded.changed, finished = max(finished, excluded.finished),
         record = excluded.record RETURNING id`,
    ),
    job: database.prepare<[string], JobRow>('SELECT id, run, finished, record FROM job WHERE run = ?'),
    running: database.prepare<[], JobRow>('SELECT id, run, finished, record FROM job WHERE finished = 0'),
    addToOutbox: database.prepare<[string, number]>('INSERT INTO outbox (record, added) VALUES (?, ?)'),
    outbox: database.prepare<[number], OutboxRow>(
      'SELECT id, record FROM outbox WHERE refused IS NULL ORDER BY id LIMIT ?',
    ),
    lastJob: database.prepare<[], { readonly changed: number }>(
      'SELECT changed FROM job ORDER BY changed DESC LIMIT 1',
    ),
    addHanded: database.prepare<[number, number, number]>(
      `INSERT INTO handed (uid, day, records, bytes) VALUES (?, ?, 1, ?)
       ON CONFLICT (uid) DO UPDATE SET records = records * (day = excluded.day) + 1,
         bytes = bytes * (day = excluded.day) + excluded.bytes, day = excluded.day`,
    ),
    handed: database.prepare<[number, number], HandedAmount>(
      'SELECT records, bytes FROM handed WHERE uid = ? AND day = ?',
    ),
  };
}

const inodeOf = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.ino ?? null;

/** The node-local store: samples, summaries, outbox (contract: sql/node). */
export class NodeStore {
  private readonly path: string;
  private readonly inode: number | null;
  private readonly database: Database;
  private readonly statements: ReturnType<typeof prepare>;
  private readonly samples: SampleTable;
  private readonly series: SeriesTable;

  /** Makes `STATE/node.db` where there is none; waits `busyMs` for other processes' locks. Throws when it can't be written. */
  constructor(stateDirectory: string, busyMs = BUSY_MS) {
    this.path = join(stateDirectory, 'node.db');
    this.database = openDatabase(stateDirectory, busyMs);
    this.inode = inodeOf(this.path);
    this.statements = prepare(this.database);
    this.samples = new SampleTable(this.database);
    this.series = new SeriesTable(this.database);
  }

  /** false: somebody has moved, removed or replaced the file. Nobody would ever find what we write into ours. */
  isInPlace(): boolean {
    return inodeOf(this.path) === this.inode;
  }

  /** Saves samples and the record so far of a running job; a crash of the machine may lose the last seconds. */
  saveProgress(
    run: string,
    startedMs: number,
    record: JobRecord,
    samples: readonly StoredSample[],
    series: SeriesBatch = [],
  ): void {
    this.change(() => {
      const job = this.saveJob(run, startedMs, record, null);
      this.samples.save(job, samples);
      this.series.save(job, series);
    });
  }

  /** Saves last samples, summary and outbox row in one transaction that is on the disk when this returns. */
  finish(
    run: string,
    startedMs: number,
    record: JobRecord,
    samples: readonly StoredSample[],
    series: SeriesBatch = [],
  ): void {
    // What is known of a lost job may be older than its record by days.
    const finishedMs = record.status === 'lost' ? Date.now() : record.revision;
    this.onDisk(() =>
      this.change(() => {
        const done = this.job(run)?.finished === true;
        const job = this.saveJob(run, startedMs, record, finishedMs);
        this.samples.save(job, samples);
        this.series.save(job, series);
        if (!done) this.statements.addToOutbox.run(JSON.stringify(record), finishedMs);
      }),
    );
  }

  /** Saves readings of the sources for a job that is in node.db already, or (null) for the node. */
  saveSeries(run: string | null, batch: SeriesBatch): void {
    this.change(() => {
      const job = run === null ? null : this.statements.job.get(run);
      if (job === undefined) throw new Error(`node.db knows no run ${run}`);
      this.series.save(job?.id ?? null, batch);
    });
  }

  /** Replaces the failing sources that were saved before. */
  saveFailing(sources: FailingSources): void {
    const insert = this.database.prepare<[string, string]>('INSERT INTO failing_source VALUES (?, ?)');
    this.change(() => {
      this.database.exec('DELETE FROM failing_source');
      for (const { source, reason } of sources) insert.run(source, reason);
    });
  }

  failing(): FailingSources {
    return this.database.prepare<[], FailingSources[number]>('SELECT * FROM failing_source ORDER BY source').all();
  }

  /** Merges series that were saved in many small rows (finished jobs, past hours of the node), for about `forMs`. */
  packSeries(nowMs: number, forMs?: number): void {
    this.series.pack(nowMs, forMs);
  }

  job(run: string): StoredJob | null {
    const row = this.statements.job.get(run);
    return row === undefined ? null : toJob(row);
  }

  /** The record so far of a run that is not finished; null: there is none, or it was damaged. */
  recordSoFar(run: string): JobRecord | null {
    const stored = this.job(run);
    return stored === null || stored.finished ? null : recordOrNull(stored.record);
  }

  running(): readonly StoredJob[] {
    return this.statements.running.all().map(toJob);
  }

  /** Puts records that users handed in into the outbox and counts them per user, in one transaction, on the disk. */
  takeHanded(records: readonly HandedRecord[], day: number): void {
    this.onDisk(() =>
      this.change(() => {
        for (const { uid, record } of records) {
          this.statements.addToOutbox.run(record, Date.now());
          this.statements.addHanded.run(uid, day, Buffer.byteLength(record));
        }
      }),
    );
  }

  /** What a user has handed in on that day (days since 1970, UTC). */
  handed(uid: number, day: number): HandedAmount {
    return this.statements.handed.get(uid, day) ?? { records: 0, bytes: 0 };
  }

  /** Puts the records of runs that ended since a time (ms since the epoch), as far as they are kept, into the outbox again. */
  deliverAgain(sinceMs: number): void {
    const add = this.database.prepare<[number, number]>(
      `INSERT INTO outbox (record, added) SELECT record, ? FROM job
       WHERE finished = 1 AND changed >= ? AND record NOT IN (SELECT record FROM outbox WHERE refused IS NULL)`,
    );
    this.onDisk(() => add.run(Date.now(), sinceMs));
  }

  outbox(most: number): readonly OutboxRow[] {
    return this.statements.outbox.all(most);
  }

  /** State of the outbox, not counting waiting rows up to the id `behind`. */
  outboxState(behind: number): OutboxState {
    return outboxState(this.database, behind);
  }

  /** When a job was last measured here (ms since the epoch); null: never, as far as is kept. */
  lastJobMs(): number | null {
    return this.statements.lastJob.get()?.changed ?? null;
  }

  delivered(ids: readonly number[]): void {
    const remove = this.database.prepare<[number]>('DELETE FROM outbox WHERE id = ?');
    this.database.transaction(() => {
      for (const id of ids) remove.run(id);
    })();
  }

  refuse(id: number, reason: string): void {
    this.database.prepare<[string, number]>('UPDATE outbox SET refused = ? WHERE id = ?').run(reason, id);
  }

  /** Drops what is older than `before` (ms since the epoch), or above `mostBytes`: see prune.ts. */
  prune(before: number, mostBytes: number, forMs: number): void {
    prune(this.database, before, mostBytes, forMs);
  }

  close(): void {
    this.database.close();
  }

  /** `finishedMs`: null where the job runs. */
  private saveJob(run: string, startedMs: number, record: JobRecord, finishedMs: number | null): number {
    const text = JSON.stringify(record);
    const finished = finishedMs === null ? 0 : 1;
    const row = this.statements.upsertJob.get(run, startedMs, finishedMs ?? record.revision, finished, text);
    if (row === undefined) throw new Error('node.db returned no job id');
    return row.id;
  }

  /** Runs `action` in one transaction; if that fails, forgets the ids that it gave out. */
  private change(action: () => void): void {
    try {
      this.database.transaction(action).immediate();
    } catch (error) {
      this.samples.forget();
      this.series.forget();
      throw error;
    }
  }

  /** What `action` commits is on the disk when this returns. */
  private onDisk(action: () => void): void {
    this.database.pragma('synchronous = FULL');
    try {
      action();
    } finally {
      this.database.pragma('synchronous = NORMAL');
    }
  }
}
