import type { StoredRecord } from '../accounting/merge';
import type { QhostJob } from '../gridengine/qhost/qhost-report';
import type { JobDetail } from '../gridengine/qstat/job-detail';
import type { ListedJob } from '../gridengine/qstat/job-list';
import type { ClusterView, JobPart, JobView, PendingView } from '../live/cluster-view';
import type { Answer, Snapshot } from '../live/snapshot';
import type { Bracket, JobRecord } from '../sampler/record';
import type { Sight } from './sight';

/**
 * Who sees what, for every answer of the server. Whatever names a person or tells what they run (owner, uid, group, job
 * name, account, command, messages) is of one kind: hidden together. Projects, queues, hosts and figures are not; a
 * host's totals count every job, shown or not.
 */

/** Stands for the owner and the name of a job that the caller must not know. */
export const HIDDEN = 'anonymous';

export function isOwn(owner: string | null, sight: Sight): boolean {
  return sight.of === 'all' || (sight.user !== null && owner === sight.user);
}

/** Whether the caller may ask for the jobs of this owner by name. */
export function mayAskFor(owner: string, sight: Sight): boolean {
  return isOwn(owner, sight);
}

/** The items that the caller may see, the others' hidden or left out. */
function redacted<T extends { readonly owner: string | null }>(
  items: readonly T[],
  sight: Sight,
  hide: (item: T) => T,
): readonly T[] {
  if (sight.of === 'all') return items;
  if (sight.of === 'own') return items.filter(({ owner }) => isOwn(owner, sight));
  return items.map((item) => (isOwn(item.owner, sight) ? item : hide(item)));
}

const nameless = { owner: HIDDEN, name: HIDDEN };

const hideQhostJob = (job: QhostJob): QhostJob => ({ ...job, ...nameless });
const hideListed = (job: ListedJob): ListedJob => ({ ...job, ...nameless, department: null });
const hideDetail = (job: JobDetail): JobDetail => ({
  ...job,
  ...nameless,
  uid: '',
  group: null,
  department: null,
  account: null,
  messages: [],
});

const inAnswer = <T>(answer: Answer<T>, change: (value: T) => T): Answer<T> => ({
  ...answer,
  value: change(answer.value),
});

/** What qmaster said, as the caller may see it. */
export function redactSnapshot(snapshot: Snapshot, sight: Sight): Snapshot {
  if (sight.of === 'all') return snapshot;
  const listed = (jobs: readonly ListedJob[]): readonly ListedJob[] => redacted(jobs, sight, hideListed);
  return {
    ...snapshot,
    hosts: inAnswer(snapshot.hosts, (hosts) =>
      hosts.map((host) => ({ ...host, jobs: redacted(host.jobs, sight, hideQhostJob) })),
    ),
    running: inAnswer(snapshot.running, listed),
    details: inAnswer(snapshot.details, (jobs) => redacted(jobs, sight, hideDetail)),
    pending: snapshot.pending === null ? null : inAnswer(snapshot.pending, listed),
  };
}

const hidePart = (part: JobPart): JobPart => ({ ...part, ...nameless });
const hidePending = (job: PendingView): PendingView => ({ ...job, ...nameless });
const hideJob = (job: JobView): JobView => ({ ...job, ...nameless, uid: null, parts: job.parts.map(hidePart) });

/** The running cluster, as the caller may see it. */
export function redactView(view: ClusterView, sight: Sight): ClusterView {
  if (sight.of === 'all') return view;
  return {
    ...view,
    hosts: view.hosts.map((host) => ({ ...host, parts: redacted(host.parts, sight, hidePart) })),
    jobs: redacted(view.jobs, sight, hideJob),
    pending: view.pending === null ? null : redacted(view.pending, sight, hidePending),
  };
}

const BRACKETS = [
  'peak_rss',
  'peak_rss_swap',
  'peak_vmem',
  'peak_process_vmem',
  'peak_footprint',
] as const satisfies readonly (keyof JobRecord)[];

function hideRecord(record: JobRecord): JobRecord {
  const brackets = BRACKETS.map((name): [string, Bracket | null] => {
    const bracket = record[name];
    return [name, bracket === null ? null : { ...bracket, command: null }];
  });
  return {
    ...record,
    ...(Object.fromEntries(brackets) as Pick<JobRecord, (typeof BRACKETS)[number]>),
    owner: HIDDEN,
    job_name: HIDDEN,
    account: null,
    notes: [],
  };
}

/** Records of the accounting DB, as the caller may see them. */
export function redactRecords<T extends StoredRecord>(records: readonly T[], sight: Sight): readonly T[] {
  if (sight.of === 'all') return records;
  if (sight.of === 'own') return records.filter(({ record }) => isOwn(record.owner, sight));
  return records.map((stored) =>
    isOwn(stored.record.owner, sight) ? stored : { ...stored, record: hideRecord(stored.record) },
  );
}
