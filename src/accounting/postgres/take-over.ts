import type { ImportedFile, LongWork } from '../history-store';
import { HEAD_BYTES } from '../import/accounting-file';
import { partsOf } from '../../record/merge';
import { withPatience } from '../retry';
import type { NumberedRecord, WholeStore } from '../sqlite/read/whole-store';
import { StoreError } from '../store-error';
import type { AccountingStore, MergeOutcome } from '../store';
import type { Connection } from './connect';
import { lacking, Tally, totalsHere } from './lacking';
import { PostgresHistory } from './postgres-history';
import { schemaVersion } from './schema';

const BATCH = 250;
/** How long a restart or a failover of PostgreSQL may take. */
const PATIENCE_MS = 90_000;

export interface TakenOver {
  /** Records of the other store that this run has read; how many of them were added or changed here. */
  readonly read: number;
  readonly added: number;
  readonly changed: number;
  /** One line per record that could not be copied. */
  readonly refused: readonly string[];
  readonly files: number;
  /** Records that the other store, and this one, have in the end. */
  readonly there: number;
  readonly here: number;
  /** What this store lacks in the end of what was read from the other, one line each. */
  readonly lacking: readonly string[];
  /** false: interrupted; the next run goes on from there. */
  readonly complete: boolean;
}

export interface TakeOverWork extends LongWork {
  /** Called at each failure that may pass, before the step is tried again. */
  readonly onFault?: (fault: StoreError) => void;
  readonly patienceMs?: number;
  /** Records in one step. */
  readonly batch?: number;
}

interface Taken {
  readonly added: number;
  readonly changed: number;
  readonly refused: readonly string[];
}

/** Copies records, each as the accounts that it was merged from, so that every value keeps its rank. */
async function take(store: AccountingStore, records: readonly NumberedRecord[], tally: Tally): Promise<Taken> {
  const readable = records.flatMap(({ stored }) => (stored === null ? [] : [stored]));
  const parts = readable.map(partsOf);
  const outcomes = await store.merge(parts.flat());
  let at = 0;
  let added = 0;
  let changed = 0;
  const refused = records.flatMap((record) => (record.stored === null ? [record.problem] : []));
  const has = (own: readonly MergeOutcome[], change: string): boolean =>
    own.some((outcome) => outcome.ok && outcome.change === change);
  for (const [index, { record }] of readable.entries()) {
    const own = outcomes.slice(at, (at += parts[index]?.length ?? 0));
    const problem = own.find((outcome) => !outcome.ok);
    if (problem?.ok === false) {
      refused.push(`job ${record.job_id} on ${record.host}: ${problem.error}`);
      continue;
    }
    const ended = record.status !== 'running';
    tally.add({
      cluster: record.cluster,
      owner: record.owner,
      records: 1,
      cpu: ended ? (record.cpu_seconds ?? 0) : 0,
      wallclock: ended ? (record.wallclock_seconds ?? 0) : 0,
    });
    if (has(own, 'added')) added++;
    else if (has(own, 'changed')) changed++;
  }
  return { added, changed, refused };
}

/** Whether `known` is the same file, read at least as far. A short file's `head` covers all that was read of it. */
function includes(known: ImportedFile, file: ImportedFile): boolean {
  if (known.cluster !== file.cluster || known.offset < file.offset) return false;
  return (
    (known.head === file.head && known.headBytes === file.headBytes) ||
    (file.headBytes < HEAD_BYTES &&
      known.headBytes > file.headBytes &&
      known.device === file.device &&
      known.inode === file.inode)
  );
}

type Files = ReturnType<WholeStore['files']>;

async function takeFile(store: PostgresHistory, { file, unreadable }: Files[number]): Promise<boolean> {
  const there = (await store.importedFiles()).filter(({ cluster }) => cluster === file.cluster);
  if (there.some((known) => includes(known, file))) return false;
  const known = there.find(({ head, headBytes }) => head === file.head && headBytes === file.headBytes);
  const { conflict } = await store.importLines({ file, before: known ?? null, lines: [], unreadable });
  return !conflict;
}

async function lackingFiles(store: PostgresHistory, files: Files): Promise<readonly string[]> {
  const there = await store.importedFiles();
  return files
    .filter(({ file }) => !there.some((known) => includes(known, file)))
    .map(({ file }) => `imported file ${file.path}: that it is read up to byte ${file.offset}`);
}

/**
 * Copies all records of another store into this one, in batches. Merging makes it safe to repeat and to interrupt, and
 * both stores may get deliveries meanwhile. The next call continues an interrupted run; after a complete run it goes
 * through all records again, for what came late. Failures that may pass are retried. `source`: a name of the other
 * store. Rejects with StoreError.
 */
export async function takeOver(
  db: Connection,
  from: WholeStore,
  source: string,
  { signal, onProgress, onFault = () => undefined, patienceMs = PATIENCE_MS, batch = BATCH }: TakeOverWork,
): Promise<TakenOver> {
  const patiently = <T>(step: () => Promise<T> | T): Promise<T> =>
    withPatience(async () => step(), patienceMs, onFault, signal);
  if ((await schemaVersion(db)) === null)
    throw new StoreError(db.text, 'it has no tables of this qmemacct', 'run "qmemacct database init URL" first', false);
  const store = new PostgresHistory(db);
  // Before the records: what is imported while records are copied is left to the next run.
  const files = await patiently(() => from.files());
  const [row] = await db.query<{ after: number }>(
    'SELECT after_id AS after FROM qmemacct.taken_over WHERE source = $1',
    [source],
  );
  const begun = row?.after ?? 0;
  let after = begun;
  const total = await patiently(() => from.count(after));
  const tally = new Tally();
  if (begun > 0) for (const totals of await patiently(() => from.totals(begun))) tally.add(totals);
  const sums = { read: 0, added: 0, changed: 0 };
  const refused: string[] = [];
  const noteDone = (id: number): Promise<unknown> =>
    patiently(() =>
      db.query(
        `INSERT INTO qmemacct.taken_over (source, after_id) VALUES ($1, $2)
         ON CONFLICT (source) DO UPDATE SET after_id = excluded.after_id`,
        [source, id],
      ),
    );
  let complete = false;
  while (!signal?.aborted) {
    const records = await patiently(() => from.next(after, batch));
    const last = records.at(-1);
    complete = last === undefined;
    if (last === undefined) break;
    const done = await patiently(() => take(store, records, tally));
    sums.read += records.length;
    sums.added += done.added;
    sums.changed += done.changed;
    refused.push(...done.refused);
    after = last.id;
    await noteDone(after);
    onProgress?.(sums.read, Math.max(total, sums.read));
  }
  let taken = 0;
  let less: readonly string[] = [];
  if (complete) {
    for (const file of files) if (await patiently(() => takeFile(store, file))) taken++;
    await noteDone(0);
    // If all records were there before, sums can only differ by figures of higher rank.
    const all = begun === 0 && sums.added + sums.changed === 0;
    less = [
      ...(all ? [] : lacking(tally.totals(), await patiently(() => totalsHere(db)))),
      ...(await patiently(() => lackingFiles(store, files))),
    ];
  }
  const [here] = await patiently(() => db.query<{ count: number }>('SELECT count(*) AS count FROM qmemacct.record'));
  const there = await patiently(() => from.count(0));
  return { ...sums, refused, files: taken, there, here: here?.count ?? 0, lacking: less, complete };
}
