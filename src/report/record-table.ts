import { RECORD_COLUMNS, type RecordColumn, type RecordColumnName } from './record-columns';
import type { RecordLine } from './record-lines';
import type { Screen } from './screen';
import { columnsWithoutRoom, renderTable } from './table';

/** Which columns a list of records has. */
export interface RecordTableView {
  readonly columns: readonly RecordColumnName[];
  /** Chosen by name: where there is no room for all, the last ones go first. */
  readonly chosen: boolean;
  /** null: as wide as it needs. */
  readonly width: number | null;
}

interface RecordTable {
  readonly lines: readonly string[];
  /** Columns that were chosen by name and have no room. */
  readonly leftOut: readonly RecordColumnName[];
}

/** Lines of jobs with the columns of a view, as many as fit. */
export function renderRecordTable(lines: readonly RecordLine[], view: RecordTableView, screen: Screen): RecordTable {
  const width = view.width ?? Number.MAX_SAFE_INTEGER;
  const columns = view.columns.map((name, index): RecordColumn => {
    const column = RECORD_COLUMNS[name];
    return view.chosen && index > 0 ? { ...column, dispensable: index } : column;
  });
  const rows = lines.map((line) => columns.map((column) => column.cell(line, screen)));
  const leftOut = view.chosen ? columnsWithoutRoom(columns, rows, width) : [];
  return {
    lines: renderTable(columns, rows, screen, width),
    leftOut: view.columns.filter((_, index) => leftOut.includes(index)),
  };
}

/** All columns and what they say, for `--columns help`. */
export function renderRecordColumns(screen: Screen): string[] {
  const rows = Object.entries<RecordColumn>(RECORD_COLUMNS).map(([name, column]) => [name, column.head, column.says]);
  return renderTable([{ head: '--columns' }, { head: 'heading' }, { head: 'says' }], rows, screen);
}
