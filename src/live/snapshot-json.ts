import { failure, type Result } from '../base/result';
import { DIALECTS } from '../gridengine/dialect';
import type { QhostHost } from '../gridengine/qhost/qhost-report';
import type { JobDetail, Usage } from '../gridengine/qstat/job-detail';
import type { ListedJob, RequestText } from '../gridengine/qstat/job-list';
import {
  anything,
  boolean,
  check,
  checkJson,
  list,
  map,
  nullable,
  number,
  object,
  oneOf,
  optional,
  refined,
  string,
  type Shape,
} from '../base/shape';
import type { Answer, Snapshot } from './snapshot';

/** Raised when a field changes its meaning; one that is added needs no new number. */
const SNAPSHOT_VERSION = 1;

const ROLES = ['MASTER', 'SLAVE', ''] as const;

const aNumber = nullable(number());
const aText = nullable(string);
const many = <T>(item: Shape<T>): Shape<readonly T[]> => list(item, Infinity);
const usage: Shape<Usage> = refined(
  map(number(), { key: /^/, what: 'name', most: Infinity }),
  (numbers) => new Map(Object.entries(numbers)),
);

const REQUEST = {
  complex: string,
  value: string,
  kind: oneOf(['hard', 'soft', 'default']),
  scope: optional(oneOf(['master', 'slave'])),
};
const request: Shape<RequestText> = object(REQUEST);

const host: Shape<QhostHost> = object({
  name: string,
  architecture: aText,
  processors: aNumber,
  sockets: aNumber,
  cores: aNumber,
  threads: aNumber,
  load: aNumber,
  memoryTotal: aNumber,
  memoryUsed: aNumber,
  swapTotal: aNumber,
  swapUsed: aNumber,
  processorsText: string,
  memoryTotalText: string,
  resources: many(object({ name: string, dominance: string, value: string })),
  queues: many(
    object({ name: string, type: string, slotsUsed: aNumber, slots: aNumber, slotsReserved: aNumber, state: string }),
  ),
  jobs: many(
    object({
      job: number(),
      task: aNumber,
      name: string,
      owner: string,
      state: string,
      queue: string,
      queueInstance: string,
      priority: aNumber,
      startedAt: aNumber,
      role: oneOf(ROLES),
    }),
  ),
});

const listed: Shape<ListedJob> = object({
  job: number(),
  tasks: aText,
  name: string,
  owner: string,
  project: aText,
  department: aText,
  state: string,
  list: string,
  priority: aNumber,
  startedAt: aNumber,
  submittedAt: aNumber,
  queueInstance: aText,
  role: oneOf(ROLES),
  slots: aNumber,
  requests: many(request),
  requestedPe: aText,
  requestedSlots: aText,
  grantedPe: aText,
  cpuSeconds: aNumber,
  memoryGbSeconds: aNumber,
  ioGb: aNumber,
});

const detail: Shape<JobDetail> = object({
  job: number(),
  name: string,
  owner: string,
  uid: string,
  group: aText,
  project: aText,
  department: aText,
  account: aText,
  submittedAt: aNumber,
  notBefore: aNumber,
  submitCommand: aText,
  wantsMail: boolean,
  predecessors: many(number()),
  requests: many(object({ ...REQUEST, amount: aNumber })),
  pe: aText,
  array: boolean,
  tasks: many(
    object({
      task: number(),
      status: aNumber,
      startedAt: aNumber,
      usage: usage,
      peTasks: many(object({ id: string, host: aText, past: boolean, usage: usage })),
    }),
  ),
  messages: many(string),
});

function answer<T>(value: Shape<T>): Shape<Answer<T>> {
  return object({ at: aNumber, value, problem: aText, triedAt: aNumber });
}

const versioned = object({ version: number() });

const snapshot: Shape<Snapshot> = object({
  cluster: string,
  dialect: oneOf(DIALECTS),
  hosts: answer(many(host)),
  running: answer(many(listed)),
  details: answer(many(detail)),
  pending: nullable(answer(many(listed))),
});

/** Maps have no form of their own in JSON. */
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

/** What `JSON.stringify` makes a snapshot of: the body of `GET /v1/snapshot`, and the shared file's middle. */
export function plainSnapshot(given: Snapshot): Readonly<Record<string, unknown>> {
  return {
    version: SNAPSHOT_VERSION,
    ...given,
    details: { ...given.details, value: given.details.value.map(plainDetail) },
  };
}

export function snapshotToJson(given: Snapshot): string {
  return JSON.stringify(plainSnapshot(given));
}

/** The snapshot of parsed JSON, or why it is none. */
export function checkedSnapshot(value: unknown): Result<Snapshot> {
  const version = check(versioned, value, 'the snapshot');
  if (!version.ok) return version;
  if (version.value.version !== SNAPSHOT_VERSION)
    return failure(`the snapshot has version ${version.value.version}, known is ${SNAPSHOT_VERSION}`);
  return check(snapshot, value, 'the snapshot');
}

/** The same of text. */
export function snapshotFromJson(json: string): Result<Snapshot> {
  const value = checkJson(anything, json, 'the snapshot');
  return value.ok ? checkedSnapshot(value.value) : value;
}
