import { renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../base/monotonic';
import { DAY_MS, GIB, MIB } from '../../base/units';
import type { Destination } from '../delivery/destination';
import { textOfRecord, writePrivateRecord } from '../delivery/finish';
import { takeInHanded } from '../delivery/handed-process';
import type { Heartbeat } from '../delivery/heartbeat';
import { removeStrayCgroups } from '../job/job-cgroups';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import type { KeptStore } from './kept-store';
import type { NodeStore } from './node-store';
import type { StoredSample } from './sample-table';
import { deliverOutbox, deliverRecord } from '../delivery/outbox-feeder';
import type { JobRecord } from '../../record/record';
import { recoverOrphans } from '../delivery/recover';
import type { SeriesBatch } from '../series/series-buffer';
import { runDirectoryName, type RunDescription } from '../job/run-description';
import type { Settings } from '../../record/settings';

/** Where a sampler keeps what it knows; the choice depends on who it runs as and on its limits. */
export interface Storage {
  /** Opens what will be needed, ahead of time. */
  prepare(): void;
  /** Best effort: what can't be written is kept in memory and tried again. */
  saveProgress(record: JobRecord, samples: readonly StoredSample[], series?: SeriesBatch): void;
  /** The answer for the epilog: "disk" when the summary survives a crash now, else "memory". */
  finish(record: JobRecord, samples: readonly StoredSample[], series?: SeriesBatch): 'disk' | 'memory';
  /** What can wait until the epilog has gone: cleaning up, orphans, delivery. */
  afterwards(cleanUp: () => void): Promise<void>;
  /** Whether the summary, or what the epilog left in its place, exists only in the run directory. */
  keepsDirectory(): boolean;
}

interface StorageConditions {
  readonly run: RunDescription;
  readonly directory: string | null;
  readonly settings: Settings;
  /** Where the record goes, asked at delivery. May throw: then the record waits. */
  readonly destination: () => Destination;
  /** RLIMIT_FSIZE in bytes. */
  readonly fileSizeLimit: number;
  readonly startedMs: () => number;
  /** false: defaults stand in for the site's settings, so nothing may be delivered. */
  readonly deliver: boolean;
  readonly upkeep: Upkeep;
}

/** node.db as the sampler's process keeps it open, and what that process does for the whole node. */
export interface Upkeep {
  readonly store: KeptStore;
  /** Of all jobs of the node; null: none may be sent. */
  readonly heartbeat: Heartbeat | null;
  /** A job has ended, its summary waits in the outbox. */
  ended(): void | Promise<void>;
}

/** node.db and its log may grow past a file size limit that is smaller than this. */
const LEAST_FILE_SIZE = GIB;
const RETRY_FOR_MS = DAY_MS;
const LONGEST_PAUSE_MS = 300_000;
/** Time limit for packing node.db, and for pruning it, each time it is tidied; the next time goes on. */
const TIDY_MS = 200;
/** One in this many saves of a job prunes, too: jobs may run for weeks and none end. More jobs prune more often. */
const PRUNE_ODDS = 50;
/** Enough for some 2,000 samples; the service saves 20 of a job at a time. More CPU time would stretch the interval. */
const PRUNE_WHILE_RUNNING_MS = 20;
/** Most batches of the other sources that are kept while node.db can't be written. */
const MOST_UNSAVED_BATCHES = 500;
/** The ingester takes 64 KiB. */
const MOST_HANDED_BYTES = 60_000;
/** Least time between two passes over the records that users hand in, when one job after the other ends. */
export const HANDED_PAUSE_MS = 60_000;

export function chooseStorage(conditions: StorageConditions): Storage {
  if (conditions.run.hooks === 'plain') return handedStorage(conditions);
  if (conditions.fileSizeLimit < LEAST_FILE_SIZE && conditions.directory !== null)
    return privateStorage(conditions, conditions.directory);
  return new NodeStorage(conditions);
}

/** node.db; what can't be written is kept in memory and tried again. */
class NodeStorage implements Storage {
  private readonly name: string;
  private unsaved: StoredSample[] = [];
  private unsavedSeries: SeriesBatch = [];
  private final: JobRecord | null = null;
  private committed = false;
  private complained = false;

  constructor(private readonly conditions: StorageConditions) {
    this.name = runDirectoryName(conditions.run);
  }

  prepare(): void {
    this.tryWith(() => undefined);
  }

  saveProgress(record: JobRecord, samples: readonly StoredSample[], series: SeriesBatch = []): void {
    this.keep(samples, series);
    const { startedMs, settings, upkeep, deliver } = this.conditions;
    const saved = this.tryWith((opened) => {
      opened.saveProgress(this.name, startedMs(), record, this.unsaved, this.unsavedSeries);
      void upkeep.heartbeat?.beat(opened);
    });
    if (saved) {
      this.unsaved = [];
      this.unsavedSeries = [];
      // Never by defaults that stand in for the site's settings.
      if (deliver && Math.random() * PRUNE_ODDS < 1)
        this.tryWith((opened) => pruneNode(opened, settings, PRUNE_WHILE_RUNNING_MS));
      return;
    }
    // An unwritable disk must not fill the memory instead: the record keeps the peaks, the series its shape.
    if (this.unsaved.length > 2000) this.unsaved = this.unsaved.filter((_, index) => index % 2 === 0);
    this.unsavedSeries = this.unsavedSeries.slice(-MOST_UNSAVED_BATCHES);
  }

  finish(record: JobRecord, samples: readonly StoredSample[], series: SeriesBatch = []): 'disk' | 'memory' {
    this.final = record;
    this.keep(samples, series);
    this.commit(record);
    return this.committed ? 'disk' : 'memory';
  }

  keepsDirectory(): boolean {
    return !this.committed;
  }

  async afterwards(cleanUp: () => void): Promise<void> {
    if (this.final !== null) await this.commitAtLast(this.final);
    cleanUp();
    await this.conditions.upkeep.ended();
  }

  private keep(samples: readonly StoredSample[], series: SeriesBatch): void {
    this.unsaved.push(...samples);
    this.unsavedSeries = [...this.unsavedSeries, ...series];
  }

  private commit(record: JobRecord): void {
    this.committed = this.tryWith((opened) =>
      opened.finish(this.name, this.conditions.startedMs(), record, this.unsaved, this.unsavedSeries),
    );
  }

  /** Tries to write the summary for a day, here or straight into the accounting DB. */
  private async commitAtLast(record: JobRecord): Promise<void> {
    const { deliver, destination } = this.conditions;
    const deadline = monotonicMs() + RETRY_FOR_MS;
    for (let pause = 2000; !this.committed; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      // The accounting DB may work while this disk does not; both are tried, the merge is idempotent.
      if (deliver && (await deliverRecord(record, destination)) === null) {
        this.committed = true;
        return;
      }
      if (monotonicMs() > deadline) {
        warn(
          `job ${record.job_id}: its summary could be written nowhere for 24 h and is lost; the next flush makes one of what the epilog left`,
        );
        return;
      }
      await sleep(pause * (0.5 + Math.random()));
      this.commit(record);
    }
  }

  private tryWith(action: (opened: NodeStore) => void): boolean {
    const { settings, upkeep } = this.conditions;
    let store: NodeStore | null = null;
    try {
      store = upkeep.store.open();
      action(store);
      this.complained = false;
      return true;
    } catch (error) {
      if (!this.complained)
        warn(`${join(settings.state_dir, 'node.db')}: ${reasonOf(error)}; kept in memory and tried again`);
      this.complained = true;
      upkeep.store.failed(store);
      return false;
    }
  }
}

export interface TidyOutcome {
  readonly recovered: number;
  readonly ingested: number;
  readonly delivered: number;
  readonly left: number;
  readonly problem: string | null;
}

/**
 * What any process with node.db open does for the whole node: finishes orphans, takes in records that users handed in
 * (unless that was done in the last `handedPauseMs`), delivers, packs and prunes.
 */
export async function tidyNode(
  store: NodeStore,
  settings: Settings,
  patienceSeconds: number,
  destination: () => Destination = () => settings,
  handedPauseMs = 0,
): Promise<TidyOutcome> {
  const recovered = recoverOrphans(store, settings);
  const stray = removeStrayCgroups({ directories: [settings.state_dir, settings.run_dir] });
  if (stray.length > 0) warn(`cgroups of jobs that have ended can't be removed: ${stray.join(', ')}`);
  const ingested = await takeInHanded(settings, handedPauseMs);
  const outcome = await deliverOutbox(store, settings, patienceSeconds, destination);
  store.packSeries(Date.now(), TIDY_MS);
  pruneNode(store, settings, TIDY_MS);
  return { recovered, ingested, delivered: outcome.delivered, left: outcome.left, problem: outcome.problem };
}

function pruneNode(store: NodeStore, settings: Settings, forMs: number): void {
  store.prune(Date.now() - settings.keep_samples_days * DAY_MS, settings.keep_samples_mib * MIB, forMs);
}

/** Under a limit on file size: one small file for this job, which the next sampler without such a limit takes in. */
function privateStorage(conditions: StorageConditions, directory: string): Storage {
  const { fileSizeLimit, deliver, destination } = conditions;
  let onDisk = false;
  let delivered = false;
  function write(record: JobRecord): boolean {
    try {
      writePrivateRecord(directory, record, Math.min(fileSizeLimit, MIB) * 0.9);
      return true;
    } catch (error) {
      warn(`${directory}: ${reasonOf(error)}`);
      return false;
    }
  }
  const noted = (record: JobRecord): JobRecord => ({
    ...record,
    notes: [
      ...record.notes,
      "The job's file size limit kept the sampler from node.db: its single samples were not kept.",
    ],
  });
  let final: JobRecord | null = null;
  return {
    prepare: () => undefined,
    saveProgress: (record) => {
      write(noted({ ...record, status: 'lost' }));
    },
    finish: (record) => {
      final = noted(record);
      onDisk = write(final);
      return onDisk ? 'disk' : 'memory';
    },
    keepsDirectory: () => !delivered,
    afterwards: async (cleanUp) => {
      if (deliver && !onDisk && final !== null) delivered = (await deliverRecord(final, destination)) === null;
      cleanUp();
    },
  };
}

/** Hooks without privilege: the finished record is handed to root through `STATE/outbox`. */
function handedStorage({ settings, run }: StorageConditions): Storage {
  return {
    prepare: () => undefined,
    saveProgress: () => undefined,
    finish: (record) => {
      const outbox = join(settings.state_dir, 'outbox');
      // Not a secret, only a unique name (`wx`).
      const own = `${process.pid}.${Math.random().toString(36).slice(2)}`;
      const path = join(outbox, `${run.job}.${run.task}.${own}`);
      try {
        if (!statSync(outbox).isDirectory()) return 'memory';
        writeFileSync(`${path}.new`, textOfRecord(record, MOST_HANDED_BYTES), { mode: 0o600, flag: 'wx' });
        renameSync(`${path}.new`, path);
        return 'disk';
      } catch (error) {
        warn(`${outbox}: ${reasonOf(error)}`);
        return 'memory';
      }
    },
    keepsDirectory: () => false,
    afterwards: (cleanUp) => {
      cleanUp();
      return Promise.resolve();
    },
  };
}
