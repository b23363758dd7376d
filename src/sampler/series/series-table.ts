import type { Database } from 'better-sqlite3';
import type { SeriesBatch } from './series-buffer';
import { packSeries, unpackSeries, type NumberedSource } from './series-codec';
import { mergeSeries } from './series-merge';

/** One metric of one instance over time, in the metric's unit; times in ms since the epoch. */
export interface StoredSeries {
  readonly metric: string;
  readonly instance: string;
  readonly at: readonly number[];
  readonly values: readonly number[];
}

/** The tables `metric` and `series` of node.db. `job` is a row of `job`; null: the node itself. */
interface SeriesTable {
  /** Inside a write transaction only. */
  readonly save: (job: number | null, batch: SeriesBatch) => void;
  /** To be called after a rollback: numbers given since are gone. */
  readonly forget: () => void;
  readonly read: (
    job: number | null,
    names: readonly string[],
    fromMs: number,
    toMs: number,
  ) => readonly StoredSeries[];
  /** Puts together the rows of finished jobs and of the node's hours before `nowMs`. */
  readonly pack: (nowMs: number) => void;
  /** Drops what was read on the node before `beforeMs`, and metrics that no series names any more. */
  readonly prune: (beforeMs: number) => void;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** A sampler that is late by this much writes a row of its own. */
const LATE_MS = 60_000;
/** So many rows of a job become one. */
const ROWS_TOGETHER = 500;
const IDS_REMEMBERED = 20_000;

interface SeriesRow {
  readonly id: number;
  readonly at: number;
  readonly packed: Buffer;
}

interface MetricRow {
  readonly name: string;
  readonly instance: string;
  readonly resolution: number;
}

export function createSeriesTable(database: Database): SeriesTable {
  const ids = new Map<string, { readonly id: number; readonly day: number }>();
  // Not one upsert: each time it finds the name it would use up a number.
  const touch = database
    .prepare<[number, string, string, number], number>(
      'UPDATE metric SET seen = max(seen, ?) WHERE name = ? AND instance = ? AND resolution = ? RETURNING id',
    )
    .pluck();
  const add = database
    .prepare<[number, string, string, number], number>(
      'INSERT INTO metric (seen, name, instance, resolution) VALUES (?, ?, ?, ?) RETURNING id',
    )
    .pluck();
  const insert = database.prepare<[number | null, number, number, number, Buffer]>(
    'INSERT INTO series (job, at, span, loose, packed) VALUES (?, ?, ?, ?, ?)',
  );
  const select = database.prepare<[number | null, number, number], SeriesRow>(
    'SELECT id, at, packed FROM series WHERE job IS ? AND loose IN (0, 1) AND at <= ? AND at + span >= ? ORDER BY at',
  );
  const metrics = database.prepare<[], MetricRow & { readonly id: number }>(
    'SELECT id, name, instance, resolution FROM metric',
  );

  function numberOf(name: string, instance: string, resolution: number, nowMs: number): number {
    const day = Math.floor(nowMs / DAY_MS) * DAY_MS;
    const key = `${resolution} ${name} ${instance}`;
    const known = ids.get(key);
    if (known !== undefined && known.day >= day) return known.id;
    if (ids.size >= IDS_REMEMBERED) ids.clear();
    const row = [day, name, instance, resolution] as const;
    const id = touch.get(...row) ?? add.get(...row);
    if (id === undefined) throw new Error('node.db returned no metric id');
    ids.set(key, { id, day });
    return id;
  }

  function write(job: number | null, sources: readonly NumberedSource[], further: boolean): void {
    let first = Infinity;
    let last = -Infinity;
    for (const { at } of sources)
      for (const time of at) {
        first = Math.min(first, time);
        last = Math.max(last, time);
      }
    if (first > last) return;
    insert.run(job, first, last - first, further ? 0 : 1, packSeries(first, sources, further));
  }

  /** A damaged row is dropped: its neighbours are worth more than its place. */
  const packRows = database.transaction((job: number | null, rows: readonly SeriesRow[]) => {
    const remove = database.prepare<[number]>('DELETE FROM series WHERE id = ?');
    write(job, mergeSeries(rows.flatMap(({ at, packed }) => [unpackSeries(at, packed) ?? []])), true);
    for (const { id } of rows) remove.run(id);
  });

  return {
    save: (job, batch) => {
      const now = batch.reduce((most, { at }) => Math.max(most, at[at.length - 1] ?? 0), 0);
      write(
        job,
        batch.map(({ source, at, columns }) => ({
          // The name of a source is none of a metric: those go on with "_" and what they measure.
          id: numberOf(source, '', 1, now),
          at,
          columns: columns.map(({ metric, instance, resolution, values }) => ({
            id: numberOf(metric, instance, resolution, now),
            values,
          })),
        })),
        false,
      );
    },
    forget: () => {
      ids.clear();
    },
    read: (job, names, fromMs, toMs) => {
      const wanted = new Map(
        metrics
          .all()
          .filter(({ name }) => names.length === 0 || names.includes(name))
          .map((metric) => [metric.id, metric]),
      );
      const found = new Map<string, (readonly [number, number])[]>();
      for (const { at: base, packed } of select.iterate(job, toMs, fromMs))
        for (const { at, columns } of unpackSeries(base, packed) ?? [])
          for (const { id, values } of columns) {
            const metric = wanted.get(id);
            if (metric === undefined) continue;
            const key = `${metric.name} ${metric.instance}`;
            const points = found.get(key) ?? [];
            found.set(key, points);
            for (const [tick, value] of values.entries()) {
              const time = at[tick] ?? 0;
              if (value !== null && time >= fromMs && time <= toMs) points.push([time, value / metric.resolution]);
            }
          }
      return [...found]
        .filter(([, points]) => points.length > 0)
        .map(([key, points]) => {
          points.sort(([a], [b]) => a - b);
          const [metric = '', ...instance] = key.split(' ');
          const at = points.map(([time]) => time);
          return { metric, instance: instance.join(' '), at, values: points.map(([, value]) => value) };
        });
    },
    pack: (nowMs) => {
      const jobs = database
        .prepare<[], number>(
          `SELECT id FROM job WHERE finished = 1 AND EXISTS (SELECT 1 FROM series WHERE job = job.id AND loose = 1)`,
        )
        .pluck()
        .all();
      const loose = database.prepare<[number, number], SeriesRow>(
        'SELECT id, at, packed FROM series WHERE job = ? AND loose = 1 ORDER BY at LIMIT ?',
      );
      for (const job of jobs)
        for (let rows = loose.all(job, ROWS_TOGETHER); rows.length > 0; rows = loose.all(job, ROWS_TOGETHER))
          packRows.immediate(job, rows);
      const ofNode = database.prepare<[number], SeriesRow>(
        'SELECT id, at, packed FROM series WHERE job IS NULL AND loose = 1 AND at < ? ORDER BY at',
      );
      const hours = new Map<number, SeriesRow[]>();
      const before = Math.floor((nowMs - LATE_MS) / HOUR_MS) * HOUR_MS;
      for (const row of ofNode.all(before)) {
        const hour = Math.floor(row.at / HOUR_MS);
        hours.set(hour, [...(hours.get(hour) ?? []), row]);
      }
      for (const rows of hours.values()) packRows.immediate(null, rows);
    },
    prune: (beforeMs) => {
      database.prepare<[number]>('DELETE FROM series WHERE job IS NULL AND at + span < ?').run(beforeMs);
      // One day more: `seen` is true to the day.
      database
        .prepare<[number]>('DELETE FROM metric WHERE seen < coalesce((SELECT min(at) FROM series), 0) - ?')
        .run(DAY_MS);
    },
  };
}
