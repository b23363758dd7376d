import type { Database } from 'better-sqlite3';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteHistory } from '../../src/accounting/sqlite/sqlite-history';
import { parseAccountingLine } from '../gridengine/parse-accounting-line';
import type { AccountingRecord } from '../../src/gridengine/accounting-line';
import { SqliteDatabase } from '../../src/native/sqlite';
import { emptyRecord } from '../../src/record/record';
import type { JobRecord } from '../../src/record/record';
import { lineText, siteWeek, WEEK_MS } from './history-week';
import type { Week, WeekRun } from './history-week';

/**
 * Years of a site: one week is delivered and imported record by record, the others are copies of its rows under later
 * job numbers and times. The same jobs as an accounting file.
 */

export const FIRST_JOB = 1000;
const RUNS_PER_WEEK = 50_000;
const MOST_WEEKS = 520;
const BATCH = 500;
const FLUSH_BYTES = 8 << 20;
/** Larger histories have no accounting file: it would exceed the store, and qacct's time grows with its lines. */
const MOST_LINES = 30_000_000;

export interface History {
  readonly store: string;
  readonly file: string;
  /** false: too many records for an accounting file. */
  readonly hasFile: boolean;
  readonly records: number;
  readonly weeks: number;
  readonly week: Week;
  /** Half-open, ms. */
  readonly since: number;
  readonly until: number;
  /** Time for the first week, ms. */
  readonly deliveredMs: number;
  readonly delivered: number;
  readonly importedMs: number;
  readonly copiedMs: number;
  /** Days that were summed up from their records, and the number of those records. */
  readonly days: number;
  readonly rolled: number;
  readonly rolledMs: number;
  readonly fileMs: number;
}

/** `weeks` null: as of a site with 50,000 records a week, at most ten years. */
export interface HistorySize {
  readonly records: number;
  readonly weeks: number | null;
}

export type Progress = (text: string) => void;

/** The record that an import makes of a run's line, under the key of the sampler's record where there is one. */
export function lineRecord(run: WeekRun, line: AccountingRecord): JobRecord {
  const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
  const start = Math.floor((line.startTimeMs ?? 0) / 1000);
  const gib = /h_vmem=(\d+)G/.exec(line.category ?? '')?.[1];
  const bytes = gib === undefined ? null : Number(gib) * 2 ** 30;
  const key = {
    cluster: 'hpc',
    job_id: FIRST_JOB + run.job,
    task_id: line.task === 0 ? null : line.task,
    pe_task_id: line.peTaskId,
    host: line.host,
    run_id: start === 0 ? `accounting.0.${Math.floor((line.submissionTimeMs ?? 0) / 1000)}.1` : `accounting.${start}`,
  };
  return {
    ...emptyRecord(run.record === null ? key : { ...run.record, job_id: key.job_id }, 'finished', 'accounting', 0),
    revision: line.endTimeMs ?? line.submissionTimeMs ?? 0,
    owner: line.owner,
    job_name: line.jobName,
    queue: line.queue,
    project: line.project,
    pe: line.pe,
    account: line.account,
    slots: line.slots,
    host_slots: line.slots === 0 ? null : line.slots,
    submitted_at: time(line.submissionTimeMs),
    started_at: time(line.startTimeMs),
    ended_at: time(line.endTimeMs),
    exit_status: line.exitStatus,
    failed: line.failed,
    h_vmem: bytes === null ? null : { request_bytes: bytes, limit_bytes: bytes * Math.max(1, line.slots), per: 'slot' },
    wallclock_seconds: line.wallclockSeconds,
    cpu_seconds: line.cpuSeconds,
    grid_engine: {
      wallclock_seconds: line.wallclockSeconds,
      cpu_seconds: line.cpuSeconds,
      user_seconds: line.userSeconds,
      system_seconds: line.systemSeconds,
      maxvmem_bytes: line.maxvmemBytes,
      maxrss_bytes: null,
      mem_gib_seconds: line.memGibSeconds,
      io_gib: line.ioGib,
      category: line.category,
      submit_command: null,
      deleted_by: null,
      lines: 1,
    },
  };
}

/** A run's line as the import reads it. */
export function parsedLine(run: WeekRun): AccountingRecord {
  const parsed = parseAccountingLine(lineText(run.line, FIRST_JOB + run.job, 0).trimEnd());
  if (!parsed.ok) throw new Error(`the generator wrote a line that can't be read: ${parsed.error.detail}`);
  return parsed.value;
}

/** Merges some records at a time, as a site's deliverers do. */
export async function inBatches(
  records: readonly JobRecord[],
  merge: (batch: readonly JobRecord[]) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < records.length; at += BATCH) await merge(records.slice(at, at + BATCH));
}

/** The run id, moved in time: a run known only from an accounting line has a time in its id. */
function movedRun(run: string, seconds: number): string {
  return run.replace(/^(accounting\.(?:0\.)?)([1-9]\d*)/, (_all, before: string, time: string) =>
    [before, Number(time) + seconds].join(''),
  );
}

/** Columns that hold a time in ms. */
const TIMES: ReadonlySet<string> = new Set(['submitted_at', 'started_at', 'ended_at', 'revision']);

/** Copies the rows of the first week into each later week, as fast as SQLite inserts; returns the rows of a week. */
function copyWeeks(path: string, weeks: number, jobs: number, progress: Progress): number {
  const db = new SqliteDatabase(path);
  try {
    db.pragma('journal_mode = OFF');
    db.pragma('synchronous = OFF');
    db.pragma('cache_size = -1000000');
    db.function('moved_run', { deterministic: true }, (run: unknown, seconds: unknown) =>
      movedRun(String(run), Number(seconds)),
    );
    const columns = db
      .prepare<[], { name: string; hidden: number }>("SELECT name, hidden FROM pragma_table_xinfo('record')")
      .all()
      .filter(({ name, hidden }) => hidden === 0 && name !== 'id')
      .map(({ name }) => name);
    const moved = columns.map((column) => {
      if (column === 'job_id') return 'job_id + @jobs';
      if (column === 'run_id') return 'moved_run(run_id, @seconds)';
      return TIMES.has(column) ? `${column} + @seconds * 1000` : column;
    });
    const last = db.prepare<[], number>('SELECT count(*) FROM record').pluck().get() ?? 0;
    if (last !== db.prepare<[], number>('SELECT max(id) FROM record').pluck().get())
      throw new Error("the first week's records are not numbered without gaps");
    const copy = db.prepare<[{ jobs: number; seconds: number }]>(
      `INSERT INTO record (${columns.join(', ')}) SELECT ${moved.join(', ')} FROM record WHERE id <= ${last} ORDER BY id`,
    );
    for (let week = 1; week < weeks; week++) {
      db.transaction(() => copy.run({ jobs: week * jobs, seconds: (week * WEEK_MS) / 1000 }))();
      progress(`history: week ${week + 1} of ${weeks}`);
    }
    return last;
  } finally {
    db.close();
  }
}

/** Weeks whose days are summed up from their records; the others' sums are copies of the last of the first ones. */
const SUMMED_AT_THE_BEGIN = 3;
const SUMMED_AT_THE_END = 2;
/** Days with copied sums that are also summed up from their records, to compare both. */
const DAYS_CHECKED = 2;

/** Parameter: the day's first hour. */
const MARK_DAY = 'INSERT OR IGNORE INTO stale_hour VALUES (?, 1)';

/** Marks the days of whole weeks from the first record on as changed since they were summed up. */
function markStale(db: Database, firstDay: number, from: number, to: number): void {
  const mark = db.prepare(MARK_DAY);
  for (let day = firstDay + from * 7; day < firstDay + to * 7; day++) mark.run(day * 24);
}

/** All sums of a day, as one text. */
function sumsOf(db: Database, day: number): string {
  const of = (table: string, where: string, order: string): unknown[] =>
    db.prepare(`SELECT * FROM ${table} WHERE ${where} AND day = ? ORDER BY ${order}`).all(day);
  return JSON.stringify([
    of('rollup', 'unit = 0', 'dimension, key, cluster_id'),
    of('rollup_again', 'unit = 0', 'dimension, key, cluster_id, before'),
    of('rollup_largest', 'true', 'dimension, key, sort'),
  ]);
}

/** Sums up a history whose weeks are copies; resolves to the days and records summed up, and the time for it. */
async function sumUp(
  path: string,
  weeks: number,
  perWeek: number,
  progress: Progress,
): Promise<Pick<History, 'rolled' | 'days' | 'rolledMs'>> {
  const db = new SqliteDatabase(path);
  try {
    const dayOf = (which: string): number =>
      db.prepare<[], number>(`SELECT ${which}(counted_at) / 86400000 FROM record`).pluck().get() ?? 0;
    const first = dayOf('min');
    // Jobs of the last week may end after it.
    const all = Math.ceil((dayOf('max') + 1 - first) / 7);
    const copied = weeks > SUMMED_AT_THE_BEGIN + SUMMED_AT_THE_END;
    db.exec('DELETE FROM stale_hour');
    if (copied) {
      markStale(db, first, 0, SUMMED_AT_THE_BEGIN);
      markStale(db, first, weeks - SUMMED_AT_THE_END, all);
    } else markStale(db, first, 0, all);
    const rolled =
      db
        .prepare<[], number>('SELECT count(*) FROM record WHERE counted_at / 86400000 IN (SELECT day FROM stale_day)')
        .pluck()
        .get() ?? 0;
    progress('history: sums of the days');
    const history = openSqliteHistory(path, 0o640);
    let days = 0;
    const rolledMs = await timed(async () => {
      days = await history.rollUp({});
    });
    await history.close();
    if (copied) copySums(db, first, weeks, perWeek, progress);
    const checked = Array.from(
      { length: copied ? DAYS_CHECKED : 0 },
      (_, turn) => first + 7 * (weeks >> (turn + 1)) + turn,
    );
    const before = checked.map((day) => sumsOf(db, day));
    for (const day of checked) db.prepare(MARK_DAY).run(day * 24);
    const again = openSqliteHistory(path, 0o640);
    await again.rollUp({});
    await again.close();
    for (const [index, day] of checked.entries())
      if (sumsOf(db, day) !== before[index]) throw new Error(`the copied sums of day ${day} are not its records'`);
    return { rolled, days, rolledMs };
  } finally {
    db.close();
  }
}

/** The sums of the last week that was summed up at the beginning, for each later week. */
function copySums(db: Database, first: number, weeks: number, perWeek: number, progress: Progress): void {
  // A copied week keeps the order of its records: ids differ by the number of records in a week for each week between.
  db.function('moved_ids', { deterministic: true }, (ids: unknown, by: unknown) =>
    JSON.stringify((JSON.parse(String(ids)) as number[]).map((id) => id + Number(by))),
  );
  const model = first + (SUMMED_AT_THE_BEGIN - 1) * 7;
  const columns = db
    .prepare<[], { name: string }>("SELECT name FROM pragma_table_info('rollup')")
    .all()
    .map(({ name }) => name);
  const week = `day >= ${model} AND day < ${model + 7}`;
  const copies = [
    db.prepare<[{ weeks: number }]>(
      `INSERT INTO rollup (${columns.join(', ')})
       SELECT ${columns.map((name) => (name === 'day' ? 'day + 7 * @weeks' : name)).join(', ')} FROM rollup
       WHERE unit = 0 AND ${week}`,
    ),
    db.prepare<[{ weeks: number }]>(
      `INSERT INTO rollup_bins SELECT dimension, key, unit, day + 7 * @weeks, cluster_id, hours, shares, coverage
       FROM rollup_bins WHERE unit = 0 AND ${week}`,
    ),
    db.prepare<[{ weeks: number }]>(
      `INSERT INTO rollup_again (unit, dimension, day, key, cluster_id, before)
       SELECT unit, dimension, day + 7 * @weeks, key, cluster_id, before + ${WEEK_MS} * @weeks FROM rollup_again
       WHERE unit = 0 AND ${week}`,
    ),
    db.prepare<[{ weeks: number }]>(
      `INSERT INTO rollup_largest SELECT day + 7 * @weeks, dimension, key, sort, amounts, moved_ids(ids, ${perWeek} * @weeks)
       FROM rollup_largest WHERE ${week}`,
    ),
    db.prepare<[{ weeks: number }]>(
      `INSERT INTO summed_day SELECT day + 7 * @weeks, change FROM summed_day WHERE ${week}`,
    ),
  ];
  for (let later = 1; later <= weeks - SUMMED_AT_THE_BEGIN - SUMMED_AT_THE_END; later++) {
    db.transaction(() => {
      for (const copy of copies) copy.run({ weeks: later });
    })();
    progress(`history: sums of week ${later + SUMMED_AT_THE_BEGIN} of ${weeks}`);
  }
}

function writeFile(path: string, week: Week, weeks: number, progress: Progress): void {
  const file = openSync(path, 'w');
  let text = '# Version: 8.1.9\n';
  for (let number = 0; number < weeks; number++) {
    for (const { job, line } of week.runs) {
      text += lineText(line, FIRST_JOB + job + number * week.jobs, (number * WEEK_MS) / 1000);
      if (text.length < FLUSH_BYTES) continue;
      writeSync(file, text);
      text = '';
    }
    progress(`accounting file: week ${number + 1} of ${weeks}`);
  }
  writeSync(file, text);
  closeSync(file);
}

async function timed(step: () => void | Promise<void>): Promise<number> {
  const began = performance.now();
  await step();
  return performance.now() - began;
}

/** Fills DIRECTORY/accounting.db and DIRECTORY/accounting with about `size` records that end at `until` (ms). */
export async function fillHistory(
  directory: string,
  { records: wanted, weeks: given }: HistorySize,
  until: number,
  seed: number,
  progress: Progress,
): Promise<History> {
  const weeks = given ?? Math.max(1, Math.min(MOST_WEEKS, Math.round(wanted / RUNS_PER_WEEK)));
  const since = until - weeks * WEEK_MS;
  progress('history: the first week');
  const week = siteWeek(seed, Math.round(wanted / weeks), since);
  const store = join(directory, 'accounting.db');
  const file = join(directory, 'accounting');
  const sampled = week.runs.flatMap(({ record }) =>
    record === null ? [] : { ...record, job_id: FIRST_JOB + record.job_id },
  );
  const open = openSqliteHistory(store, 0o640);
  const deliveredMs = await timed(() => inBatches(sampled, (batch) => open.merge(batch)));
  const lines = week.runs.map((run) => lineRecord(run, parsedLine(run)));
  const importedMs = await timed(() => inBatches(lines, (batch) => open.merge(batch)));
  await open.close();
  let perWeek = 0;
  const copiedMs = await timed(() => {
    perWeek = copyWeeks(store, weeks, week.jobs, progress);
  });
  const sums = await sumUp(store, weeks, perWeek, progress);
  const records = week.runs.length * weeks;
  const hasFile = records <= MOST_LINES;
  const fileMs = await timed(() => {
    if (hasFile) writeFile(file, week, weeks, progress);
  });
  return {
    store,
    file,
    hasFile,
    records,
    weeks,
    week,
    since,
    until,
    deliveredMs,
    delivered: sampled.length,
    importedMs,
    copiedMs,
    ...sums,
    fileMs,
  };
}

/** Bytes of a file. */
export function sizeOf(path: string): number {
  return statSync(path).size;
}
