import { parentPort, workerData } from 'node:worker_threads';
import { openReader } from '../accounting/open-store';
import type { TablePage } from '../accounting/store';
import { PLAIN_COLUMNS } from '../record/plain-columns';
import { openEncoder, type FormatName } from './format';
import type { Part } from './table';

/**
 * The thread of parts.ts: for the ids of records it answers with these records encoded as a part of a file; null: it
 * could not.
 */

export interface PartsOf {
  /** From RecordTables. */
  readonly location: string;
  readonly credentials: string;
  readonly columns: readonly string[];
  readonly format: FormatName;
}

const { location, credentials, columns: names, format } = workerData as PartsOf;

export interface PartRequest {
  readonly ids: readonly number[];
  readonly memory?: ArrayBuffer;
}

async function openParts(): Promise<(request: PartRequest) => Promise<Part | null>> {
  const { tables } = await openReader(location, { credentials });
  const columns = names.flatMap((name) => PLAIN_COLUMNS.find((column) => column.name === name) ?? []);
  const encode = await openEncoder(format, columns);
  return async ({ ids, memory }) => {
    const pages: TablePage[] = [];
    for await (const page of tables?.read(ids, columns) ?? []) pages.push(page);
    return encode?.(pages, memory) ?? null;
  };
}

const opened = openParts();
let last: Promise<void> = opened.then(
  () => undefined,
  () => undefined,
);

parentPort?.on('message', (request: PartRequest) => {
  last = last
    .then(async () => (await opened)(request))
    .then(
      (part) => parentPort?.postMessage(part, part === null ? [] : [part.bytes.buffer]),
      () => parentPort?.postMessage(null),
    );
});
