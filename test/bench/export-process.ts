import { readFileSync, rmSync } from 'node:fs';
import { openSqliteReader } from '../../src/accounting/sqlite/sqlite-store';
import { FORMAT_NAMES, type FormatName } from '../../src/export/format';
import { recordTable } from '../../src/export/records';
import type { RowPage, Table } from '../../src/export/table';
import { writeTableFile } from '../../src/export/write-table';
import { PLAIN_COLUMNS } from '../../src/record/plain-columns';

/** Exports a store once, in a process of its own: STORE FORMAT FILE [ROWS]; ROWS: so many of one page, repeated. */

export interface Exported {
  readonly rows: number;
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakRssMib: number;
}

/** The requested number of rows, all from the table's first page, so that reading costs nothing. */
async function repeated(table: Table, rows: number, format: FormatName): Promise<Table> {
  const first: RowPage[] = [];
  for await (const page of table.pages(format)) {
    first.push(page);
    break;
  }
  // eslint-disable-next-line @typescript-eslint/require-await
  async function* pages(): AsyncGenerator<RowPage> {
    for (let written = 0; written < rows; written += first[0]?.rows ?? rows) yield* first;
  }
  return { ...table, pages };
}

/** Peak of this program only: ru_maxrss begins with that of the parent. */
function peakRssMib(): number {
  const [, kib] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Number(kib) / 1024;
}

async function main([path = '', format, file = '', rows]: readonly string[]): Promise<Exported> {
  const name = FORMAT_NAMES.find((known) => known === format);
  if (name === undefined) throw new TypeError(`no format is called ${format ?? ''}`);
  const reader = openSqliteReader(path);
  const query = { since: 0, until: Date.now() };
  const stored = (from?: number): Table =>
    recordTable(query, PLAIN_COLUMNS, [reader], from === undefined ? {} : { from });
  // The format alone is in one thread.
  const table = rows === undefined ? stored() : await repeated(stored(Infinity), Number(rows), name);
  const before = process.cpuUsage();
  const began = performance.now();
  const written = await writeTableFile(table, name, file, {});
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(before);
  await reader.close();
  rmSync(file);
  return { rows: written, ms, cpuMs: (user + system) / 1000, peakRssMib: peakRssMib() };
}

void main(process.argv.slice(2)).then((exported) => process.stdout.write(JSON.stringify(exported)));
