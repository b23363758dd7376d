import type { Row, Section, Unit } from './bench';
import { median, quantile } from './statistics';

const DECIMALS: Readonly<Record<Unit, number>> = {
  ms: 1,
  us: 1,
  ns: 0,
  '%': 3,
  MiB: 1,
  x: 2,
  bytes: 2,
  'jobs/s': 1,
  jobs: 0,
  'requests/s': 0,
  KiB: 0,
  s: 2,
  'records/s': 0,
  '1/s': 1,
  '1/min': 1,
};

const text = (value: number, unit: Unit): string => value.toFixed(DECIMALS[unit]);

export type Verdict = 'within' | 'over' | 'not measured' | '';

export function verdict(row: Row): Verdict {
  if (row.budget === undefined) return '';
  if (row.values.length === 0) return 'not measured';
  return median(row.values) <= row.budget ? 'within' : 'over';
}

function verdictText(row: Row): string {
  const said = verdict(row);
  if (said !== 'over' || row.budget === undefined) return said;
  const excess = median(row.values) - row.budget;
  return `OVER by ${text(excess, row.unit)} ${row.unit} (${((excess / row.budget) * 100).toFixed(0)} %)`;
}

const HEAD = ['', 'median', 'unit', 'min - max', 'p99', 'n', 'budget', 'verdict'] as const;
const LEFT_ALIGNED: ReadonlySet<number> = new Set([0, 2, 7]);

function cells(row: Row): readonly string[] {
  const { values, unit } = row;
  const many = values.length > 1;
  return [
    row.what,
    values.length === 0 ? '-' : text(median(values), unit),
    unit,
    many ? `${text(Math.min(...values), unit)} - ${text(Math.max(...values), unit)}` : '',
    values.length >= 20 ? text(quantile(values, 0.99), unit) : '',
    many ? String(values.length) : '',
    row.budget === undefined ? '' : text(row.budget, unit),
    [verdictText(row), row.note].filter(Boolean).join('; '),
  ];
}

function aligned(lines: readonly (readonly string[])[], leftAligned: ReadonlySet<number>): readonly string[] {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return leftAligned.has(column) ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** A section as aligned columns. */
export function formatSection({ title, rows, table = [], notes = [] }: Section): string {
  const body = [
    ...(rows.length > 0 ? aligned([HEAD, ...rows.map(cells)], LEFT_ALIGNED) : []),
    ...(rows.length > 0 && table.length > 0 ? [''] : []),
    ...aligned(table, new Set([0])),
    ...notes,
  ];
  return [title, ...body.map((line) => (line === '' ? '' : `  ${line}`))].join('\n');
}
