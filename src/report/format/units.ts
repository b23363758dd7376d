import { GIB, twoDigits } from '../../base/units';

const BINARY_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;

/** Which way a figure may err when it is shortened: a lower bound is rounded down, an upper bound up. */
type Rounding = 'nearest' | 'down' | 'up';

const ROUND: Readonly<Record<Rounding, (value: number) => number>> = {
  nearest: Math.round,
  down: Math.floor,
  up: Math.ceil,
};

function decimalsFor(value: number): number {
  if (value < 1) return 3;
  if (value < 10) return 2;
  return value < 100 ? 1 : 0;
}

/** Three significant digits of a value below 1000 or so: "0.977", "1.53", "15.3", "153". */
function threeDigits(value: number, rounding: Rounding): string {
  const decimals = decimalsFor(value);
  const rounded = ROUND[rounding](value * 10 ** decimals) / 10 ** decimals;
  return rounded.toFixed(Math.min(decimals, decimalsFor(rounded)));
}

/** Bytes for people: binary units, three significant digits ("1.53 GiB"). */
export function formatBytes(bytes: number, rounding: Rounding = 'nearest'): string {
  let text = String(ROUND[rounding](bytes));
  let unit = 0;
  while (Number(text) >= 1000 && unit < BINARY_UNITS.length - 1) {
    unit += 1;
    text = threeDigits(bytes / 1024 ** unit, rounding);
  }
  return `${text} ${BINARY_UNITS[unit] ?? ''}`;
}

/** A span of time: "50 ms", "4.2 s", "1:23:45", "2d 3h". */
export function formatDuration(seconds: number): string {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 86_400)
    return `${Math.floor(whole / 3600)}:${twoDigits(Math.floor(whole / 60) % 60)}:${twoDigits(whole % 60)}`;
  const hours = Math.round(seconds / 3600);
  return `${formatCount(Math.floor(hours / 24))}d ${hours % 24}h`;
}

/** A share: "0.4 %", "9.6 %", "78 %"; less than all is never "100 %". */
export function formatPercent(fraction: number): string {
  const percent = fraction * 100;
  if (percent > 0 && percent < 0.05) return '<0.1 %';
  if (percent < 9.95) return `${percent === 0 ? '0' : percent.toFixed(1)} %`;
  if (percent >= 99.5 && percent < 100) return `${(Math.floor(percent * 10) / 10).toFixed(1)} %`;
  return `${formatCount(Math.round(percent))} %`;
}

/** A whole number with thousands set apart: "12,345". */
export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** "1 host", "12,345 hosts". */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

const SMALLEST_SHOWN = 1e-6;

/**
 * A number: at most three significant digits, thousands set apart ("0.012", "3.12", "1,234"); only 0 is shown as "0".
 */
export function formatNumber(value: number): string {
  if (value >= 999.5) return formatCount(value);
  if (value > 0 && value < SMALLEST_SHOWN) return `<${SMALLEST_SHOWN.toFixed(6)}`;
  if (value > 0 && value < 0.001) return value.toFixed(1 - Math.floor(Math.log10(value))).replace(/0$/, '');
  return threeDigits(value, 'nearest').replace(/^-?0\.000$/, '0');
}

const GIB_HOUR = GIB * 3600;

/** Converts bytes times seconds into GiB times hours. */
export const gibHoursOf = (byteSeconds: number): number => byteSeconds / GIB_HOUR;

/** Memory held over time, in GiB times hours, without the unit: for columns whose head names it. */
export function formatGibHours(byteSeconds: number): string {
  return formatNumber(gibHoursOf(byteSeconds));
}

/** Amounts that stand beside each other, in one unit. */
interface Amounts {
  readonly texts: readonly string[];
  readonly unit: string;
}

type Unit = readonly [name: string, perLargest: number];

/** Amounts in the unit that suits the largest: the first unit, or a smaller one for small amounts. */
function amountsIn(units: readonly [Unit, ...Unit[]], least: number, amounts: readonly number[]): Amounts {
  const most = amounts.reduce((a, b) => Math.max(a, b), 0);
  const smallest = units[units.length - 1] ?? units[0];
  const [unit, factor] = most === 0 ? units[0] : (units.find(([, per]) => most * per >= least) ?? smallest);
  return { texts: amounts.map((amount) => formatNumber(amount * factor)), unit };
}

/** The smallest value that three digits show as 1. */
const ONE = 0.9995;

/** Memory held over time, given in GiB times hours: "2.35" GiB·h; for short or small jobs in MiB·h or KiB·h. */
export function formatMemoryTimes(gibHours: readonly number[], dot: string): Amounts {
  return amountsIn(
    [
      [`GiB${dot}h`, 1],
      [`MiB${dot}h`, 1024],
      [`KiB${dot}h`, 1024 ** 2],
    ],
    ONE,
    gibHours,
  );
}

/** One amount of memory over time, with its unit: "2.35 GiB·h". */
export function formatMemoryTime(gibHours: number, dot: string): string {
  const { texts, unit } = formatMemoryTimes([gibHours], dot);
  return `${texts.join()} ${unit}`;
}

/** Time times slots (or cores), given in hours: "12.3" slot·h; for short jobs in minutes or seconds. */
export function formatSlotTimes(hours: readonly number[], what: string): Amounts {
  return amountsIn(
    [
      [`${what}h`, 1],
      [`${what}min`, 60],
      [`${what}s`, 3600],
    ],
    0.1,
    hours,
  );
}

/** A size that somebody wrote down: as formatBytes, without needless zeros ("4 GiB", "1.5 GiB"). */
export function formatRequested(bytes: number): string {
  return formatBytes(bytes)
    .replace(/(\.\d*?)0+ /, '$1 ')
    .replace('. ', ' ');
}

/** What sums count as jobs: each array task is one. */
export const jobsText = (jobs: number): string => (jobs === 1 ? '1 job' : `${formatCount(jobs)} jobs and array tasks`);

/** "242 jobs and array tasks, 250 records, 3 running". */
export function countText({ jobs, records, running }: Record<'jobs' | 'records' | 'running', number>): string {
  return [
    jobsText(jobs),
    ...(records === jobs ? [] : [plural(records, 'record')]),
    ...(running > 0 ? [`${formatCount(running)} running`] : []),
  ].join(', ');
}
