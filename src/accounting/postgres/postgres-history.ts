import type { NodeStatus } from '../../record/node-status';
import { parseRecord, type JobRecord } from '../../record/record';
import type {
  HistoryStore,
  ImportBatch,
  ImportedFile,
  ImportOutcome,
  KeptLine,
  LongWork,
  Pruned,
  Retention,
  Settled,
} from '../history-store';
import type { MergeOutcome } from '../store';
import { countOld, prune, rollUp } from '../upkeep';
import { connect, type Connection, type ConnectOptions } from './connect';
import { importedFiles, LineImporter, unreadableLines } from './import-lines';
import { Merger } from './merger';
import { putStatus } from './node-status';
import { PostgresReader } from './postgres-reader';
import { settle } from './settle';
import { PostgresUpkeep } from './upkeep';

/** Records of one transaction. */
const BATCH = 500;

/** The PostgreSQL store with all that the nightly job and the import need; its role must be in qmemacct_owner. */
export class PostgresHistory extends PostgresReader implements HistoryStore {
  private readonly merger: Merger;
  private readonly importer: LineImporter;

  constructor(db: Connection) {
    super(db);
    this.merger = new Merger(db);
    this.importer = new LineImporter(this.merger);
  }

  /** Merges straight into the table, batch by batch: committed batches stay if a later one fails. */
  async merge(records: readonly JobRecord[]): Promise<readonly MergeOutcome[]> {
    const outcomes: MergeOutcome[] = [];
    for (let at = 0; at < records.length; at += BATCH) {
      const parsed = records.slice(at, at + BATCH).map((record) => parseRecord(record));
      const good = parsed.flatMap((record) => (record.ok ? record.value : []));
      const merged = (await this.merger.alone((inner) => this.merger.merge(inner, good))).values();
      for (const record of parsed) outcomes.push(record.ok ? (merged.next().value ?? UNKNOWN) : record);
    }
    return outcomes;
  }

  saveHeartbeat(status: NodeStatus): Promise<void> {
    return putStatus(this.db, status);
  }

  /** Moves what waits in the inbox into the table. */
  settle(work: LongWork = {}): Promise<Settled> {
    return settle(this.merger, work);
  }

  importedFiles(): Promise<readonly ImportedFile[]> {
    return importedFiles(this.db);
  }

  importLines(batch: ImportBatch): Promise<ImportOutcome> {
    return this.importer.importLines(batch);
  }

  unreadableLines(cluster: string, limit: number): Promise<readonly KeptLine[]> {
    return unreadableLines(this.db, cluster, limit);
  }

  async rollUp(work: LongWork): Promise<number> {
    await this.settle(work.signal === undefined ? {} : { signal: work.signal });
    return rollUp(new PostgresUpkeep(this.db, this.merger), work);
  }

  countOld(rules: Retention, now: number): Promise<number> {
    return countOld(new PostgresUpkeep(this.db, this.merger), rules, now);
  }

  prune(rules: Retention, now: number, work: LongWork): Promise<Pruned> {
    return prune(new PostgresUpkeep(this.db, this.merger), rules, now, work);
  }
}

const UNKNOWN: MergeOutcome = { ok: false, error: 'unknown reason' };

/** The PostgreSQL store at a URL. Connects with the first query. Throws StoreError. */
export function openPostgresHistory(url: string, options: ConnectOptions = {}): PostgresHistory {
  return new PostgresHistory(connect(url, options));
}
