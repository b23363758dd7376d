import { groupBy } from '../base/group-by';
import { H_VMEM } from '../gridengine/memory-complex';
import type { JobRecord } from '../record/record';
import type { RequestRules } from '../record/request-rules';
import type { ClusterView, HostView, JobView, PendingView, ViewTimes } from './cluster-view';
import { hostNames } from '../gridengine/host-names';
import { hostConsumable, hostView, unlistedHost } from './host-view';
import { jobView } from './job-view';
import { recordsByPart } from './our-figures';
import { memoryLimit, perOf, requestViews, type PerOf } from './requests';
import { runningJobs } from './running-jobs';
import type { Answer, Snapshot } from './snapshot';
import { usualRequest, type SlotRequest } from './stranded';

export interface ViewOptions {
  /** The site's rules on memory requests. */
  readonly rules: RequestRules;
  readonly nowMs: number;
}

/**
 * Joins qmaster's answers, which are from different times, and our samplers' records of running jobs (`ours`) into one
 * view. It has every job of qstat's or qhost's answer, on a host if any answer names one. Pure.
 */
export function viewCluster(snapshot: Snapshot, ours: readonly JobRecord[], options: ViewOptions): ClusterView {
  const hosts = snapshot.hosts.value.filter(({ name }) => name !== 'global');
  const nameOf = hostNames(hosts.map(({ name }) => name));
  // Cells that share hosts and an accounting DB may have jobs with the same numbers.
  const own = ours.filter(({ cluster }) => cluster === snapshot.cluster);
  const { rules } = options;
  const order = rules.order(null);
  const consumable = hostConsumable(hosts, order);
  const complex = consumable ?? order[0] ?? H_VMEM;
  const context = {
    dialect: snapshot.dialect,
    rules,
    perOf: perOf(rules, own),
    consumable,
    nowMs: options.nowMs,
    nameOf,
    recordsOf: recordsByPart(own, nameOf),
  };
  const jobs = runningJobs({ ...snapshot, hosts: { ...snapshot.hosts, value: hosts } }, nameOf).map((job) =>
    jobView(job, context),
  );
  const pending = snapshot.pending?.value.map((row) => pendingView(row, rules)) ?? null;
  const usual = usualRequest([...jobs, ...(pending ?? [])].flatMap((job) => slotRequest(job, context)));
  const partsOf = groupBy(
    jobs.flatMap((job) => job.parts),
    (part) => part.host,
  );
  const totals = new Map(snapshot.hostTotals?.map((host) => [host.name, host]));
  const views = new Map<string, HostView>();
  for (const host of hosts) {
    if (views.has(host.name)) continue;
    const made = hostView(host, partsOf.get(host.name) ?? [], { complex, usual });
    views.set(host.name, { ...made, ...totals.get(host.name) });
  }
  for (const [name, parts] of partsOf) if (!views.has(name)) views.set(name, unlistedHost(name, parts, complex));
  return {
    cluster: snapshot.cluster,
    dialect: snapshot.dialect,
    at: oldest([snapshot.hosts, snapshot.running, snapshot.details]),
    times: timesOf(snapshot, jobs),
    problems: problemsOf(snapshot),
    hosts: [...views.values()],
    jobs,
    pending,
  };
}

function pendingView(row: Snapshot['running']['value'][number], rules: RequestRules): PendingView {
  const { job, tasks, name, owner, project, state, submittedAt, slots, priority } = row;
  const requests = requestViews(row, null, rules.recorded);
  const { complex } = memoryLimit(requests, true, rules.order(null));
  return { job, tasks, name, owner, project, state, submittedAt, slots, priority, requests, complex };
}

function slotRequest(
  { slots, requests, complex }: Pick<PendingView, 'slots' | 'requests' | 'complex'>,
  { perOf: per }: { readonly perOf: PerOf },
): readonly SlotRequest[] {
  const { bytes } = memoryLimit(requests, true, complex === null ? [] : [complex]);
  const count = slots ?? 1;
  return bytes === null || count <= 0 ? [] : [{ bytes: per(complex) === 'slot' ? bytes : bytes / count, slots: count }];
}

function oldest(answers: readonly Answer<unknown>[]): number | null {
  const times = answers.flatMap(({ at }) => at ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

function timesOf({ hosts, running, details, pending }: Snapshot, jobs: readonly JobView[]): ViewTimes {
  const ours = jobs.flatMap(({ parts }) => parts.flatMap((part) => part.ours?.at ?? []));
  return {
    hosts: hosts.at,
    list: running.at,
    usage: details.at,
    pending: pending?.at ?? null,
    oursOldest: ours.length === 0 ? null : ours.reduce((a, b) => Math.min(a, b)),
    oursNewest: ours.length === 0 ? null : ours.reduce((a, b) => Math.max(a, b)),
  };
}

/** The answers' problems; equal ones count once. */
function problemsOf({ hosts, running, details, pending }: Snapshot): readonly string[] {
  const problems = [hosts, running, details, pending].flatMap((answer) => answer?.problem ?? []);
  return [...new Set(problems)];
}
