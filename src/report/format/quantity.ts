import { JOULES_PER_KWH } from '../../base/units';
import { formatMoment } from './local-time';
import type { Glyphs } from '../screen/screen';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatMemoryTime,
  formatNumber,
  formatPercent,
  gibHoursOf,
} from './units';

/** Units that a metric's name ends in; a name without one of them counts something. */
const UNITS = [
  'bits_per_second',
  'bytes',
  'byte_seconds',
  'seconds',
  'joules',
  'watts',
  'celsius',
  'hertz',
  'rpm',
  'volts',
  'percent',
  'ratio',
  'timestamp',
] as const;

export type QuantityUnit = (typeof UNITS)[number] | 'count';

/** The unit of a metric, by its name. */
export function unitOfMetric(name: string): QuantityUnit {
  return UNITS.find((unit) => name.endsWith(`_${unit}`)) ?? 'count';
}

/** "rapl", "package energy": the source of a metric, and what is measured, in words. */
export function splitMetric(name: string): { readonly source: string; readonly what: string } {
  const [source = '', ...rest] = name.split('_');
  const unit = unitOfMetric(name);
  const words = unit === 'count' ? rest : rest.slice(0, -unit.split('_').length);
  return { source, what: words.length === 0 ? source : words.join(' ') };
}

const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E'] as const;

/** Powers of 1000: "1.23 kJ". */
function withPrefix(value: number, unit: string): string {
  let rest = Math.abs(value);
  let prefix = 0;
  for (; rest >= 999.5 && prefix < PREFIXES.length - 1; prefix += 1) rest /= 1000;
  const number = Number.isInteger(rest) && prefix === 0 ? String(rest) : formatNumber(rest);
  return `${value < 0 ? '-' : ''}${number} ${PREFIXES[prefix] ?? ''}${unit}`.trimEnd();
}

const MOST_COUNTED_OUT = 1e7;

type UnitGlyphs = Pick<Glyphs, 'degree' | 'dot'>;

/** A value for people: "1.53 GiB", "4.2 s", "1.23 kJ", "45 °C", "8.31 G". */
export function formatQuantity(value: number, unit: QuantityUnit, glyphs: UnitGlyphs): string {
  const sign = value < 0 ? '-' : '';
  switch (unit) {
    case 'bytes':
      return sign + formatBytes(Math.abs(value));
    case 'byte_seconds':
      return sign + formatMemoryTime(gibHoursOf(Math.abs(value)), glyphs.dot);
    case 'seconds':
      return sign + formatDuration(Math.abs(value));
    case 'joules':
      return Math.abs(value) >= JOULES_PER_KWH
        ? `${withPrefix(value, 'J')} (${formatNumber(value / JOULES_PER_KWH)} kWh)`
        : withPrefix(value, 'J');
    case 'watts':
      return withPrefix(value, 'W');
    case 'volts':
      return withPrefix(value, 'V');
    case 'hertz':
      return withPrefix(value, 'Hz');
    case 'bits_per_second':
      return withPrefix(value, 'bit/s');
    case 'celsius':
      return `${Number(value.toFixed(1))} ${glyphs.degree}C`;
    case 'rpm':
      return `${formatCount(value)} rpm`;
    case 'percent':
      return sign + formatPercent(Math.abs(value) / 100);
    case 'ratio':
      return Number(value.toPrecision(3)).toString();
    case 'timestamp':
      return formatMoment(new Date(value * 1000));
    case 'count':
      if (Math.abs(value) >= MOST_COUNTED_OUT) return withPrefix(value, '');
      return Number.isInteger(value) ? sign + formatCount(Math.abs(value)) : sign + formatNumber(Math.abs(value));
  }
}

/** A rate of a counter: joules a second are shown as watts, memory times seconds a second as memory. */
export function formatRate(value: number, unit: QuantityUnit, glyphs: UnitGlyphs): string {
  if (unit === 'joules') return formatQuantity(value, 'watts', glyphs);
  if (unit === 'byte_seconds') return formatQuantity(value, 'bytes', glyphs);
  if (unit === 'seconds') return `${formatNumber(Math.max(0, value))} s/s`;
  return `${formatQuantity(value, unit, glyphs)}/s`;
}
