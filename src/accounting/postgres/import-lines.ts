import type { ImportBatch, ImportOutcome } from '../history-store';
import type { Connection } from './connect';
import { lineSet, lineSetParameters } from './line-set';

interface Answer {
  readonly conflict?: boolean;
  readonly added?: number;
  readonly joined?: number;
  readonly unchanged?: number;
}

const IMPORT = `SELECT qmemacct.import_set($1::text::jsonb, $2::text::jsonb, $3::text::jsonb, ${lineSetParameters(4)}) AS answer`;

/** Takes a batch of accounting lines in, in one transaction. Rejects with StoreError. */
export async function importLines(
  db: Connection,
  { file, before, lines, unreadable }: ImportBatch,
): Promise<ImportOutcome> {
  const set = lineSet(lines, file.cluster);
  const kept = unreadable.map((line) => ({ ...line, text: line.text.replaceAll('\0', '\uFFFD') }));
  const [row] = await db.query<{ answer: Answer }>(IMPORT, [
    ...[file, before, kept].map((value) => JSON.stringify(value)),
    ...set.values,
  ]);
  const { conflict = false, added = 0, joined = 0, unchanged = 0 } = row?.answer ?? {};
  if (conflict) return { added: 0, joined: 0, unchanged: 0, conflict };
  // A line that can't be stored changes nothing.
  return { added, joined, unchanged: unchanged + lines.length - set.size, conflict };
}
