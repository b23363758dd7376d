import { DIALECTS } from '../gridengine/dialect';
import type { QhostHost } from '../gridengine/qhost/qhost-report';
import type { JobDetail, Usage } from '../gridengine/qstat/job-detail';
import type { ListedJob, RequestText } from '../gridengine/qstat/job-list';
import { list, nullable, number, numbersByName, oneOf, optional, record, text, truth, type Check } from './checks';
import type { Answer, Snapshot } from './snapshot';

/** Raised when a field changes its meaning; one that is added needs no new number. */
export const SNAPSHOT_VERSION = 1;

/** Text that is no snapshot, or one of another version. */
export class SnapshotError extends Error {
  constructor(problem: string) {
    super(`not a snapshot: ${problem}`);
    this.name = 'SnapshotError';
  }
}

const ROLES = ['MASTER', 'SLAVE', ''] as const;

const aNumber = nullable(number);
const aText = nullable(text);

const request: Check<RequestText> = record<RequestText>({
  complex: text,
  value: text,
  kind: oneOf(['hard', 'soft', 'default']),
  scope: optional(oneOf(['master', 'slave'])),
});

const amount = record({ amount: aNumber });

const host: Check<QhostHost> = record<QhostHost>({
  name: text,
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
  processorsText: text,
  memoryTotalText: text,
  resources: list(record({ name: text, dominance: text, value: text })),
  queues: list(
    record({ name: text, type: text, slotsUsed: aNumber, slots: aNumber, slotsReserved: aNumber, state: text }),
  ),
  jobs: list(
    record({
      job: number,
      task: aNumber,
      name: text,
      owner: text,
      state: text,
      queue: text,
      queueInstance: text,
      priority: aNumber,
      startedAt: aNumber,
      role: oneOf(ROLES),
    }),
  ),
});

const listed: Check<ListedJob> = record<ListedJob>({
  job: number,
  tasks: aText,
  name: text,
  owner: text,
  project: aText,
  department: aText,
  state: text,
  list: text,
  priority: aNumber,
  startedAt: aNumber,
  submittedAt: aNumber,
  queueInstance: aText,
  role: oneOf(ROLES),
  slots: aNumber,
  requests: list(request),
  requestedPe: aText,
  grantedPe: aText,
  cpuSeconds: aNumber,
  memoryGbSeconds: aNumber,
  ioGb: aNumber,
});

const detail: Check<JobDetail> = record<JobDetail>({
  job: number,
  name: text,
  owner: text,
  uid: text,
  group: aText,
  project: aText,
  department: aText,
  account: aText,
  submittedAt: aNumber,
  requests: list((value) => ({ ...request(value), ...amount(value) })),
  pe: aText,
  peRange: list(record({ least: number, most: number, step: number })),
  array: truth,
  tasks: list(
    record({
      task: number,
      status: aNumber,
      startedAt: aNumber,
      usage: numbersByName,
      peTasks: list(record({ id: text, host: aText, past: truth, usage: numbersByName })),
    }),
  ),
  messages: list(text),
});

function answer<T>(value: Check<T>): Check<Answer<T>> {
  return record<Answer<T>>({ at: aNumber, value, problem: aText, triedAt: aNumber });
}

const snapshot: Check<Snapshot> = record<Snapshot>({
  cluster: text,
  dialect: oneOf(DIALECTS),
  hosts: answer(list(host)),
  running: answer(list(listed)),
  details: answer(list(detail)),
  pending: nullable(answer(list(listed))),
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

/** The snapshot of parsed JSON, whoever wrote it. Throws SnapshotError. */
export function checkedSnapshot(value: unknown): Snapshot {
  const version = typeof value === 'object' && value !== null && 'version' in value ? value.version : undefined;
  if (version !== SNAPSHOT_VERSION)
    throw new SnapshotError(
      typeof version === 'number' ? `it has version ${version}, known is ${SNAPSHOT_VERSION}` : 'it has no version',
    );
  try {
    return snapshot(value);
  } catch (error) {
    throw new SnapshotError(error instanceof Error ? error.message : String(error));
  }
}

/** Throws SnapshotError for whatever is none. */
export function snapshotFromJson(json: string): Snapshot {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new SnapshotError(error instanceof Error ? error.message : String(error));
  }
  return checkedSnapshot(value);
}
