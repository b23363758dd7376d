import type { Sums } from '../sums';
import { createByteReader, createByteWriter } from './byte-codec';

type Bins = Pick<Sums, 'hours' | 'shares' | 'coverage'>;

/** Hours are kept in thousandths: of a GiB h, of a slot hour. */
const HOUR_UNITS = 1000;

function binsOf({ hours, shares, coverage }: Bins): readonly (readonly [Float64Array, number])[] {
  return [
    [hours, HOUR_UNITS],
    [shares, 1],
    [coverage, 1],
  ];
}

/** The bins that are not 0: how many were skipped, then the value. */
export function packBins(bins: Bins): Buffer {
  const writer = createByteWriter();
  let skipped = 0;
  for (const [values, units] of binsOf(bins))
    for (const value of values) {
      const whole = Math.round(value * units);
      if (whole > 0) {
        writer.unsigned(skipped);
        writer.unsigned(whole);
        skipped = 0;
      } else skipped++;
    }
  return writer.finish();
}

/** Adds what `packBins` wrote to `bins`. Throws DamagedRecord where it is cut off. */
export function addPackedBins(bins: Bins, packed: Uint8Array): void {
  const reader = createByteReader(packed);
  const all = binsOf(bins);
  let at = 0;
  while (!reader.atEnd()) {
    at += reader.unsigned();
    const value = reader.unsigned();
    let index = at;
    for (const [values, units] of all) {
      if (index < values.length) {
        values[index] = (values[index] ?? 0) + value / units;
        break;
      }
      index -= values.length;
    }
    at++;
  }
}
