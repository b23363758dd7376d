import type { Database, Statement } from 'better-sqlite3';
import { DAY_MS, HOUR_MS } from '../../base/units';
import { groupBy } from '../../base/group-by';
import { monotonicMs } from '../../base/monotonic';
import type { SeriesBatch } from './series-buffer';
import { mergeSeries, packSeries, unpackSeries, type NumberedSource } from './series-codec';

/** One metric of one instance over time, in the metric's unit; times in ms since the epoch. */
export interface StoredSeries {
  readonly metric: string;
  readonly instance: string;
  readonly at: readonly number[];
  readonly values: readonly number[];
}

/** An hour's rows are merged this long after its end; a sampler that is later still has its rows merged separately. */
const LATE_MS = 60_000;
/** Most rows of a job that are merged into one. */
const ROWS_TOGETHER = 500;
const IDS_REMEMBERED = 20_000;

interface SeriesRow {
  readonly id: number;
  readonly at: number;
  readonly packed: Buffer;
}

interface MetricRow {
  readonly id: number;
  readonly name: string;
  readonly instance: string;
  readonly resolution: number;
}

/** Times of the first and last reading; null: there is none. */
function spanOf(sources: readonly NumberedSource[]): readonly [first: number, last: number] | null {
  let first = Infinity;
  let last = -Infinity;
  for (const { at } of sources)
    for (const time of at) {
      first = Math.min(first, time);
      last = Math.max(last, time);
    }
  return first > last ? null : [first, last];
}

/** The tables `metric` and `series` of node.db. `job` is a row of `job`; null: the node itself. */
export class SeriesTable {
  /** Id of each metric, and the day that its row has as `seen`. */
  private readonly ids = new Map<string, { readonly id: number; readonly day: number }>();
  private readonly touch: Statement<[number, string, string, number], number>;
  private readonly add: Statement<[number, string, string, number], number>;
  private readonly insert: Statement<[number | null, number, number, number, Buffer]>;
  private readonly select: Statement<[number | null, number, number], SeriesRow>;
  private readonly metrics: Statement<[], MetricRow>;

  constructor(private readonly database: Database) {
    // Not one upsert: that would use up an id each time it finds the name.
    this.touch = database
      .prepare<[number, string, string, number], number>(
        'UPDATE metric SET seen = max(seen, ?) WHERE name = ? AND instance = ? AND resolution = ? RETURNING id',
      )
      .pluck();
    this.add = database
      .prepare<[number, string, string, number], number>(
        'INSERT INTO metric (seen, name, instance, resolution) VALUES (?, ?, ?, ?) RETURNING id',
      )
      .pluck();
    this.insert = database.prepare('INSERT INTO series (job, at, span, loose, packed) VALUES (?, ?, ?, ?, ?)');
    this.select = database.prepare(
      'SELECT id, at, packed FROM series WHERE job IS ? AND loose IN (0, 1) AND at <= ? AND at + span >= ? ORDER BY at',
    );
    this.metrics = database.prepare('SELECT id, name, instance, resolution FROM metric');
  }

  /** Inside a write transaction only. */
  save(job: number | null, batch: SeriesBatch): void {
    const now = batch.reduce((most, { at }) => Math.max(most, at[at.length - 1] ?? 0), 0);
    const sources = batch.map(({ source, at, columns }) => ({
      // A source's name can't be a metric's: metric names go on with "_" and what they measure.
      id: this.numberOf(source, '', 1, now),
      at,
      columns: columns.map(({ metric, instance, resolution, values }) => ({
        id: this.numberOf(metric, instance, resolution, now),
        values,
      })),
    }));
    this.write(job, sources, false);
  }

  /** To be called after a rollback: ids given out since the transaction began are gone. */
  forget(): void {
    this.ids.clear();
  }

  /** Series from `fromMs` to `toMs`: those of `names`, or all if there are no names. */
  read(job: number | null, names: readonly string[], fromMs: number, toMs: number): readonly StoredSeries[] {
    const wanted = new Map<number, MetricRow>();
    for (const metric of this.metrics.all())
      if (names.length === 0 || names.includes(metric.name)) wanted.set(metric.id, metric);
    const found = new Map<string, (readonly [time: number, value: number])[]>();
    for (const { at: base, packed } of this.select.iterate(job, toMs, fromMs))
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
  }

  /** Merges the rows of each finished job, and of each of the node's hours before `nowMs`, for about `forMs`. */
  pack(nowMs: number, forMs = Infinity): void {
    const until = monotonicMs() + forMs;
    const jobs = this.database
      .prepare<[], number>(
        `SELECT id FROM job WHERE finished = 1 AND EXISTS (SELECT 1 FROM series WHERE job = job.id AND loose = 1)`,
      )
      .pluck()
      .all();
    const loose = this.database.prepare<[number, number], SeriesRow>(
      'SELECT id, at, packed FROM series WHERE job = ? AND loose = 1 ORDER BY at LIMIT ?',
    );
    for (const job of jobs)
      for (let rows = loose.all(job, ROWS_TOGETHER); rows.length > 0; rows = loose.all(job, ROWS_TOGETHER)) {
        if (monotonicMs() > until) return;
        this.packRows(job, rows);
      }
    const ofNode = this.database.prepare<[number], SeriesRow>(
      'SELECT id, at, packed FROM series WHERE job IS NULL AND loose = 1 AND at < ? ORDER BY at',
    );
    const before = Math.floor((nowMs - LATE_MS) / HOUR_MS) * HOUR_MS;
    for (const rows of groupBy(ofNode.all(before), ({ at }) => Math.floor(at / HOUR_MS)).values()) {
      if (monotonicMs() > until) return;
      this.packRows(null, rows);
    }
  }

  private numberOf(name: string, instance: string, resolution: number, nowMs: number): number {
    const day = Math.floor(nowMs / DAY_MS) * DAY_MS;
    const key = `${resolution} ${name} ${instance}`;
    const known = this.ids.get(key);
    if (known !== undefined && known.day >= day) return known.id;
    if (this.ids.size >= IDS_REMEMBERED) this.ids.clear();
    const row = [day, name, instance, resolution] as const;
    const id = this.touch.get(...row) ?? this.add.get(...row);
    if (id === undefined) throw new Error('node.db returned no metric id');
    this.ids.set(key, { id, day });
    return id;
  }

  private write(job: number | null, sources: readonly NumberedSource[], further: boolean): void {
    const span = spanOf(sources);
    if (span === null) return;
    const [first, last] = span;
    this.insert.run(job, first, last - first, further ? 0 : 1, packSeries(first, sources, further));
  }

  /** Merges rows into one. A damaged row is dropped, so that its neighbours can be merged. */
  private packRows(job: number | null, rows: readonly SeriesRow[]): void {
    const remove = this.database.prepare<[number]>('DELETE FROM series WHERE id = ?');
    this.database
      .transaction(() => {
        // Another process may have merged some since they were read.
        const left = rows.filter(({ id }) => remove.run(id).changes > 0);
        this.write(job, mergeSeries(left.flatMap(({ at, packed }) => [unpackSeries(at, packed) ?? []])), true);
      })
      .immediate();
  }
}
