import { formatBytes, formatNumber, formatRequested } from '../../../report/format/units';

/** The unit of the values of a series over time, by its name; also used by the script in the browser. */

const RATE = '_per_second';

interface SeriesUnit {
  /** Units of large amounts are powers of it. */
  readonly base: 1024 | 1000;
  readonly text: (value: number) => string;
  /** The text of a round value. */
  readonly tick: (value: number) => string;
}

const counted = (unit: string): SeriesUnit => ({
  base: 1000,
  text: (value) => `${formatNumber(value)}${unit}`,
  tick: (value) => `${Number(value.toPrecision(6))}${value === 1 ? unit.replace(/s$/, '') : unit}`,
});

/** The unit by the ending of the name; with another ending, a plain number. */
export function unitOfSeries(name: string): SeriesUnit {
  const [quantity, per] = name.endsWith(RATE) ? [name.slice(0, -RATE.length), '/s'] : [name, ''];
  if (quantity.endsWith('_bytes') || quantity === 'bytes')
    return {
      base: 1024,
      // As peaks are: what was held, rounded down.
      text: (value) => formatBytes(value, 'down') + per,
      tick: (value) => formatRequested(value) + per,
    };
  return counted((quantity.endsWith('_cores') ? ' cores' : quantity.endsWith('_percent') ? ' %' : '') + per);
}
