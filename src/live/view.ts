import type { JobRecord } from '../record/record';
import type { ClusterView, HostView, JobPart, JobView, PendingView, ViewTimes } from './cluster-view';
import { hostNames } from './host-names';
import { hostView, unlistedHost } from './host-view';
import { jobView } from './job-view';
import { recordsByPart } from './our-figures';
import { H_VMEM, memoryLimit, requestViews } from './requests';
import { runningJobs } from './running-jobs';
import type { Answer, Snapshot } from './snapshot';
import { usualRequest, type SlotRequest } from './stranded';

export interface ViewOptions {
  /** Whether h_vmem is asked for by slot, or once by job (`consumable JOB`). */
  readonly hVmem: 'slot' | 'job';
  /** Whose requests are shown beside those of h_vmem. */
  readonly memoryComplexes: readonly string[];
  readonly nowMs: number;
  /** h_vmem by host as `complex_values` has it; hosts that are not in it have what is left and what is asked for. */
  readonly capacities?: ReadonlyMap<string, number>;
  /** Whether systemd counts memory, for the dialects whose answers don't show it. */
  readonly systemd?: boolean;
}

/**
 * Joins what qmaster said at its several times, and what our own samplers say of the jobs that run (`ours`), into one
 * picture. Every job of qstat's or qhost's answer is in it, on some host wherever one is named. Pure.
 */
export function viewCluster(snapshot: Snapshot, ours: readonly JobRecord[], options: ViewOptions): ClusterView {
  const hosts = snapshot.hosts.value.filter(({ name }) => name !== 'global');
  const nameOf = hostNames(hosts.map(({ name }) => name));
  const complexes = new Set([H_VMEM, ...options.memoryComplexes]);
  const context = {
    dialect: snapshot.dialect,
    systemd: options.systemd ?? false,
    hVmem: options.hVmem,
    nowMs: options.nowMs,
    nameOf,
    recordsOf: recordsByPart(ours, nameOf),
  };
  const jobs = runningJobs({ ...snapshot, hosts: { ...snapshot.hosts, value: hosts } }, nameOf).map((job) =>
    jobView(job, complexes, context),
  );
  const pending = snapshot.pending?.value.map((row) => pendingView(row, complexes)) ?? null;
  const usual = usualRequest([...jobs, ...(pending ?? [])].flatMap((job) => slotRequest(job, options.hVmem)));
  const partsOf = partsByHost(jobs);
  const views = new Map<string, HostView>();
  for (const host of hosts) {
    if (views.has(host.name)) continue;
    const capacity = options.capacities?.get(host.name) ?? null;
    views.set(host.name, hostView(host, partsOf.get(host.name) ?? [], { capacity, usual }));
  }
  for (const [name, parts] of partsOf) if (!views.has(name)) views.set(name, unlistedHost(name, parts));
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

function partsByHost(jobs: readonly JobView[]): ReadonlyMap<string, readonly JobPart[]> {
  const parts = new Map<string, JobPart[]>();
  for (const part of jobs.flatMap((job) => job.parts)) {
    const known = parts.get(part.host);
    if (known === undefined) parts.set(part.host, [part]);
    else known.push(part);
  }
  return parts;
}

function pendingView(row: Snapshot['running']['value'][number], complexes: ReadonlySet<string>): PendingView {
  const { job, tasks, name, owner, project, state, submittedAt, slots, priority } = row;
  const requests = requestViews(row, null, complexes);
  return { job, tasks, name, owner, project, state, submittedAt, slots, priority, requests };
}

function slotRequest(
  { slots, requests }: { readonly slots: number | null; readonly requests: JobView['requests'] },
  hVmem: 'slot' | 'job',
): readonly SlotRequest[] {
  const { bytes } = memoryLimit(requests, true);
  const count = slots ?? 1;
  return bytes === null || count <= 0 ? [] : [{ bytes: hVmem === 'job' ? bytes / count : bytes, slots: count }];
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

/** Commands that fail alike are one problem. */
function problemsOf({ hosts, running, details, pending }: Snapshot): readonly string[] {
  const problems = [hosts, running, details, pending].flatMap((answer) => answer?.problem ?? []);
  return [...new Set(problems)];
}
