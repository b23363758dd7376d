import CliTable from 'cli-table3';
import { wrap } from './layout';
import { displayWidth, padEnd, padStart, truncate, widest } from './text-width';
import type { Screen } from './screen';

export interface Column {
  readonly head: string;
  readonly align?: 'left' | 'right';
  /** Where the table is too wide, columns with this are left out, the highest number first; those without it stay. */
  readonly dispensable?: number;
  /** Head and cells (without colour) may be cut to so many columns, before any column is left out. */
  readonly shrinksTo?: number;
  /** Host names: where the table is too wide, they lose their domains first, if all that differ still do. */
  readonly hosts?: boolean;
  /** The least width where there is room, so that a table that is scrolled keeps its columns in place. */
  readonly atLeast?: number;
}

const NO_BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
} as const;

const GAP = NO_BORDERS.middle.length;

interface Sized {
  readonly column: Column;
  readonly cells: readonly string[];
  readonly width: number;
}

const needed = ({ column, cells }: Sized): number => Math.max(displayWidth(column.head), widest(cells));

const least = (sized: Sized): number => Math.min(sized.width, sized.column.shrinksTo ?? needed(sized));

const total = (columns: readonly Sized[], widthOf: (sized: Sized) => number): number =>
  columns.reduce((sum, sized) => sum + widthOf(sized) + GAP, -GAP);

const rankOf = ({ column }: Sized): number => column.dispensable ?? 0;

/** Leaves out dispensable columns until the others, shrunk as far as they may be, have room. */
function fitting(columns: readonly Sized[], width: number): readonly Sized[] {
  if (total(columns, least) <= width) return columns;
  const first = columns.reduce((most, sized) => Math.max(most, rankOf(sized)), 0);
  return first === 0
    ? columns
    : fitting(
        columns.filter((sized) => rankOf(sized) !== first),
        width,
      );
}

/** The columns that fit, and those of the columns left out that are narrow enough for the room that remains. */
function chosen(columns: readonly Sized[], width: number): readonly Sized[] {
  const kept = new Set(fitting(columns, width));
  const others = columns.filter((sized) => !kept.has(sized)).sort((a, b) => rankOf(a) - rankOf(b));
  for (const sized of others) {
    const more = columns.filter((one) => one === sized || kept.has(one));
    if (total(more, least) <= width) kept.add(sized);
  }
  return columns.filter((sized) => kept.has(sized));
}

/** Cuts columns that may be cut until the table fits, from left to right. */
function shrunk(columns: readonly Sized[], width: number, mark: string): readonly Sized[] {
  let excess = total(columns, (sized) => sized.width) - width;
  return columns.map((sized) => {
    const give = Math.min(Math.max(0, excess), sized.width - least(sized));
    if (give === 0) return sized;
    excess -= give;
    const room = sized.width - give;
    const column = { ...sized.column, head: truncate(sized.column.head, room, mark) };
    return { column, width: room, cells: sized.cells.map((cell) => truncate(cell, room, mark)) };
  });
}

/**
 * From so many rows on the rows are aligned here, to the same lines: cli-table3's time grows with the square of the
 * rows (77 s for 20,000), and in pieces of 100 rows it still takes 6 s for 10,000 rows of 20 columns.
 */
const MANY = 100;

function alignRows(columns: readonly Sized[], rows: readonly (readonly string[])[]): string[] {
  const gap = ' '.repeat(GAP);
  return rows.map((row) =>
    columns
      .map(({ column, width }, index) => (column.align === 'right' ? padStart : padEnd)(row[index] ?? '', width))
      .join(gap)
      .trimEnd(),
  );
}

function tabulate(columns: readonly Sized[], rows: readonly (readonly string[])[]): string[] {
  const table = new CliTable({
    chars: NO_BORDERS,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    colAligns: columns.map(({ column }) => column.align ?? 'left'),
    colWidths: columns.map(({ width }) => width),
  });
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
}

function measured(column: Column, cells: readonly string[]): Sized {
  return { column, cells, width: Math.max(column.atLeast ?? 0, displayWidth(column.head), widest(cells)) };
}

function withoutDomains({ column, cells }: Sized): Sized {
  const short = cells.map((cell) => cell.replace(/^([^.\s]*[a-z][^.\s]*)\.\S+/i, '$1'));
  return measured(column, new Set(short).size === new Set(cells).size ? short : cells);
}

/** The columns with any content, of which not all may have room. */
function sizedOf(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): readonly Sized[] {
  const all = columns
    .map((column, index) =>
      measured(
        column,
        rows.map((row) => row[index] ?? ''),
      ),
    )
    .filter(({ cells }) => cells.some((cell) => cell !== ''));
  const isTooWide = total(all, (one) => one.width) > width;
  return all.map((one) => (isTooWide && one.column.hosts === true ? withoutDomains(one) : one));
}

/** Indices of the columns that `renderTable` leaves out for want of room. */
export function columnsWithoutRoom(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): readonly number[] {
  const filled = sizedOf(columns, rows, width);
  const shown = chosen(filled, width);
  return filled.filter((one) => !shown.includes(one)).map(({ column }) => columns.indexOf(column));
}

/** A table of words whose last column, which explains them, is wrapped. */
export function renderExplained(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  screen: Screen,
): string[] {
  const words = heads.slice(0, -1);
  const widths = words.map((head, index) => Math.max(head.length, ...rows.map((row) => row[index]?.length ?? 0)) + 2);
  const room = screen.width - widths.reduce((sum, width) => sum + width, 0);
  const wrapped = rows.flatMap((row) =>
    wrap(row.at(-1) ?? '', room).map((line, index) => [
      ...(index === 0 ? row.slice(0, -1) : words.map(() => '')),
      line,
    ]),
  );
  const columns = heads.map((head) => ({ head }));
  return renderTable(columns, wrapped, screen);
}

/**
 * A table without ruled lines: two blanks between columns, a faint head (none where every head is empty). Columns
 * without any content are left out, and dispensable ones where `width` is too little.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  screen: Screen,
  width = screen.width,
): string[] {
  const shown = shrunk(chosen(sizedOf(columns, rows, width), width), width, screen.glyphs.ellipsis);
  if (shown.length === 0) return [];
  const heads = shown.map(({ column }) => screen.style.faint(column.head));
  const head = shown.some(({ column }) => column.head !== '') ? [heads] : [];
  const body = rows.map((_, index) => shown.map(({ cells }) => cells[index] ?? ''));
  const lines = [...head, ...body];
  return lines.length < MANY ? tabulate(shown, lines) : alignRows(shown, lines);
}
