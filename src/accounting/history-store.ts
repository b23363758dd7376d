import type { RequestRules } from '../record/request-rules';
import type { TableLine } from './import/line-table';
import type { AccountingStore } from './store';

/**
 * How far a file of Grid Engine's accounting is imported. After a rename, rotation or compression the file is
 * recognised by how it begins and by what comes before `offset`.
 */
export interface ImportedFile {
  readonly cluster: string;
  /** Hash of its first `headBytes` bytes, uncompressed (the whole of a file that is shorter than the usual 4,096). */
  readonly head: string;
  readonly headBytes: number;
  /** Where it was last seen. */
  readonly path: string;
  readonly device: number;
  readonly inode: number;
  /** Uncompressed bytes that are imported: up to and including the newline of the last imported line. */
  readonly offset: number;
  /** Hash of the bytes before `offset`, at most 4,096. */
  readonly tail: string;
  readonly lines: number;
}

/** A line that could not be read and was set aside as it is. */
export interface UnreadableLine {
  readonly offset: number;
  readonly reason: string;
  /** At most its first 4,096 bytes, as Latin-1. */
  readonly text: string;
}

/** An unreadable line in the store. */
export interface KeptLine extends UnreadableLine {
  /** Where its file was last seen. */
  readonly path: string;
}

/** What has been imported into a store. */
export interface Imports {
  /** When lines last came (ms since the epoch); null: never. */
  readonly at: number | null;
  readonly files: readonly ImportedFile[];
}

export interface ImportBatch {
  /** The file's state once the batch is in the store. */
  readonly file: ImportedFile;
  /** Its state before: if the store has another one, another importer has been at work. null: it has no row yet. */
  readonly before: ImportedFile | null;
  /** Lines of Grid Engine's accounting, in their order; iterated only once. */
  readonly lines: Iterable<TableLine>;
  readonly unreadable: readonly UnreadableLine[];
  /** How the site requests memory; left out: as usual. */
  readonly rules?: RequestRules;
}

export interface ImportOutcome {
  /** New records; lines joined with a record that was there; lines that changed nothing. */
  readonly added: number;
  readonly joined: number;
  readonly unchanged: number;
  /** The file's state in the store was not `before`, and nothing was imported: read `importedFiles` again. */
  readonly conflict: boolean;
}

/** The signal that stops long work, and where its progress is reported. */
export interface LongWork {
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, of: number) => void;
}

export interface Settled {
  /** Accounts that are in the table now. */
  readonly settled: number;
  /** Accounts that can't be read: they stay where they are, with their error. */
  readonly unreadable: number;
}

/** For how many days each is kept; 0: for ever. */
export interface Retention {
  readonly records: number;
  readonly series: number;
  readonly rollups: number;
}

export interface Pruned {
  readonly records: number;
  readonly series: number;
  readonly rollups: number;
  /** Bytes given back to the file system. */
  readonly freed: number;
  /** false: interrupted; the rest is for the next time. */
  readonly complete: boolean;
}

/** What the nightly job and the import need beyond the hooks' `merge`. Methods reject with StoreError. */
export interface HistoryStore extends AccountingStore {
  /** Of all clusters. */
  importedFiles(): Promise<readonly ImportedFile[]>;
  /** One transaction: the lines as records (joined with those that are there), what was unreadable, the file's new offset. */
  importLines(batch: ImportBatch): Promise<ImportOutcome>;
  /** What was set aside of a cluster's files: the latest, at most `limit`, oldest first. */
  unreadableLines(cluster: string, limit: number): Promise<readonly KeptLine[]>;
  /** Moves what nodes have delivered into the table where it waits elsewhere (PostgreSQL's inbox). */
  settle(work: LongWork): Promise<Settled>;
  /** Sums up the days whose records have changed, in short transactions; resolves to how many days. */
  rollUp(work: LongWork): Promise<number>;
  /** How many records `prune` would remove. */
  countOld(rules: Retention, now: number): Promise<number>;
  /** Removes what is older than `rules` allow at `now` (ms), in short transactions. */
  prune(rules: Retention, now: number, work: LongWork): Promise<Pruned>;
}
