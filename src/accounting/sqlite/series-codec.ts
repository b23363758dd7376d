import type { MemorySeries } from '../../sampler/record';
import { createByteReader, createByteWriter } from './byte-codec';

/** The points of a series in a blob: the step, then each point less the one before (KiB where all are whole KiB). */
export function packSeries(series: MemorySeries): Buffer {
  const writer = createByteWriter();
  const unit = series.rss_bytes.every((point) => point % 1024 === 0) ? 1024 : 1;
  writer.unsigned(unit);
  writer.number(series.step_seconds);
  let last = 0;
  for (const point of series.rss_bytes) {
    writer.signed((point - last) / unit);
    last = point;
  }
  return writer.finish();
}

export function unpackSeries(start: string, points: Uint8Array): MemorySeries {
  const reader = createByteReader(points);
  const unit = reader.unsigned();
  const step = reader.number() ?? 0;
  const rss: number[] = [];
  for (let last = 0; !reader.atEnd();) {
    last += reader.signed() * unit;
    rss.push(last);
  }
  return { start, step_seconds: step, rss_bytes: rss };
}
