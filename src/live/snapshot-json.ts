import { failure, type Result } from '../base/result';
import { DIALECTS } from '../gridengine/dialect';
import { qhostHost } from '../gridengine/qhost/qhost-report';
import { jobDetail, type JobDetail, type Usage } from '../gridengine/qstat/job-detail';
import { listedJob } from '../gridengine/qstat/job-list';
import {
  anything,
  check,
  checkJson,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  string,
  type Shape,
} from '../base/shape';
import type { Answer, HostTotals, Snapshot } from './snapshot';

/** Raised when a field changes its meaning; an added field needs no new version. */
const SNAPSHOT_VERSION = 1;

const aNumber = nullable(number());

function answer<T>(value: Shape<T>): Shape<Answer<T>> {
  return object({ at: aNumber, value, problem: nullable(string), triedAt: aNumber });
}

const versioned = object({ version: number() });

const hostTotals: Shape<HostTotals> = object({
  name: string,
  capacity: aNumber,
  requested: number(),
  peak: aNumber,
  used: aNumber,
  unlimited: number(),
  strandedMemory: number(),
  strandedSlots: number(),
});

export const snapshotShape = object({
  cluster: string,
  /** Directory of the cell (`ROOT/CELL`); left out: not known. */
  cell: optional(string),
  dialect: oneOf(DIALECTS),
  /** `qhost -F -q -j`. */
  hosts: answer(list(qhostHost)),
  /** `qstat -u '*' -s rs -r -ext -urg`: running jobs, including suspended ones. */
  running: answer(list(listedJob)),
  /** `qstat -j` for the running jobs. */
  details: answer(list(jobDetail)),
  /** `qstat -u '*' -s p -r -ext -urg`; null: nobody has asked for it. */
  pending: nullable(answer(list(listedJob))),
  /** The hosts' sums over all jobs, if some that the reader may not see are left out; absent: all jobs are there. */
  hostTotals: optional(list(hostTotals)),
});

/** A map as an object, as JSON has no maps. */
function plainUsage(usage: Usage): Readonly<Record<string, number>> {
  return Object.fromEntries([...usage].filter(([, value]) => Number.isFinite(value)));
}

function plainDetail(job: JobDetail): unknown {
  return {
    ...job,
    tasks: job.tasks.map((task) => ({
      ...task,
      usage: plainUsage(task.usage),
      peTasks: task.peTasks.map((peTask) => ({ ...peTask, usage: plainUsage(peTask.usage) })),
    })),
  };
}

/** A snapshot in a form for `JSON.stringify`. */
export function plainSnapshot(given: Snapshot): Readonly<Record<string, unknown>> {
  return {
    version: SNAPSHOT_VERSION,
    ...given,
    details: { ...given.details, value: given.details.value.map(plainDetail) },
  };
}

/** The body of `GET /v1/snapshot`. */
export function snapshotToJson(given: Snapshot): string {
  return JSON.stringify(plainSnapshot(given));
}

/** The snapshot from parsed JSON, or why it is not one. */
export function checkedSnapshot(value: unknown): Result<Snapshot> {
  const version = check(versioned, value, 'the snapshot');
  if (!version.ok) return version;
  if (version.value.version !== SNAPSHOT_VERSION)
    return failure(`the snapshot has version ${version.value.version}, known is ${SNAPSHOT_VERSION}`);
  return check(snapshotShape, value, 'the snapshot');
}

/** The snapshot from JSON text, or why it is not one. */
export function snapshotFromJson(json: string): Result<Snapshot> {
  const value = checkJson(anything, json, 'the snapshot');
  return value.ok ? checkedSnapshot(value.value) : value;
}
