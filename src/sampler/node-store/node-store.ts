import type { Database } from 'better-sqlite3';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { JobRecord } from '../../record/record';
import { SqliteDatabase, SqliteError } from '../../native/sqlite';
import { packageRoot } from '../../base/package-root';
import { createSampleReader } from '../series/sample-series';
import type { SeriesBatch } from '../series/series-buffer';
import { SeriesTable, type StoredSeries } from '../series/series-table';
import { packVarints } from '../series/varints';

/** One tick of a job, in the units of sql/node (ms after the job's start, KiB, ms of CPU time). */
export interface StoredSample {
  readonly at: number;
  readonly rss: number;
  readonly vmem: number;
  readonly swap: number;
  readonly anonymous: number;
  readonly cpu: number;
  readonly processes: number;
  readonly threads: number;
  readonly read: number;
  readonly written: number;
  /** The largest processes of this tick. */
  readonly largest: readonly StoredProcess[];
  readonly othersRss: number;
  readonly othersCpu: number;
}

export interface StoredProcess {
  readonly pid: number;
  readonly start: number;
  readonly command: string;
  readonly rss: number;
  readonly cpu: number;
}

export interface OutboxRow {
  readonly id: number;
  /** The record as JSON. */
  readonly record: string;
}

/** The record of a job's owner, as JSON. */
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

/** The node-local store: samples, summaries, outbox (contract: sql/node). */
export interface NodeStore {
  /** Samples and the record so far of a running job; a crash of the machine may lose the last seconds. */
  saveProgress(
    run: string,
    startedMs: number,
    record: JobRecord,
    samples: readonly StoredSample[],
    series?: SeriesBatch,
  ): void;
  /** Last samples, summary and outbox row in one transaction that is on the disk when this returns. */
  finish(
    run: string,
    startedMs: number,
    record: JobRecord,
    samples: readonly StoredSample[],
    series?: SeriesBatch,
  ): void;
  /** What the sources said of a job that was saved before, or (null) of the node. */
  saveSeries(run: string | null, batch: SeriesBatch): void;
  /**
   * Series of a job, or (null) of the node, from `fromMs` to `toMs`: the metrics of these names, all of them for none.
   * What the sampler itself reads of a job is among them, as `process_rss_bytes` and so on.
   */
  readSeries(run: string | null, names: readonly string[], fromMs: number, toMs: number): readonly StoredSeries[];
  /** Puts together what was saved in many small pieces: finished jobs, past hours of the node. */
  packSeries(nowMs: number): void;
  job(run: string): StoredJob | null;
  running(): readonly StoredJob[];
  /** Puts what users have handed in into the outbox and counts it for them, in one transaction that is on the disk. */
  takeHanded(records: readonly HandedRecord[], day: number): void;
  /** What a user has handed in on that day (since 1970, UTC). */
  handed(uid: number, day: number): HandedAmount;
  outbox(most: number): readonly OutboxRow[];
  delivered(ids: readonly number[]): void;
  refuse(id: number, reason: string): void;
  /**
   * Drops samples of finished jobs that ended before `before` and the node's series until then, then the oldest of both
   * while the file is above `mostBytes`.
   */
  prune(before: number, mostBytes: number): void;
  close(): void;
}

const BUSY_MS = 4000;
const MOST_IDS_REMEMBERED = 2000;

const WAL_PAUSE_MS = 10;

/**
 * A new file can't be switched to WAL while another process reads it, and SQLite then answers "locked" at once,
 * without waiting for its busy timeout (two processes that both want to switch would wait for each other).
 */
function switchToWal(database: Database, busyMs: number): void {
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  for (const deadline = performance.now() + busyMs; ; Atomics.wait(nobody, 0, 0, WAL_PAUSE_MS * Math.random()))
    try {
      database.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      const locked = error instanceof SqliteError && error.code.startsWith('SQLITE_BUSY');
      if (!locked || performance.now() > deadline) throw error;
    }
}

function migrate(database: Database, directory: string): void {
  const files = readdirSync(directory)
    .filter((name) => /^\d{3}-.*\.sql$/.test(name))
    .sort();
  const version = (): number => database.pragma('user_version', { simple: true }) as number;
  if (version() === files.length) return;
  if (version() > files.length)
    throw new Error(`schema ${version()} is newer than this version's ${files.length}; install the newer qmemacct`);
  database
    .transaction(() => {
      // Another sampler may have migrated while this one waited for the lock.
      for (const [index, name] of files.entries())
        if (version() === index) {
          database.exec(readFileSync(join(directory, name), 'utf8'));
          database.pragma(`user_version = ${index + 1}`);
        }
    })
    .immediate();
}

/** Opens (and creates, 0600) `STATE/node.db`; waits `busyMs` for other processes' locks. Throws when it can't be written. */
export function openNodeStore(stateDirectory: string, busyMs = BUSY_MS): NodeStore {
  const umask = process.umask(0o077);
  const database = new SqliteDatabase(join(stateDirectory, 'node.db'), { timeout: busyMs });
  process.umask(umask);
  try {
    switchToWal(database, busyMs);
    database.pragma('synchronous = NORMAL');
    database.pragma('foreign_keys = ON');
    database.pragma('trusted_schema = OFF');
    database.pragma('cache_size = -512');
    migrate(database, join(packageRoot(), 'sql', 'node'));
  } catch (error) {
    database.close();
    throw error;
  }

  const upsertJob = database.prepare<[string, number, number, number, string], { id: number }>(
    `INSERT INTO job (run, started, changed, finished, record) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (run) DO UPDATE SET changed = excluded.changed, finished = max(finished, excluded.finished),
       record = excluded.record RETURNING id`,
  );
  const insertSample = database.prepare(
    `INSERT OR REPLACE INTO sample (job, at, rss, vmem, swap, anonymous, cpu, processes, threads, read, written, largest)
     VALUES (@job, @at, @rss, @vmem, @swap, @anonymous, @cpu, @processes, @threads, @read, @written, @packed)`,
  );
  const insertProcess = database.prepare<[number, number, number, string], { id: number }>(
    `INSERT INTO process (job, pid, start, command) VALUES (?, ?, ?, ?)
     ON CONFLICT (job, pid, start, command) DO UPDATE SET pid = pid RETURNING id`,
  );
  const insertOutbox = database.prepare<[string, number]>('INSERT INTO outbox (record, added) VALUES (?, ?)');
  const processIds = new Map<string, number>();
  const series = new SeriesTable(database);
  const samples = createSampleReader(database);

  function processId(job: number, process: StoredProcess): number {
    const key = `${job} ${process.pid} ${process.start} ${process.command}`;
    let id = processIds.get(key);
    if (id === undefined) {
      if (processIds.size >= MOST_IDS_REMEMBERED) processIds.clear();
      id = insertProcess.get(job, process.pid, process.start, process.command)?.id ?? 0;
      processIds.set(key, id);
    }
    return id;
  }

  function saveSamples(job: number, samples: readonly StoredSample[]): void {
    for (const { largest, othersRss, othersCpu, ...sample } of samples) {
      const threes = largest.flatMap((process) => [processId(job, process), process.rss, process.cpu]);
      if (othersRss > 0) threes.push(0, othersRss, othersCpu);
      insertSample.run({ job, ...sample, packed: packVarints(threes) });
    }
  }

  function saveJob(run: string, startedMs: number, record: JobRecord, finished: boolean): number {
    const row = upsertJob.get(run, startedMs, record.revision, finished ? 1 : 0, JSON.stringify(record));
    if (row === undefined) throw new Error('node.db returned no job id');
    return row.id;
  }

  /** What is rolled back takes the new process ids with it. */
  function orForget(action: () => void): void {
    try {
      action();
    } catch (error) {
      processIds.clear();
      series.forget();
      throw error;
    }
  }

  const progress = database.transaction(
    (run: string, startedMs: number, record: JobRecord, samples: readonly StoredSample[], batch: SeriesBatch) => {
      const job = saveJob(run, startedMs, record, false);
      saveSamples(job, samples);
      series.save(job, batch);
    },
  );
  const finish = database.transaction(
    (run: string, startedMs: number, record: JobRecord, samples: readonly StoredSample[], batch: SeriesBatch) => {
      const done = selectJob.get(run)?.finished === 1;
      const job = saveJob(run, startedMs, record, true);
      saveSamples(job, samples);
      series.save(job, batch);
      if (!done) insertOutbox.run(JSON.stringify(record), record.revision);
    },
  );
  const addHanded = database.prepare<[number, number, number]>(
    `INSERT INTO handed (uid, day, records, bytes) VALUES (?, ?, 1, ?)
     ON CONFLICT (uid) DO UPDATE SET records = records * (day = excluded.day) + 1,
       bytes = bytes * (day = excluded.day) + excluded.bytes, day = excluded.day`,
  );
  const selectHanded = database.prepare<[number, number], HandedAmount>(
    'SELECT records, bytes FROM handed WHERE uid = ? AND day = ?',
  );
  const takeHanded = database.transaction((records: readonly HandedRecord[], day: number) => {
    for (const { uid, record } of records) {
      insertOutbox.run(record, Date.now());
      addHanded.run(uid, day, Buffer.byteLength(record));
    }
  });
  /** What `action` commits is on the disk when this returns. */
  const onDisk = (action: () => void): void => {
    database.pragma('synchronous = FULL');
    try {
      action();
    } finally {
      database.pragma('synchronous = NORMAL');
    }
  };
  const onlySeries = database.transaction((run: string | null, batch: SeriesBatch) => {
    if (run === null) {
      series.save(null, batch);
      return;
    }
    const job = selectId.get(run);
    if (job === undefined) throw new Error(`node.db knows no run ${run}`);
    series.save(job.id, batch);
  });

  interface JobRow {
    run: string;
    finished: number;
    record: string;
  }
  const selectJob = database.prepare<[string], JobRow>('SELECT run, finished, record FROM job WHERE run = ?');
  const selectId = database.prepare<[string], { id: number }>('SELECT id FROM job WHERE run = ?');
  const selectRunning = database.prepare<[], JobRow>('SELECT run, finished, record FROM job WHERE finished = 0');
  const selectOutbox = database.prepare<[number], OutboxRow>(
    'SELECT id, record FROM outbox WHERE refused IS NULL ORDER BY id LIMIT ?',
  );
  const toJob = (row: JobRow): StoredJob => ({ run: row.run, finished: row.finished === 1, record: row.record });

  return {
    saveProgress: (run, startedMs, record, samples, batch = []) => {
      orForget(() => progress.immediate(run, startedMs, record, samples, batch));
    },
    finish: (run, startedMs, record, samples, batch = []) => {
      onDisk(() => orForget(() => finish.immediate(run, startedMs, record, samples, batch)));
    },
    saveSeries: (run, batch) => {
      orForget(() => onlySeries.immediate(run, batch));
    },
    readSeries: (run, names, fromMs, toMs) => {
      const job = run === null ? null : selectId.get(run);
      if (job === undefined) return [];
      if (job === null) return series.read(null, names, fromMs, toMs);
      return [...samples.series(job.id, names, fromMs, toMs), ...series.read(job.id, names, fromMs, toMs)];
    },
    packSeries: (nowMs) => {
      series.pack(nowMs);
    },
    job: (run) => {
      const row = selectJob.get(run);
      return row === undefined ? null : toJob(row);
    },
    running: () => selectRunning.all().map(toJob),
    takeHanded: (records, day) => onDisk(() => takeHanded.immediate(records, day)),
    handed: (uid, day) => selectHanded.get(uid, day) ?? { records: 0, bytes: 0 },
    outbox: (most) => selectOutbox.all(most),
    delivered: (ids) => {
      const remove = database.prepare<[number]>('DELETE FROM outbox WHERE id = ?');
      database.transaction(() => {
        for (const id of ids) remove.run(id);
      })();
    },
    refuse: (id, reason) => {
      database.prepare<[string, number]>('UPDATE outbox SET refused = ? WHERE id = ?').run(reason, id);
    },
    prune: (before, mostBytes) => {
      database.prepare<[number]>('DELETE FROM job WHERE finished = 1 AND changed < ?').run(before);
      const size = (): number =>
        (database.pragma('page_count', { simple: true }) as number) *
        (database.pragma('page_size', { simple: true }) as number);
      const free = (): number =>
        (database.pragma('freelist_count', { simple: true }) as number) *
        (database.pragma('page_size', { simple: true }) as number);
      series.prune(before);
      const oldestJobs = database.prepare(
        'DELETE FROM job WHERE id IN (SELECT id FROM job WHERE finished = 1 ORDER BY changed LIMIT 20)',
      );
      const oldestHours = database.prepare(
        'DELETE FROM series WHERE id IN (SELECT id FROM series WHERE job IS NULL AND loose IN (0, 1) ORDER BY at LIMIT 20)',
      );
      const endOfOldestJob = database.prepare<[], number>('SELECT min(changed) FROM job WHERE finished = 1').pluck();
      const oldestHour = database.prepare<[], number>('SELECT min(at) FROM series WHERE job IS NULL').pluck();
      while (size() - free() > mostBytes) {
        const hourFirst = (oldestHour.get() ?? Infinity) < (endOfOldestJob.get() ?? Infinity);
        if ((hourFirst ? oldestHours : oldestJobs).run().changes === 0) break;
      }
    },
    close: () => {
      database.close();
    },
  };
}
