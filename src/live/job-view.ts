import { HOUR_MS } from '../base/units';
import { bytesForSlots } from '../gridengine/memory-request';
import type { JobPart, JobView, Trend } from './cluster-view';
import { clusterQueue } from '../gridengine/host-names';
import { jobParts, type PartContext } from './job-parts';
import { figuresOfJob } from './our-figures';
import { countedRequest, memoryLimit, requestViews, scopedRequests, timeLimit } from './requests';
import type { RunningJob } from './running-jobs';
import { sumOfKnown } from '../base/known';
import { amountOf, measureOf, usageMemory, withoutReserved } from './usage-memory';

/** The view of a running job or array task, with its parts. */
export function jobView(job: RunningJob, context: PartContext): JobView {
  const { listed, detail } = job;
  const facts = factsOf(job);
  const taskDetail = withoutReserved(job.taskDetail);
  const requests = requestViews(listed, detail, context.rules.recorded);
  const order = context.rules.order(facts.queue);
  const perSlot = memoryLimit(requests, listed !== null || detail !== null, order);
  const { consumable } = context;
  const reserved = countedRequest(requests, consumable === null ? order : [consumable]);
  const scoped = scopedRequests(requests, consumable);
  const parts = jobParts({ ...job, taskDetail }, { ...facts, limit: perSlot, reserved, scoped }, context);
  const slots = job.granted ?? parts.reduce((sum, part) => sum + part.slots, 0);
  const units = { slot: slots, host: Math.max(1, parts.length), job: 1 };
  return {
    job: job.job,
    task: job.task,
    ...facts,
    slots,
    requests,
    limit: perSlot.bytes && bytesForSlots(perSlot.bytes, units[context.perOf(perSlot.complex)]),
    limitState: perSlot.state,
    complex: perSlot.complex,
    timeLimit: timeLimit(listed, detail),
    ...countedUse(job, taskDetail, context),
    ours: figuresOfJob(parts.map(({ ours }) => ours)),
    trend: soonest(parts),
    parts,
  };
}

type Facts = Pick<
  JobView,
  'name' | 'owner' | 'state' | 'startedAt' | 'submittedAt' | 'uid' | 'project' | 'queue' | 'pe'
>;

/** Who and what it is: by the list of jobs, else the job's details, else a row of its host. */
function factsOf({ listed, detail, taskDetail, rows }: RunningJob): Facts {
  const row = rows.values().next().value?.[0] ?? null;
  const named = listed ?? detail ?? row;
  return {
    name: named?.name ?? '',
    owner: named?.owner ?? '',
    state: (listed ?? row)?.state ?? '',
    startedAt: exactly(listed?.startedAt, [taskDetail?.startedAt, row?.startedAt]),
    submittedAt: exactly(listed?.submittedAt, [detail?.submittedAt]),
    uid: detail === null || detail.uid === '' ? null : detail.uid,
    project: listed?.project ?? detail?.project ?? null,
    queue: clusterQueue(listed?.queueInstance ?? row?.queue ?? ''),
    pe: listed?.grantedPe ?? detail?.pe ?? null,
  };
}

type CountedUse = Pick<JobView, 'vmem' | 'maxvmem' | 'measure' | 'cpuSeconds'>;

/** What Grid Engine counted of the job and its slave tasks. `taskDetail`: without usage that is only reserved. */
function countedUse(
  job: RunningJob,
  taskDetail: RunningJob['taskDetail'],
  { dialect }: Pick<PartContext, 'dialect'>,
): CountedUse {
  const tasks = taskDetail === null ? [] : [taskDetail, ...taskDetail.peTasks];
  const memory = tasks.map((task) => ({ past: 'past' in task && task.past, ...usageMemory(task.usage, dialect) }));
  const cpuSeconds = sumOfKnown(tasks.map(({ usage }) => amountOf(usage, 'cpu'))) ?? job.listed?.cpuSeconds ?? null;
  return {
    vmem: sumOfKnown(memory.filter(({ past }) => !past).map(({ vmem }) => vmem)),
    maxvmem: sumOfKnown(memory.map(({ maxvmem }) => maxvmem)),
    measure: measureOf(memory),
    cpuSeconds: taskDetail === job.taskDetail ? cpuSeconds : null,
  };
}

type Time = number | null | undefined;

/**
 * Times in the list are local: the hour that comes twice when summer time ends is read as the first one, and an answer
 * with epoch times may correct it. Otherwise the list counts: other answers may be about an older run.
 */
function exactly(listed: Time, others: readonly Time[]): number | null {
  const known = others.filter((time) => time != null);
  return known.find((time) => time - HOUR_MS === listed) ?? listed ?? known[0] ?? null;
}

/** The trend that reaches its limit first; if none does, the fastest. */
function soonest(parts: readonly JobPart[]): Trend | null {
  const trends = parts.flatMap(({ trend }) => trend ?? []);
  const order = (trend: Trend): number => trend.limitAt ?? Infinity;
  return [...trends].sort((a, b) => (order(a) === order(b) ? b.slope - a.slope : order(a) - order(b)))[0] ?? null;
}
