import { H_VMEM } from '../gridengine/memory-complex';
import { parseMemorySize } from '../gridengine/memory-size';
import { hasTask } from '../gridengine/qstat/expand-tasks';
import type { JobDetail } from '../gridengine/qstat/job-detail';
import type { ListedJob, RequestText } from '../gridengine/qstat/job-list';
import type { HostView, JobView } from './cluster-view';
import type { Hold } from './holds';
import type { JobDetails } from './job-details';
import type { Snapshot } from './snapshot';
import { viewCluster, type ViewOptions } from './view';

/** Waiting tasks of a job in the same state; `tasks` null: not an array job. */
interface WaitingTasks {
  readonly tasks: string | null;
  /** Grid Engine's state letters. */
  readonly state: string;
}

interface Predecessor {
  readonly job: number;
  /** Each task waits for the same task of that array job alone. */
  readonly byTask: boolean;
  /** `unlisted`: it has ended meanwhile; `unknown`: it has ended, or the reader may not see it. */
  readonly state: 'running' | 'waiting' | 'unlisted' | 'unknown';
}

/** A job, or one task of an array job. */
export interface JobOrTask {
  readonly job: number;
  /** null: the whole job. */
  readonly task: number | null;
}

/** A job or array task that Grid Engine lists, so has not ended. Times in ms since the epoch, memory in bytes. */
export interface UnfinishedJob extends JobOrTask {
  readonly cluster: string;
  readonly name: string;
  readonly owner: string;
  readonly project: string | null;
  readonly submittedAt: number | null;
  readonly slots: number | null;
  /** It can start with so many slots. */
  readonly leastSlots: number | null;
  readonly pe: string | null;
  readonly requests: readonly RequestText[];
  readonly running: readonly JobView[];
  readonly waiting: readonly WaitingTasks[];
  /**
   * Its place among the jobs that can start, in the order in which Grid Engine tries them; null: it is not among them,
   * or the reader may not see all of these jobs.
   */
  readonly position: { readonly place: number; readonly of: number } | null;
  readonly holds: readonly Hold[];
  readonly predecessors: readonly Predecessor[];
  readonly notBefore: number | null;
  /** It starts in this advance reservation alone; null: it needs none. */
  readonly reservation: number | null;
  /** Grid Engine's messages on why its starts failed. */
  readonly errors: readonly string[];
  /** The scheduler's reasons, unchanged. */
  readonly reasons: readonly string[];
  readonly submitCommand: string | null;
  /** The memory complex that jobs take from hosts. */
  readonly complex: string;
  /** Hosts where that complex is a consumable, with their capacity and what is free now. */
  readonly hosts: readonly Pick<HostView, 'name' | 'capacity' | 'free'>[];
  /** The host with the largest capacity; null: not known, as some host that takes jobs does not show its capacity. */
  readonly largest: LargestHost | null;
  /** null: not known of some host that takes jobs. */
  readonly slotRoom: SlotRoom | null;
  /** Why Grid Engine's details about the job are missing; null: they are there. */
  readonly problem: string | null;
}

interface LargestHost {
  readonly name: string;
  readonly capacity: number;
}

/** Slots of the hosts' queues, free or not, with the memory that the job requests for each. */
interface SlotRoom {
  /** The host with most of them. */
  readonly name: string;
  readonly most: number;
  readonly all: number;
  /** The request that leaves some of them without memory; null: none does, or the hosts' memory is not known. */
  readonly request: RequestText | null;
}

/** What was asked for in addition to the lists of jobs. */
interface AskedDetails {
  readonly details: JobDetails;
  readonly holds: readonly Hold[];
}

/** qhost rounds amounts to a thousandth of their unit: 255.023G, or 1.000T. */
export const PRINTED = 1.001;

/** CE_consumable of a consumable YES. */
const PER_SLOT = 1;

const HELD_OR_FAILED = /[hEd]/;

/** Whether Grid Engine could start a job in this state. */
export const canStart = (state: string): boolean => !HELD_OR_FAILED.test(state);

const rowsOf = (rows: readonly ListedJob[] | undefined, { job, task }: JobOrTask): readonly ListedJob[] =>
  rows?.filter((row) => row.job === job && (task === null || hasTask(row.tasks ?? '', task))) ?? [];

/** A job's rows in the lists of running and waiting jobs; empty: it has ended, or was never submitted. */
export function listedRows({ running, pending }: Snapshot, asked: JobOrTask): readonly ListedJob[] {
  return [...rowsOf(running.value, asked), ...rowsOf(pending?.value, asked)];
}

function positionOf({ pending, hostTotals }: Snapshot, job: number): UnfinishedJob['position'] {
  if (hostTotals !== undefined) return null;
  const jobs = new Set(pending?.value.filter(({ state }) => canStart(state)).map((row) => row.job));
  const place = [...jobs].indexOf(job) + 1;
  return place === 0 ? null : { place, of: jobs.size };
}

function predecessorsOf(snapshot: Snapshot, detail: JobDetail | undefined): readonly Predecessor[] {
  if (detail === undefined) return [];
  const running = new Set(snapshot.running.value.map(({ job }) => job));
  const waiting = new Set(snapshot.pending?.value.map(({ job }) => job));
  const absent = snapshot.hostTotals === undefined ? 'unlisted' : 'unknown';
  const of = (byTask: boolean) => (job: number) =>
    ({
      job,
      byTask,
      state: running.has(job) ? 'running' : waiting.has(job) ? 'waiting' : absent,
    }) as const;
  return [...detail.predecessors.map(of(false)), ...detail.taskPredecessors.map(of(true))];
}

/** null: a host that does not show the complex may have more, or an unknown request makes a capacity too small. */
function largestHost(hosts: readonly HostView[]): LargestHost | null {
  let largest: LargestHost | null = null;
  for (const { name, capacity, queues, parts } of hosts) {
    if (queues.length === 0 && parts.length === 0) continue;
    if (capacity === null || parts.some(({ limitState }) => limitState === 'unknown')) return null;
    if (capacity > (largest?.capacity ?? -1)) largest = { name, capacity };
  }
  return largest;
}

/** `request`: what each slot requests; null: as if it requested nothing. */
function slotRoom(hosts: readonly HostView[], request: RequestText | null): SlotRoom | null {
  const bytes = request === null ? 0 : amountOf(request.value);
  let [name, most, all, isShort] = ['', 0, 0, false];
  for (const host of hosts) {
    const { slots, queues, capacity } = host;
    if (queues.length === 0) continue;
    if (slots === null) return null;
    const withMemory = bytes > 0 ? Math.floor(((capacity ?? 0) * PRINTED) / bytes) : Infinity;
    const fit = Math.min(slots, withMemory);
    if (fit > most) [name, most] = [host.name, fit];
    all += fit;
    isShort ||= withMemory < slots;
  }
  return name === '' ? null : { name, most, all, request: isShort ? request : null };
}

const amountOf = (text: string): number => {
  const parsed = parseMemorySize(text);
  return parsed.ok ? parsed.value : 0;
};

/** `2,6,70-128`: qstat's number of slots is the least, the mean or the most of these, by the parallel environment. */
const leastSlots = ({ slots, requestedSlots }: ListedJob): number | null =>
  requestedSlots === null ? slots : Number.parseInt(requestedSlots, 10) || slots;

/** What each slot requests of the hosts' memory; null: not known, or not counted per slot. */
const requestPerSlot = (detail: JobDetail | undefined, complex: string): RequestText | null =>
  detail?.requests.find(
    (one) => one.complex === complex && one.kind === 'hard' && one.scope === undefined && one.consumable === PER_SLOT,
  ) ?? null;

/** Who and what it is: by its row of the list, else by its details. */
function factsOf(first: ListedJob, detail: JobDetail | undefined) {
  return {
    name: first.name,
    owner: first.owner,
    project: first.project ?? detail?.project ?? null,
    submittedAt: first.submittedAt ?? detail?.submittedAt ?? null,
    slots: first.slots,
    leastSlots: leastSlots(first),
    pe: first.grantedPe ?? first.requestedPe ?? detail?.pe ?? null,
    requests: first.requests.length > 0 ? first.requests : (detail?.requests ?? []),
    notBefore: detail?.notBefore ?? null,
    reservation: detail?.reservation ?? null,
    errors: detail?.messages ?? [],
    submitCommand: detail?.submitCommand ?? null,
  };
}

/** What Grid Engine says about a listed job or task; null: it is not listed. */
export function unfinishedJob(
  asked: JobOrTask,
  snapshot: Snapshot,
  { details, holds }: AskedDetails,
  options: ViewOptions,
): UnfinishedJob | null {
  const { job, task } = asked;
  const [first] = listedRows(snapshot, asked);
  if (first === undefined) return null;
  const detail = details.jobs.find((one) => one.job === job);
  const view = viewCluster({ ...snapshot, details: { ...snapshot.details, value: details.jobs } }, [], options);
  const complex = view.hosts[0]?.complex ?? H_VMEM;
  // If the reader may not see all jobs, it is not known here whether all requests are known.
  const largest = snapshot.hostTotals === undefined ? largestHost(view.hosts) : null;
  const waiting = rowsOf(snapshot.pending?.value, asked);
  return {
    cluster: snapshot.cluster,
    job,
    task,
    ...factsOf(first, detail),
    running: view.jobs.filter((one) => one.job === job && (task === null || one.task === task)),
    waiting: waiting.map(({ tasks, state }) => ({ tasks: task === null ? tasks : String(task), state })),
    position: waiting.some(({ state }) => canStart(state)) ? positionOf(snapshot, job) : null,
    holds,
    predecessors: predecessorsOf(snapshot, detail),
    reasons: details.reasons.filter(({ jobs }) => jobs.length === 0 || jobs.includes(job)).map(({ text }) => text),
    complex,
    hosts: view.hosts
      .filter(({ capacity }) => capacity !== null)
      .map(({ name, capacity, free }) => ({ name, capacity, free })),
    largest,
    slotRoom: slotRoom(view.hosts, largest === null ? null : requestPerSlot(detail, complex)),
    problem: details.problem,
  };
}
