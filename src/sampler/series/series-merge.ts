import type { NumberedColumn, NumberedSource } from './series-codec';

/** Batches put together: each source once, its times in order; the same time twice counts as two readings. */
export function mergeSeries(batches: readonly (readonly NumberedSource[])[]): readonly NumberedSource[] {
  const pieces = new Map<number, NumberedSource[]>();
  for (const source of batches.flat()) {
    const known = pieces.get(source.id);
    if (known === undefined) pieces.set(source.id, [source]);
    else known.push(source);
  }
  return [...pieces].map(([id, parts]) => mergeSource(id, parts));
}

function mergeSource(id: number, parts: readonly NumberedSource[]): NumberedSource {
  const times = parts.flatMap(({ at }) => at);
  const order = times.map((_, index) => index).sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0));
  const columns = new Map<number, (number | null)[]>();
  let tick = 0;
  for (const part of parts) {
    for (const column of part.columns) {
      const values = columns.get(column.id) ?? new Array<number | null>(times.length).fill(null);
      columns.set(column.id, values);
      for (const [index, value] of column.values.entries()) values[tick + index] = value;
    }
    tick += part.at.length;
  }
  return {
    id,
    at: order.map((index) => times[index] ?? 0),
    columns: [...columns].map(([column, values]): NumberedColumn => ({
      id: column,
      values: order.map((index) => values[index] ?? null),
    })),
  };
}
