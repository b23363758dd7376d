import type { ImportedFile, LongWork, UnreadableLine } from '../history-store';
import { partsOf } from '../parts';
import type { NumberedRecord, WholeStore } from '../sqlite/whole-store';
import { StoreError } from '../store-error';
import type { AccountingStore } from '../store';
import type { Connection } from './connect';
import { historyOn } from './postgres-history';
import { schemaVersion } from './schema';

const BATCH = 250;

export interface TakenOver {
  /** Records of the other store that this run has gone through, and what that did here. */
  readonly read: number;
  readonly added: number;
  readonly changed: number;
  /** One line per record that could not be taken over. */
  readonly refused: readonly string[];
  readonly files: number;
  /** Records that the other store has in the end, and that this one has. */
  readonly there: number;
  readonly here: number;
  /** false: interrupted; the next run goes on from there. */
  readonly complete: boolean;
}

/** Takes records over: each as the accounts that it was merged from, so that every value keeps its rank. */
async function take(
  store: AccountingStore,
  records: readonly NumberedRecord[],
): Promise<{ readonly added: number; readonly changed: number; readonly refused: readonly string[] }> {
  const parts = records.map(({ stored }) => partsOf(stored));
  const outcomes = await store.merge(parts.flat());
  let at = 0;
  let added = 0;
  let changed = 0;
  const refused: string[] = [];
  for (const [index, its] of parts.entries()) {
    const own = outcomes.slice(at, (at += its.length));
    const problem = own.find((outcome) => !outcome.ok);
    if (problem?.ok === false) {
      const record = records[index]?.stored.record;
      refused.push(`job ${record?.job_id ?? '?'} on ${record?.host ?? '?'}: ${problem.error}`);
    } else if (own.some((outcome) => outcome.ok && outcome.change === 'added')) added++;
    else if (own.some((outcome) => outcome.ok && outcome.change === 'changed')) changed++;
  }
  return { added, changed, refused };
}

async function takeFile(db: Connection, file: ImportedFile, unreadable: readonly UnreadableLine[]): Promise<boolean> {
  const history = historyOn(db);
  const known = (await history.importedFiles(file.cluster)).find(
    ({ head, headBytes }) => head === file.head && headBytes === file.headBytes,
  );
  if (known !== undefined && known.offset >= file.offset) return false;
  const { conflict } = await history.importLines({ file, before: known ?? null, lines: [], unreadable });
  return !conflict;
}

/**
 * Takes all of another store over, record by record in batches; merging makes it safe to repeat and to interrupt, and
 * both stores may be delivered to meanwhile. A run that was interrupted is gone on with; one after a complete one goes
 * through all again, for what came late. `source`: what the other store is called. Rejects with StoreError.
 */
export async function takeOver(
  db: Connection,
  from: WholeStore,
  source: string,
  { signal, onProgress }: LongWork,
): Promise<TakenOver> {
  if ((await schemaVersion(db)) === null)
    throw new StoreError(db.text, 'it has no tables of this qmemacct', 'run "qmemacct database init URL" first', false);
  const store = historyOn(db);
  // Before the records: what is imported while they are gone through is for the next run.
  const files = from.files();
  const [begun] = await db.query<{ after: number }>(
    'SELECT after_id::double precision AS after FROM qmemacct.taken_over WHERE source = $1',
    [source],
  );
  let after = begun?.after ?? 0;
  const total = from.count(after);
  const sums = { read: 0, added: 0, changed: 0 };
  const refused: string[] = [];
  const noteDone = async (id: number): Promise<void> => {
    await db.query(
      `INSERT INTO qmemacct.taken_over (source, after_id) VALUES ($1, $2)
       ON CONFLICT (source) DO UPDATE SET after_id = excluded.after_id`,
      [source, id],
    );
  };
  let complete = true;
  for (;;) {
    if (signal?.aborted) {
      complete = false;
      break;
    }
    const records = from.next(after, BATCH);
    const last = records.at(-1);
    if (last === undefined) break;
    const done = await take(store, records);
    sums.read += records.length;
    sums.added += done.added;
    sums.changed += done.changed;
    refused.push(...done.refused);
    after = last.id;
    await noteDone(after);
    onProgress?.(sums.read, Math.max(total, sums.read));
  }
  let taken = 0;
  if (complete) {
    for (const { file, unreadable } of files) if (await takeFile(db, file, unreadable)) taken++;
    await noteDone(0);
  }
  const [here] = await db.query<{ count: number }>(
    'SELECT count(*)::double precision AS count FROM qmemacct.job_record',
  );
  return { ...sums, refused, files: taken, there: from.count(0), here: here?.count ?? 0, complete };
}
