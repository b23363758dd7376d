import type { Database, Statement } from 'better-sqlite3';
import { HOUR_MS } from '../../base/units';
import { packVarints } from '../series/varints';

/** One tick of a job, in the units of sql/node (ms after the job's start, KiB, ms of CPU time). */
export interface StoredSample {
  readonly at: number;
  readonly rss: number;
  readonly vmem: number;
  readonly swap: number;
  readonly anonymous: number;
  readonly cpu: number;
  readonly processes: number;
  readonly threads: number;
  /** null: a process hid its I/O. */
  readonly read: number | null;
  readonly written: number | null;
  /** The largest processes of this tick. */
  readonly largest: readonly StoredProcess[];
  readonly othersRss: number;
  readonly othersCpu: number;
}

export interface StoredProcess {
  readonly pid: number;
  readonly start: number;
  readonly command: string;
  readonly rss: number;
  readonly cpu: number;
}

const MOST_IDS_REMEMBERED = 2000;

/** The tables `sample` and `process` of node.db: written here, read by sample-series.ts. */
export class SampleTable {
  private readonly insertSample: Statement;
  private readonly insertProcess: Statement<[number, number, number, string, number], { id: number }>;
  /** Ids of the processes that were saved in this hour. */
  private readonly processIds = new Map<string, number>();
  private hour = 0;

  constructor(database: Database) {
    this.insertSample = database.prepare(
      `INSERT OR REPLACE INTO sample (job, at, rss, vmem, swap, anonymous, cpu, processes, threads, read, written, largest)
       VALUES (@job, @at, @rss, @vmem, @swap, @anonymous, @cpu, @processes, @threads, @read, @written, @packed)`,
    );
    this.insertProcess = database.prepare(
      `INSERT INTO process (job, pid, start, command, seen) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (job, pid, start, command) DO UPDATE SET seen = excluded.seen RETURNING id`,
    );
  }

  /** `job`: its id in node.db. Inside a write transaction only. */
  save(job: number, samples: readonly StoredSample[]): void {
    // The hour of saving, not of the samples: pruning drops what was saved first.
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    if (hour !== this.hour) this.processIds.clear();
    this.hour = hour;
    for (const { largest, othersRss, othersCpu, ...sample } of samples) {
      const threes = largest.flatMap((process) => [this.processId(job, process), process.rss, process.cpu]);
      if (othersRss > 0) threes.push(0, othersRss, othersCpu);
      this.insertSample.run({ job, ...sample, packed: packVarints(threes) });
    }
  }

  /** To be called after a rollback: ids given out since the transaction began are gone. */
  forget(): void {
    this.processIds.clear();
  }

  private processId(job: number, process: StoredProcess): number {
    const key = `${job} ${process.pid} ${process.start} ${process.command}`;
    let id = this.processIds.get(key);
    if (id === undefined) {
      if (this.processIds.size >= MOST_IDS_REMEMBERED) this.processIds.clear();
      id = this.insertProcess.get(job, process.pid, process.start, process.command, this.hour)?.id ?? 0;
      this.processIds.set(key, id);
    }
    return id;
  }
}
