import { openFormat, type FormatName, type RowFormat, type Sink } from './format';
import { OutputFile } from './output-file';
import type { RowPage, Table } from './table';

function write({ rows, part }: RowFormat, page: RowPage): void {
  if ('columns' in page) rows(page);
  else if (part !== undefined) part(page);
  else throw new TypeError('this format has no parts');
}

/** Writes a table page by page; resolves to the number of rows. `onPage` may throw to end it. */
export async function writeTable(
  table: Table,
  format: FormatName,
  sink: Sink,
  onPage: (page: RowPage) => void = () => undefined,
): Promise<number> {
  const writer = await openFormat(format, table, sink);
  let rows = 0;
  try {
    for await (const page of table.pages(format)) {
      onPage(page);
      rows += page.rows;
      write(writer, page);
    }
    writer.end();
    return rows;
  } catch (error) {
    writer.abandon?.();
    throw error;
  }
}

const CSV_TEXT =
  "Text that begins with =, +, - or @ has a ' in front, for spreadsheets; control characters are escaped (\\x1b).";

export const schemaPath = (path: string): string => `${path}.schema.json`;

async function withOutputFile<T>(path: string, write: (file: OutputFile) => Promise<T>): Promise<T> {
  const file = new OutputFile(path);
  try {
    return await write(file);
  } finally {
    file.close();
  }
}

/**
 * Writes a table to a file that gets its name when it is complete, and beside it a schema file that describes the
 * columns; `facts`: further members of the schema. Resolves to the number of rows; rejects with OutputError, leaving no
 * file.
 */
export async function writeTableFile(
  table: Table,
  format: FormatName,
  path: string,
  facts: Readonly<Record<string, unknown>>,
  onPage?: (page: RowPage) => void,
): Promise<number> {
  return withOutputFile(path, (file) =>
    // Opened before the work, which would be in vain if it can't be written.
    withOutputFile(schemaPath(path), async (beside) => {
      const rows = await writeTable(table, format, { write: (piece) => file.write(piece), file }, onPage);
      const columns = table.columns.map(({ name, type, unit, help }) => ({ name, type, unit, meaning: help }));
      const text = format === 'csv' ? { text: CSV_TEXT } : {};
      const schema = { schema: 1, what: table.what, ...facts, format, ...text, rows, columns };
      beside.write(Buffer.from(`${JSON.stringify(schema, null, 2)}\n`));
      beside.finish();
      file.finish();
      return rows;
    }),
  );
}
