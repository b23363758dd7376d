import { LinePacker, linesOf, type TableLine } from '../../../src/accounting/import/line-table';
import type { PlacedLine } from '../../../src/accounting/import/line-place';

/** Lines as an import has them: packed into a table. */
export function tableLines(lines: readonly PlacedLine[]): Iterable<TableLine> {
  const packer = new LinePacker(lines.length);
  for (const line of lines) packer.add(line);
  return linesOf(packer.take());
}
