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
  const taskDetail = withoutReserved(job.taskDetail);
  const row = job.rows.values().next().value?.[0] ?? null;
  const requests = requestViews(listed, detail, context.rules.recorded);
  const queue = clusterQueue(listed?.queueInstance ?? row?.queue ?? '');
  const perSlot = memoryLimit(requests, listed !== null || detail !== null, context.rules.order(queue));
  const facts = {
    name: listed?.name ?? detail?.name ?? row?.name ?? '',
    owner: listed?.owner ?? detail?.owner ?? row?.owner ?? '',
    state: listed?.state ?? row?.state ?? '',
    startedAt: exactly(listed?.startedAt, [taskDetail?.startedAt, row?.startedAt]),
  };
  const { consumable } = context;
  const reserved = countedRequest(requests, consumable === null ? context.rules.order(queue) : [consumable]);
  const scoped = scopedRequests(requests, consumable);
  const parts = jobParts({ ...job, taskDetail }, { ...facts, limit: perSlot, reserved, scoped }, context);
  const slots = job.granted ?? parts.reduce((sum, part) => sum + part.slots, 0);
  const per = context.perOf(perSlot.complex);
  const usages = taskDetail === null ? [] : [taskDetail, ...taskDetail.peTasks];
  const memory = usages.map((task) => ({
    past: 'past' in task && task.past,
    ...usageMemory(task.usage, context.dialect),
  }));
  return {
    job: job.job,
    task: job.task,
    ...facts,
    uid: detail === null || detail.uid === '' ? null : detail.uid,
    project: listed?.project ?? detail?.project ?? null,
    queue,
    pe: listed?.grantedPe ?? detail?.pe ?? null,
    slots,
    submittedAt: exactly(listed?.submittedAt, [detail?.submittedAt]),
    requests,
    limit: perSlot.bytes && bytesForSlots(perSlot.bytes, { slot: slots, host: Math.max(1, parts.length), job: 1 }[per]),
    limitState: perSlot.state,
    complex: perSlot.complex,
    timeLimit: timeLimit(listed, detail),
    vmem: sumOfKnown(memory.filter(({ past }) => !past).map(({ vmem }) => vmem)),
    maxvmem: sumOfKnown(memory.map(({ maxvmem }) => maxvmem)),
    measure: measureOf(memory),
    cpuSeconds:
      taskDetail === job.taskDetail
        ? (sumOfKnown(usages.map(({ usage }) => amountOf(usage, 'cpu'))) ?? listed?.cpuSeconds ?? null)
        : null,
    ours: figuresOfJob(parts.map(({ ours }) => ours)),
    trend: soonest(parts),
    parts,
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
