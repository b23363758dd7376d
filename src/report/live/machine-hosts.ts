import type { HostView, JobPart, QueueView } from '../../live/cluster-view';
import { amount, answerObject, flag, many, maybeAmount, maybeWhole, text, whole } from './answer-object';
import type { HostTotals } from './host-totals';
import { PART } from './machine-jobs';

/** Hosts in JSON: the published contract (schema 1), like machine-jobs.ts. */

export const QUEUE = answerObject<QueueView>('Queue', {
  name: text((queue) => queue.name),
  slots: maybeAmount((queue) => queue.slots),
  slots_used: maybeAmount((queue) => queue.slotsUsed),
  state: text((queue) => queue.state),
});

export const HOST_JOB = answerObject<JobPart>(
  'HostJob',
  {
    job_id: whole((part) => part.job),
    task_id: maybeWhole((part) => part.task),
    owner: text((part) => part.owner),
    job_name: text((part) => part.name),
    ...PART,
  },
  'what a job has on this host',
);

export const HOST = answerObject<HostView>('Host', {
  host: text((host) => host.name),
  up: flag((host) => host.up),
  processors: maybeAmount((host) => host.processors),
  load: maybeAmount((host) => host.load),
  memory_total_bytes: maybeAmount((host) => host.memoryTotal),
  memory_used_bytes: maybeAmount((host) => host.memoryUsed),
  swap_total_bytes: maybeAmount((host) => host.swapTotal),
  swap_used_bytes: maybeAmount((host) => host.swapUsed),
  slots: maybeAmount((host) => host.slots),
  slots_used: maybeAmount((host) => host.slotsUsed),
  capacity_complex: text((host) => host.complex),
  capacity_bytes: maybeAmount((host) => host.capacity),
  free_bytes: maybeAmount((host) => host.free),
  requested_bytes: amount((host) => host.requested),
  peak_bytes: maybeAmount((host) => host.peak),
  used_bytes: maybeAmount((host) => host.used),
  jobs_without_limit: whole((host) => host.unlimited),
  stranded_bytes: amount((host) => host.strandedMemory),
  stranded_slots: amount((host) => host.strandedSlots),
  queues: many(QUEUE, (host) => host.queues),
  jobs: many(HOST_JOB, (host) => host.parts),
});

export const HOST_TOTALS = answerObject<HostTotals>(
  'HostTotals',
  {
    hosts: whole((totals) => totals.hosts),
    hosts_down: whole((totals) => totals.down),
    peak_bytes: maybeAmount((totals) => totals.peak),
    used_bytes: maybeAmount((totals) => totals.used),
    requested_bytes: amount((totals) => totals.requested),
    total_bytes: maybeAmount((totals) => totals.total),
    free_bytes: maybeAmount((totals) => totals.free),
    slots: maybeAmount((totals) => totals.slots),
    slots_used: maybeAmount((totals) => totals.slotsUsed),
    stranded_bytes: amount((totals) => totals.strandedMemory),
    stranded_slots: amount((totals) => totals.strandedSlots),
  },
  'sums over the hosts of the answer',
);
