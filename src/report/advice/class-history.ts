import { DAY_MS } from '../../base/units';
import { Latest } from '../../base/latest';
import type { FindRecords, RecordsQuery } from '../../accounting/store';
import type { FieldName } from '../../record/fields';
import { HIDDEN } from '../../record/hidden';
import type { StoredRecord } from '../../record/merge';
import { nameClass } from '../../record/name-class';
import { programsOfRecord } from '../../record/programs';
import { recordsOf, runGroups, type JobRun } from '../job/job-run';
import { nextRequestComplex } from './fit';
import type { MemoryRun } from './past-runs';
import {
  adviseClass,
  adviseMemory,
  classRuns,
  PastKind,
  type ClassAdvice,
  type ClassFields,
  type MemoryPrediction,
  type Wanted,
} from './class-advice';

/** Runs longer ago say little. */
const LOOK_BACK_DAYS = 365;
/**
 * How many records of a kind are read. On the public traces of docs/benchmarks.md advice from 400 runs is no better
 * than from 250; where 250 records are of few runs, each on many hosts, more are read.
 */
const RECORDS = [250, 1000] as const;
const FEW_RUNS = 60;
/** The risk of advice, unless another is asked for. */
export const RISK = 0.01;
/** Kinds whose runs stay in memory; those of others are asked for again. */
const KINDS_KEPT = 50;
/** A list names many kinds of jobs: the prediction of each is kept. */
const PREDICTIONS_KEPT = 10_000;
/** A server refuses longer names. */
const LONGEST_NAME = 512;

/** The fields that show what memory a run needed: all that `adviseMemory` reads. */
export const MEMORY_FIELDS: readonly FieldName[] = [
  ...(['cluster', 'job_id', 'task_id', 'pe_task_id', 'host', 'run_id', 'status', 'trust', 'revision'] as const),
  ...(['owner', 'job_name', 'queue', 'project', 'pe', 'program', 'slots', 'host_slots', 'granted_hosts'] as const),
  ...(['submitted_at', 'started_at', 'ended_at', 'wallclock_seconds'] as const),
  ...(['exit_status', 'signal', 'failed', 'grid_engine', 'metrics'] as const),
  ...(['h_vmem', 'requests', 'request_order'] as const),
  ...(['peak_rss', 'peak_rss_swap', 'peak_process_vmem', 'peak_footprint'] as const),
];

/** Leaves out the oldest job: a list that was cut may hold only a part of it. */
function withoutOldest(found: readonly StoredRecord[]): readonly StoredRecord[] {
  const endOf = ({ record }: StoredRecord): string => record.ended_at ?? '';
  const { record: oldest } = found.reduce((first, one) => (endOf(one) < endOf(first) ? one : first));
  return found.filter(({ record }) => record.job_id !== oldest.job_id || record.task_id !== oldest.task_id);
}

/** The number of jobs and array tasks. */
const runsIn = (found: readonly StoredRecord[]): number =>
  new Set(found.map(({ record: { job_id: job, task_id: task } }) => `${job}.${task ?? ''}`)).size;

/** The past runs of jobs by owner and name; as long as a kind is kept, the store is asked for it only once. */
export class ClassHistory {
  private readonly answers = new Latest<string, Promise<PastKind>>(KINDS_KEPT);
  private readonly predictions = new Latest<string, Promise<MemoryPrediction | null>>(PREDICTIONS_KEPT);

  /** `find`: as a store's `records`, which may reject with StoreError; `now`: ms since the epoch. */
  constructor(
    private readonly find: FindRecords,
    private readonly now: number,
  ) {}

  /** The memory to request for a job of this kind. Rejects with StoreError. */
  async memoryOf(fields: ClassFields, wanted: Wanted = { risk: RISK }): Promise<MemoryPrediction | null> {
    return adviseMemory(await this.runsLike(fields, MEMORY_FIELDS), fields, wanted);
  }

  /** Memory, time and slots to request for a job of this kind. Rejects with StoreError. */
  async adviceOf(fields: ClassFields, wanted: Wanted): Promise<ClassAdvice> {
    return adviseClass(await this.runsLike(fields), fields, wanted);
  }

  /** The runs that this advice rests on, if their memory need is known. Rejects with StoreError. */
  async memoryRuns(fields: ClassFields): Promise<readonly MemoryRun[]> {
    return classRuns(await this.runsLike(fields), fields);
  }

  /** The latest records of the owner's jobs of names that differ in their digits only. */
  private runsLike({ owner, jobName, cluster }: ClassFields, needed?: readonly FieldName[]): Promise<PastKind> {
    const kind = nameClass(jobName);
    if (owner === '' || owner === HIDDEN || kind === '' || kind.length > LONGEST_NAME)
      return Promise.resolve(new PastKind([], kind));
    const named = { owner, name_class: kind, ...(cluster === null ? {} : { cluster }) };
    return this.answers.getOrMake(
      JSON.stringify([named, needed === undefined]),
      async () => new PastKind(await this.ask(named, needed), kind),
    );
  }

  private async ask(
    named: Pick<RecordsQuery, 'owner' | 'name_class' | 'cluster'>,
    needed?: readonly FieldName[],
  ): Promise<readonly StoredRecord[]> {
    const query: RecordsQuery = {
      ...named,
      states: ['finished', 'unsampled', 'lost'],
      since: this.now - LOOK_BACK_DAYS * DAY_MS,
      until: this.now + 1,
      totals: false,
      ...(needed === undefined ? {} : { fields: needed }),
    };
    const [usual, most] = RECORDS;
    const found = await this.find({ ...query, limit: usual });
    if (found.length < usual) return found;
    if (runsIn(found) >= FEW_RUNS) return withoutOldest(found);
    const more = await this.find({ ...query, limit: most });
    return more.length < most ? more : withoutOldest(more);
  }

  /** These runs, each with the prediction from past runs of its kind. */
  async advise<Run extends JobRun>(runs: readonly Run[]): Promise<readonly Run[]> {
    const predictions = new Map<Run, MemoryPrediction>();
    for (const group of runGroups(runs)) {
      const prediction = await this.predictionFor(group);
      if (prediction !== null) for (const run of group) predictions.set(run, prediction);
    }
    return runs.map((run) => {
      const prediction = predictions.get(run);
      return prediction === undefined ? run : { ...run, prediction };
    });
  }

  /** Runs of one class share one prediction, computed once. */
  private predictionFor(runs: readonly JobRun[]): Promise<MemoryPrediction | null> {
    // A task of a parallel job may have no name of its own.
    const job = runs.find(({ record }) => record.pe_task_id === null && record.job_name !== null)?.record;
    if (job?.owner == null || job.job_name === null) return Promise.resolve(null);
    const { owner, job_name, slots, pe, project, queue, cluster } = job;
    const programs = programsOfRecord(job);
    const complex = nextRequestComplex(job, recordsOf(runs));
    const fields = { owner, jobName: nameClass(job_name), slots, pe, project, queue, programs, cluster, complex };
    return this.predictions.getOrMake(JSON.stringify(fields), () => this.memoryOf(fields));
  }
}
