import type { Schema } from '../../base/shape';
import type { ClusterView } from '../../live/cluster-view';
import { escapeJson } from '../format/escape';
import { answerObject, reference, type AnswerObject, type Fields } from './answer-object';
import { totalHosts } from './host-totals';
import type { HostsReport } from './hosts';
import type { JobsReport, RisksReport } from './jobs';
import { HOST, HOST_JOB, HOST_TOTALS, QUEUE } from './machine-hosts';
import {
  HEAD,
  JOB_AT_RISK,
  JOB_ON_HOST,
  PART_TASK,
  PENDING_JOB,
  REQUEST,
  RISK,
  RUNNING_JOB,
  TREND,
} from './machine-jobs';

const head = answerObject('Head', HEAD);

const line = (fields: Fields): string => escapeJson(JSON.stringify(fields));

/** Text in pieces, which are made as they are asked for. */
type Pieces = Iterable<string>;

function* list<T>(name: string, kind: AnswerObject<T>, items: readonly T[]): Pieces {
  yield `"${name}":[`;
  for (const [index, item] of items.entries()) yield `${index === 0 ? '' : ','}\n${line(kind.fields(item))}`;
  yield items.length === 0 ? ']' : '\n]';
}

function* whole(view: ClusterView, parts: readonly Pieces[]): Pieces {
  yield line(head.fields(view)).slice(0, -1);
  for (const part of parts) {
    yield ',';
    yield* part;
  }
  yield '}\n';
}

/** `{"schema":1,"cluster":...,"jobs":[...],"pending":[...]}`, a job a line; `pending` null: not asked for. */
export function jobsJson({ view, jobs, pending }: JobsReport): Pieces {
  const waiting = pending === null ? ['"pending":null'] : list('pending', PENDING_JOB, pending);
  return whole(view, [list('jobs', RUNNING_JOB, jobs), waiting]);
}

/** `{"schema":1,"cluster":...,"jobs":[...]}`, the most urgent first. */
export function risksJson({ view, risks }: RisksReport): Pieces {
  return whole(view, [list('jobs', JOB_AT_RISK, risks)]);
}

/** `{"schema":1,"cluster":...,"hosts":[...],"totals":{...}}`, a host a line, with its jobs. */
export function hostsJson({ view, hosts }: HostsReport): Pieces {
  return whole(view, [list('hosts', HOST, hosts), [`"totals":${line(HOST_TOTALS.fields(totalHosts(hosts)))}`]]);
}

export const renderJobsJson = (report: JobsReport): string => [...jobsJson(report)].join('');
export const renderRisksJson = (report: RisksReport): string => [...risksJson(report)].join('');
export const renderHostsJson = (report: HostsReport): string => [...hostsJson(report)].join('');

function withHead(members: Readonly<Record<string, Schema>>): Schema {
  const { properties, required } = head.schema as { readonly properties: object; readonly required: readonly string[] };
  return {
    type: 'object',
    properties: { ...properties, ...members },
    required: [...required, ...Object.keys(members)],
  };
}

const listSchema = (kind: Pick<AnswerObject<never>, 'name'>): Schema => ({ type: 'array', items: reference(kind) });

/** JSON Schemas of these answers, and of the parts that they refer to, by their names. */
export const JOBS_SCHEMA = withHead({
  jobs: listSchema(RUNNING_JOB),
  pending: { anyOf: [listSchema(PENDING_JOB), { type: 'null' }] },
});
export const RISKS_SCHEMA = withHead({ jobs: listSchema(JOB_AT_RISK) });
export const HOSTS_SCHEMA = withHead({ hosts: listSchema(HOST), totals: reference(HOST_TOTALS) });
export const LIVE_PARTS: Readonly<Record<string, Schema>> = Object.fromEntries(
  [
    ...[REQUEST, TREND, PART_TASK, JOB_ON_HOST, RUNNING_JOB, RISK, JOB_AT_RISK, PENDING_JOB],
    ...[QUEUE, HOST_JOB, HOST, HOST_TOTALS],
  ].map(({ name, schema }) => [name, schema]),
);
