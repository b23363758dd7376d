import CliTable from 'cli-table3';
import type { Screen } from './screen';

export interface Column {
  readonly head: string;
  readonly align?: 'left' | 'right';
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

/** A table without rules: two blanks between columns, a faint head (none where every head is empty). */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  screen: Screen,
): string[] {
  if (rows.length === 0) return [];
  const table = new CliTable({
    chars: NO_BORDERS,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    colAligns: columns.map((column) => column.align ?? 'left'),
    wordWrap: false,
  });
  const heads = columns.map((column) => column.head);
  if (heads.some((head) => head !== '')) table.push(heads.map((head) => screen.style.faint(head)));
  for (const row of rows) table.push([...row]);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
}
