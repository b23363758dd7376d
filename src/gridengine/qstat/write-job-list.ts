import { printReportTime } from '../report-time';
import type { XmlElement } from '../xml/write-xml';
import type { ListedJob, RequestText } from './job-list';

/** A queue instance as `qstat -F` lists it, with the jobs in it: their `slots` are those that they have there. */
export interface ListedQueue {
  /** `all.q@node01` */
  readonly name: string;
  readonly type: string | null;
  readonly slotsUsed: number | null;
  readonly slotsReserved: number | null;
  readonly slots: number | null;
  readonly load: number | null;
  readonly architecture: string | null;
  /** State letters; empty: all is well. */
  readonly state: string;
  readonly resources: readonly { readonly name: string; readonly dominance: string; readonly value: string }[];
  readonly jobs: readonly ListedJob[];
}

/** `queues` null: the jobs that run are listed by themselves (`running`), without the queues. */
export interface JobList {
  readonly running: readonly ListedJob[];
  readonly pending: readonly ListedJob[];
  readonly queues: readonly ListedQueue[] | null;
}

/** The schema of 8.1.9, which this output follows. */
const SCHEMA = 'http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd';

/** No element where nothing is known. */
function child(tag: string, value: string | number | null, name?: string): readonly XmlElement[] {
  if (value === null) return [];
  return [{ tag, content: String(value), ...(name === undefined ? {} : { attributes: { name } }) }];
}

const decimal = (value: number | null): string | null => (value === null ? null : value.toFixed(5));
const time = (value: number | null): string | null => (value === null ? null : printReportTime(value));

function requestElement({ complex, value, kind, scope }: RequestText): XmlElement {
  const tag = kind === 'default' ? 'def_hard_request' : `${scope === undefined ? '' : `${scope}_`}${kind}_request`;
  return { tag, attributes: { name: complex }, content: value };
}

const KINDS: readonly RequestText['kind'][] = ['hard', 'default', 'soft'];

/** In the schema's order. */
const requestElements = (requests: readonly RequestText[]): readonly XmlElement[] =>
  KINDS.flatMap((kind) => requests.filter((request) => request.kind === kind).map(requestElement));

/** The elements of 8.1.9 with `-r -ext -urg`, in its order; times where they are known, which its `-ext` leaves out. */
function jobElement(job: ListedJob, state: string, isInQueue: boolean): XmlElement {
  return {
    tag: 'job_list',
    attributes: { state: job.list === '' ? state : job.list },
    content: [
      ...child('JB_job_number', job.job),
      ...child('JAT_prio', decimal(job.priority)),
      ...child('JB_name', job.name),
      ...child('JB_owner', job.owner),
      ...child('JB_project', job.project ?? ''),
      ...child('JB_department', job.department ?? ''),
      ...child('state', job.state),
      ...child('JB_submission_time', time(job.submittedAt)),
      ...child('JAT_start_time', time(job.startedAt)),
      ...child('cpu_usage', decimal(job.cpuSeconds)),
      ...child('mem_usage', decimal(job.memoryGbSeconds)),
      ...child('io_usage', decimal(job.ioGb)),
      ...(isInQueue ? [] : child('queue_name', job.queueInstance ?? '')),
      ...(job.role === '' ? [] : child('master', job.role)),
      ...child('slots', job.slots),
      ...child('tasks', job.tasks),
      ...child('full_job_name', job.name),
      ...(job.requestedPe === null ? [] : child('requested_pe', job.requestedSlots ?? '', job.requestedPe)),
      ...(job.grantedPe === null ? [] : child('granted_pe', job.slots ?? '', job.grantedPe)),
      ...requestElements(job.requests),
    ],
  };
}

function queueElement(queue: ListedQueue): XmlElement {
  return {
    tag: 'Queue-List',
    content: [
      ...child('name', queue.name),
      ...child('qtype', queue.type),
      ...child('slots_used', queue.slotsUsed),
      ...child('slots_resv', queue.slotsReserved),
      ...child('slots_total', queue.slots),
      ...child('load_avg', decimal(queue.load)),
      ...child('arch', queue.architecture),
      ...(queue.state === '' ? [] : child('state', queue.state)),
      ...queue.resources.map(({ name, dominance, value }) => ({
        tag: 'resource',
        attributes: { name, type: dominance },
        content: value,
      })),
      ...queue.jobs.map((job) => jobElement(job, 'running', true)),
    ],
  };
}

/**
 * `qstat -u '*' -r -ext -urg -xml`, or with queues `qstat -F ...`: what `readJobList` reads. Tickets, the parts of the
 * urgency, queue requests and core binding are not kept, so they are left out.
 */
export function jobListElement({ running, pending, queues }: JobList): XmlElement {
  const inQueueInfo =
    queues === null ? running.map((job) => jobElement(job, 'running', false)) : queues.map(queueElement);
  return {
    tag: 'job_info',
    attributes: { 'xmlns:xsd': SCHEMA },
    content: [
      { tag: 'queue_info', content: inQueueInfo },
      { tag: 'job_info', content: pending.map((job) => jobElement(job, 'pending', false)) },
    ],
  };
}
