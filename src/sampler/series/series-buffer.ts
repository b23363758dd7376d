import type { Metric, Reading } from '../../sources/source';

/** Readings of one source at several times. Values as they are stored: the reading times `resolution`. */
interface SourceBatch {
  readonly source: string;
  /** ms since the epoch. */
  readonly at: readonly number[];
  readonly columns: readonly SeriesColumn[];
}

interface SeriesColumn {
  readonly metric: string;
  readonly instance: string;
  readonly resolution: number;
  /** One for each time; null: not read then. */
  readonly values: readonly (number | null)[];
}

/** All readings between two flushes. */
export type SeriesBatch = readonly SourceBatch[];

export type SeriesBuffer = ReturnType<typeof newSeriesBuffer>;

interface Pending {
  readonly at: number[];
  readonly columns: Map<string, SeriesColumn & { readonly values: (number | null)[] }>;
}

/** A new buffer for readings of these metrics; others are left out. */
export function newSeriesBuffer(metrics: readonly Metric[] = []) {
  const resolutions = new Map<string, number>();
  const know = (more: readonly Metric[]): void => {
    for (const { name, resolution } of more) resolutions.set(name, resolution ?? 1);
  };
  know(metrics);
  let pending = new Map<string, Pending>();

  return {
    /** Takes readings of these metrics, too. */
    know,
    /** Adds what a source read at `atMs` (ms since the epoch). What belongs to one process is left out. */
    add: (sourceName: string, atMs: number, readings: readonly Reading[]): void => {
      const source: Pending = pending.get(sourceName) ?? { at: [], columns: new Map() };
      const tick = source.at.length;
      let added = false;
      for (const { metric, instance, value, pid } of readings) {
        const resolution = resolutions.get(metric);
        if (resolution === undefined || pid !== undefined || !Number.isFinite(value)) continue;
        const key = `${metric} ${instance}`;
        const column = source.columns.get(key) ?? { metric, instance, resolution, values: [] };
        source.columns.set(key, column);
        while (column.values.length < tick) column.values.push(null);
        // + 0: no negative zero.
        column.values[tick] = Math.round(value * resolution) + 0;
        added = true;
      }
      if (!added) return;
      source.at.push(Math.round(atMs));
      pending.set(sourceName, source);
    },
    /** All readings since the last call. */
    take: (): SeriesBatch => {
      const batch = [...pending].map(([source, { at, columns }]) => ({
        source,
        at,
        columns: [...columns.values()].map((column) => ({
          ...column,
          values: at.map((_, tick) => column.values[tick] ?? null),
        })),
      }));
      pending = new Map();
      return batch;
    },
  };
}
