import type { AtRisk } from '../../live/at-risk';
import type {
  ClusterView,
  JobPart,
  JobView,
  OurFigures,
  PartTask,
  PendingView,
  RequestView,
  Trend,
} from '../../live/cluster-view';
import { peakOfPart, useOfPart } from '../../live/job-parts';
import {
  amount,
  answerObject,
  flag,
  many,
  maybeAmount,
  maybeOne,
  maybeText,
  maybeWhole,
  one,
  text,
  texts,
  through,
  time,
  whole,
  word,
  type Members,
} from './answer-object';
import { maxvmemOfPart, shareOfJob, vmemOfPart } from './figures';

/** Running and waiting jobs in JSON: the published contract (schema 1). Fields may be added, none renamed. */

const LIMIT_STATES = ['limited', 'unlimited', 'unknown'] as const;

const figures: Members<OurFigures | null> = {
  rss_bytes: maybeAmount((ours) => ours?.rss ?? null),
  peak_lower_bytes: maybeAmount((ours) => ours?.lower ?? null),
  peak_upper_bytes: maybeAmount((ours) => ours?.upper ?? null),
  figures_at: time((ours) => ours?.at ?? null),
};

export const REQUEST = answerObject<RequestView>('Request', {
  complex: text((request) => request.complex),
  kind: word(['hard', 'soft', 'default', 'master', 'slave'], (request) => request.kind),
  text: text((request) => request.text),
  bytes: maybeAmount((request) => request.bytes),
});

export const TREND = answerObject<Trend>(
  'Trend',
  {
    slope_bytes_per_second: amount((trend) => trend.slope),
    over_seconds: amount((trend) => trend.overSeconds),
    limit_at: time((trend) => trend.limitAt),
    earliest: time((trend) => trend.earliest),
    latest: time((trend) => trend.latest),
    confidence: word(['high', 'medium', 'low'], (trend) => trend.confidence),
  },
  'when the job reaches its limit at the rate of its last minutes',
);

export const PART_TASK = answerObject<PartTask>('PartTask', {
  id: text((task) => task.id),
  vmem_bytes: maybeAmount((task) => task.vmem),
  maxvmem_bytes: maybeAmount((task) => task.maxvmem),
});

/** What a job has on one host; the list of a host adds the job's number and names. */
export const PART: Members<JobPart> = {
  master: flag((part) => part.master),
  slots: amount((part) => part.slots),
  limit_bytes: maybeAmount((part) => part.limit),
  limit_state: word(LIMIT_STATES, (part) => part.limitState),
  reserved_bytes: amount((part) => part.reserved),
  peak_bytes: maybeAmount(peakOfPart),
  used_bytes: maybeAmount(useOfPart),
  vmem_bytes: maybeAmount(vmemOfPart),
  maxvmem_bytes: maybeAmount(maxvmemOfPart),
  master_vmem_bytes: maybeAmount((part) => part.masterVmem),
  master_maxvmem_bytes: maybeAmount((part) => part.masterMaxvmem),
  tasks: many(PART_TASK, (part) => part.tasks),
  ended_tasks_maxvmem_bytes: maybeAmount((part) => part.pastMaxvmem),
  ...through(figures, (part) => part.ours),
  trend: maybeOne(TREND, (part) => part.trend),
};

export const JOB_ON_HOST = answerObject<JobPart>(
  'JobOnHost',
  { host: text((part) => part.host), ...PART },
  'what a job has on one host',
);

const job: Members<JobView> = {
  job_id: whole((view) => view.job),
  task_id: maybeWhole((view) => view.task),
  job_name: text((view) => view.name),
  owner: text((view) => view.owner),
  uid: maybeText((view) => view.uid),
  project: maybeText((view) => view.project),
  state: text((view) => view.state),
  queue: text((view) => view.queue),
  pe: maybeText((view) => view.pe),
  slots: amount((view) => view.slots),
  started_at: time((view) => view.startedAt),
  submitted_at: time((view) => view.submittedAt),
  requests: many(REQUEST, (view) => view.requests),
  limit_bytes: maybeAmount((view) => view.limit),
  limit_complex: maybeText((view) => view.complex),
  limit_state: word(LIMIT_STATES, (view) => view.limitState),
  time_limit_seconds: maybeAmount((view) => view.timeLimit),
  vmem_bytes: maybeAmount((view) => view.vmem),
  maxvmem_bytes: maybeAmount((view) => view.maxvmem),
  measure: maybeText((view) => view.measure),
  cpu_seconds: maybeAmount((view) => view.cpuSeconds),
  ...through(figures, (view) => view.ours),
  share: maybeAmount(shareOfJob),
  trend: maybeOne(TREND, (view) => view.trend),
  hosts: many(JOB_ON_HOST, (view) => view.parts),
};

export const RUNNING_JOB = answerObject<JobView>('RunningJob', job);

export const RISK = answerObject<AtRisk>(
  'Risk',
  {
    host: text(({ part }) => part.host),
    reason: word(['full', 'trend'], ({ reason }) => reason),
    share: maybeAmount(({ share }) => share),
  },
  'on which host the job reaches its limit first; "full": it uses that share of it now, "trend": it grows towards it',
);

export const JOB_AT_RISK = answerObject<AtRisk>('JobAtRisk', {
  ...through(job, (risk) => risk.job),
  at_risk: one(RISK, (risk) => risk),
});

export const PENDING_JOB = answerObject<PendingView>('PendingJob', {
  job_id: whole((view) => view.job),
  tasks: maybeText((view) => view.tasks),
  job_name: text((view) => view.name),
  owner: text((view) => view.owner),
  project: maybeText((view) => view.project),
  state: text((view) => view.state),
  submitted_at: time((view) => view.submittedAt),
  slots: maybeAmount((view) => view.slots),
  priority: maybeAmount((view) => view.priority),
  requests: many(REQUEST, (view) => view.requests),
  limit_complex: maybeText((view) => view.complex),
});

/** The head of an answer: cluster, problems, and when each part was asked for (`at`: the oldest part from qmaster). */
export const HEAD: Members<ClusterView> = {
  schema: { schema: { const: 1 }, of: () => 1 },
  cluster: text((view) => view.cluster),
  dialect: text((view) => view.dialect),
  at: time((view) => view.at),
  hosts_at: time((view) => view.times.hosts),
  list_at: time((view) => view.times.list),
  usage_at: time((view) => view.times.usage),
  pending_at: time((view) => view.times.pending),
  oldest_figures_at: time((view) => view.times.oursOldest),
  newest_figures_at: time((view) => view.times.oursNewest),
  problems: texts((view) => view.problems),
};
