import { mergeSeries, packSeries, type NumberedSource } from '../../src/sampler/series/series-codec';
import { newSeriesBuffer, type SeriesBatch } from '../../src/sampler/series/series-buffer';
import type { Metric, Reading } from '../../src/sources/source';
import type { Row } from './bench';

/** Room that readings take in node.db, in the batches that a writer flushes, and once they are packed. */
export interface SeriesRoom {
  readonly add: (source: string, atMs: number, readings: readonly Reading[]) => void;
  readonly flush: () => void;
  readonly rows: (who: string) => readonly Row[];
}

/** Size of a row of `series` without the packed values: rowid, job, time, span, flags, lengths. */
const ROW_BYTES = 24;

export function newSeriesRoom(metrics: readonly Metric[]): SeriesRoom {
  const buffer = newSeriesBuffer(metrics);
  const ids = new Map<string, number>();
  const batches: (readonly NumberedSource[])[] = [];
  let values = 0;
  let loose = 0;

  const idOf = (name: string): number => {
    const known = ids.get(name) ?? ids.size + 1;
    ids.set(name, known);
    return known;
  };
  const numbered = (batch: SeriesBatch): readonly NumberedSource[] =>
    batch.map(({ source, at, columns }) => ({
      id: idOf(source),
      at,
      columns: columns.map(({ metric, instance, values: read }) => ({
        id: idOf(`${metric} ${instance}`),
        values: read,
      })),
    }));
  const baseOf = (sources: readonly NumberedSource[]): number => Math.min(...sources.flatMap(({ at }) => at));

  return {
    add: buffer.add,
    flush: () => {
      const sources = numbered(buffer.take());
      if (sources.length === 0) return;
      for (const { columns } of sources)
        for (const column of columns) values += column.values.filter((value) => value !== null).length;
      batches.push(sources);
      loose += packSeries(baseOf(sources), sources).length + ROW_BYTES;
    },
    rows: (who) => {
      const count = `${values} values in ${batches.length} ${batches.length === 1 ? 'row' : 'rows'}`;
      if (values === 0) return [{ what: who, unit: 'bytes', values: [], note: 'nothing to be read here' }];
      const together = mergeSeries(batches);
      const packed = packSeries(baseOf(together), together, true).length + ROW_BYTES;
      return [
        { what: `${who}, as written`, unit: 'bytes', values: [loose / values], note: count },
        { what: `${who}, put together later`, unit: 'bytes', values: [packed / values] },
      ];
    },
  };
}
