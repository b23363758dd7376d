import type { Row, Section, Unit } from './bench';
import { median, quantile } from './statistics';
import { BUDGETS } from './budgets';

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
  const { most, unit } = BUDGETS[row.budget];
  if (unit !== row.unit) throw new TypeError(`${row.what}: ${row.unit} is not the ${unit} of its budget`);
  return median(row.values) <= most ? 'within' : 'over';
}

function verdictText(row: Row): string {
  const said = verdict(row);
  if (said !== 'over' || row.budget === undefined) return said;
  const { most } = BUDGETS[row.budget];
  const excess = median(row.values) - most;
  const percent = most > 0 ? ` (${((excess / most) * 100).toFixed(0)} %)` : '';
  return `OVER by ${text(excess, row.unit)} ${row.unit}${percent}`;
}

const HEAD = ['', 'median', 'unit', 'min - max', 'p99', 'n', 'budget', 'verdict'] as const;

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
    row.budget === undefined ? '' : text(BUDGETS[row.budget].most, unit),
    [verdictText(row), row.note].filter(Boolean).join('; '),
  ];
}

/** The first line is the head. Columns of numbers are aligned right. */
function aligned(lines: readonly (readonly string[])[]): readonly string[] {
  const [head = [], ...body] = lines;
  const columns = head.map((_, column) => ({
    width: Math.max(...lines.map((line) => line[column]?.length ?? 0)),
    ofNumbers: column > 0 && body.every((line) => /^[-\d]|^$/.test(line[column] ?? '')),
  }));
  return lines.map((line) =>
    line
      .map((cell, column) => {
        const { width = 0, ofNumbers = false } = columns[column] ?? {};
        return ofNumbers ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** A section as aligned columns. */
export function formatSection({ title, rows, table = [], notes = [] }: Section): string {
  const body = [
    ...(rows.length > 0 ? aligned([HEAD, ...rows.map(cells)]) : []),
    ...(rows.length > 0 && table.length > 0 ? [''] : []),
    ...aligned(table),
    ...notes,
  ];
  return [title, ...body.map((line) => (line === '' ? '' : `  ${line}`))].join('\n');
}

/** Every row with a budget, beside that budget and its source. */
export function budgetSection(sections: readonly Section[]): Section {
  const lines = sections
    .flatMap(({ rows }) => rows)
    .flatMap((row) => {
      if (row.budget === undefined) return [];
      const { most, unit, source } = BUDGETS[row.budget];
      const measured = row.values.length === 0 ? '-' : text(median(row.values), unit);
      return [[row.budget, row.what.trim(), measured, text(most, unit), unit, verdictText(row), source]];
    });
  const head = ['budget', 'of', 'measured', 'at most', 'unit', 'verdict', 'source'];
  return { title: 'budgets', rows: [], ...(lines.length > 0 && { table: [head, ...lines] }) };
}
