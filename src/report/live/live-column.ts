import { formatDuration } from '../format/units';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';

/** A column over rows of one kind. */
export interface LiveColumn<T> extends Column {
  /** Empty: unknown, or nothing to say. */
  readonly cell: (row: T, screen: Screen) => string;
  /** Whether a row has something to show here; a column for which no row has is left out. Undefined: every row has. */
  readonly has?: (row: T) => boolean;
  /** The column is not shown on a narrower screen, even if there is room. */
  readonly from?: number;
}

/** The columns that any row fills, chosen over all rows, so that they stay when only a part of the rows is shown. */
export function chooseColumns<T>(columns: readonly LiveColumn<T>[], rows: readonly T[]): readonly LiveColumn<T>[] {
  return columns.filter(({ has }) => has === undefined || rows.some(has));
}

/**
 * A head and a line per row. Where a row has nothing for a column that others fill, its cell is a faint dash. `beside`:
 * rows that are not shown, but count for the choice and the width of the columns.
 */
export function renderRows<T>(
  all: readonly LiveColumn<T>[],
  rows: readonly T[],
  screen: Screen,
  { width = screen.width, beside = [] }: { readonly width?: number; readonly beside?: readonly T[] } = {},
): string[] {
  const columns = all.filter(({ from }) => screen.width >= (from ?? 0));
  const none = screen.style.faint(screen.glyphs.none);
  const cellsOf = (row: T): string[] =>
    columns.map((column) => {
      const text = column.cell(row, screen);
      return text === '' && column.has !== undefined ? none : text;
    });
  const lines = renderTable(columns, [...rows, ...beside].map(cellsOf), screen, width);
  return lines.slice(0, 1 + rows.length);
}

/** How old something is: "12 s", "3 min", "2 h", "5 d". */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** How long something has run since then; empty: unknown. */
export function runningFor(since: number | null, screen: Screen): string {
  return since === null ? '' : formatDuration(Math.max(0, Math.round((screen.now.getTime() - since) / 1000)));
}
