import type { StoredRecord } from '../../record/merge';
import type { QhostJob } from '../../gridengine/qhost/qhost-report';
import type { JobDetail } from '../../gridengine/qstat/job-detail';
import type { ListedJob } from '../../gridengine/qstat/job-list';
import type { ClusterView, HostView, JobPart, JobView, PendingView } from '../../live/cluster-view';
import { HOST_SUMS, type Answer, type HostTotals, type Snapshot } from '../../live/snapshot';
import { FIELD_NAMES, FIELDS, type FieldName } from '../../record/fields';
import { HIDDEN } from '../../record/hidden';
import type { JobRecord } from '../../record/record';
import { isOwn, isShown, showsNames, type OwnerAndProject, type Access } from './access';

/**
 * Who sees what, for every answer of the server. Whatever names a person or shows what they run (owner, uid, group, job
 * name, account, command, messages) is hidden together. Projects, queues, hosts and figures are not hidden; a host's
 * totals count every job, shown or not.
 */

/** The items that the caller may see, those of others changed by `hide`; `of`: whose they are. */
function redacted<T>(
  items: readonly T[],
  access: Access,
  hide: (item: T) => T,
  of: (item: T) => OwnerAndProject,
): readonly T[] {
  if (access.level === 'all') return items;
  const shown = items.filter((item) => isShown(of(item), access));
  return showsNames(access) ? shown : shown.map((item) => (isOwn(of(item).owner, access) ? item : hide(item)));
}

/** Adds the project of a job to what has none, by lists that have projects. */
function projectsByJob(
  jobs: readonly (OwnerAndProject & { readonly job: number })[],
): (item: { readonly owner: string; readonly job: number }) => OwnerAndProject {
  const projects = new Map(jobs.flatMap(({ job, project }) => (project === null ? [] : [[job, project] as const])));
  return ({ owner, job }) => ({ owner, project: projects.get(job) ?? null });
}

const itself = (job: OwnerAndProject): OwnerAndProject => job;

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
  submitCommand: null,
  messages: [],
});

const inAnswer = <T>(answer: Answer<T>, change: (value: T) => T): Answer<T> => ({
  ...answer,
  value: change(answer.value),
});

const totalsOf = (host: HostView): HostTotals => ({
  name: host.name,
  ...(Object.fromEntries(HOST_SUMS.map((sum) => [sum, host[sum]])) as Omit<HostTotals, 'name'>),
});

/** What qmaster said, as the caller may see it; `view`: the whole cluster, null where none could be put together. */
export function redactSnapshot(snapshot: Snapshot, view: ClusterView | null, access: Access): Snapshot {
  if (access.level === 'all') return snapshot;
  const listed = (jobs: readonly ListedJob[]): readonly ListedJob[] => redacted(jobs, access, hideListed, itself);
  const ofJob = projectsByJob([...snapshot.running.value, ...snapshot.details.value]);
  return {
    ...snapshot,
    hosts: inAnswer(snapshot.hosts, (hosts) =>
      hosts.map((host) => ({ ...host, jobs: redacted(host.jobs, access, hideQhostJob, ofJob) })),
    ),
    running: inAnswer(snapshot.running, listed),
    details: inAnswer(snapshot.details, (jobs) => redacted(jobs, access, hideDetail, itself)),
    pending: snapshot.pending === null ? null : inAnswer(snapshot.pending, listed),
    ...(access.level === 'anonymous' ? {} : { hostTotals: view?.hosts.map(totalsOf) ?? [] }),
  };
}

const hidePart = (part: JobPart): JobPart => ({ ...part, ...nameless });
const hidePending = (job: PendingView): PendingView => ({ ...job, ...nameless });
const hideJob = (job: JobView): JobView => ({ ...job, ...nameless, uid: null, parts: job.parts.map(hidePart) });

/** The running cluster, as the caller may see it. */
export function redactView(view: ClusterView, access: Access): ClusterView {
  if (access.level === 'all') return view;
  const ofJob = projectsByJob(view.jobs);
  return {
    ...view,
    hosts: view.hosts.map((host) => ({ ...host, parts: redacted(host.parts, access, hidePart, ofJob) })),
    jobs: redacted(view.jobs, access, hideJob, itself),
    pending: view.pending === null ? null : redacted(view.pending, access, hidePending, itself),
  };
}

/** The value that is shown of a field if the caller may not see names. */
function hideField(name: FieldName, value: JobRecord[FieldName]): unknown {
  const { personal, storage, empty } = FIELDS[name];
  if (personal) return name === 'owner' || name === 'job_name' ? HIDDEN : empty;
  if (value === null) return null;
  if (storage.as === 'bracket') return Object.assign({}, value, { command: null });
  // The submission's options may name a person, a file or what is run.
  return name === 'grid_engine'
    ? Object.assign({}, value, { category: HIDDEN, submit_command: null, deleted_by: null })
    : value;
}

function hideRecord(record: JobRecord): JobRecord {
  return Object.fromEntries(FIELD_NAMES.map((name) => [name, hideField(name, record[name])])) as unknown as JobRecord;
}

/** Records of the accounting DB, as the caller may see them. */
export function redactRecords<T extends StoredRecord>(records: readonly T[], access: Access): readonly T[] {
  const hide = (stored: T): T => ({ ...stored, record: hideRecord(stored.record) });
  return redacted(records, access, hide, ({ record }) => record);
}
