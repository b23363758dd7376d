import { parsePrintedCount, parsePrintedNumber } from '../printed-number';
import { parseReportTime } from '../report-time';
import type { ListedJob, RequestText } from './job-list';

/**
 * Puts one row of qstat's lists together from its parts, in whatever order the dialect prints them. Of a scalar that
 * comes twice the first counts: with `-t` the sub-tasks of a job may stand in it without a wrapper of their own, and
 * they come after the job's own values.
 */
export interface JobBuilder {
  /** `list`: `running`, `pending` ...; `queueInstance`: of the `Queue-List` around it (with `-f`), null without one. */
  open(list: string, queueInstance: string | null): void;
  /** A scalar by its tag in the XML: `JB_job_number`, `state`, `requested_pe` (its name) ... */
  value(tag: string, text: string): void;
  request(request: RequestText): void;
  /** The row is whole. */
  close(): void;
}

interface Draft {
  readonly list: string;
  readonly queueInstance: string | null;
  readonly values: Map<string, string>;
  readonly requests: RequestText[];
}

/** Rows without a job number go nowhere. */
export function jobBuilder(onJob: (job: ListedJob) => void): JobBuilder {
  let draft: Draft | null = null;
  return {
    open: (list, queueInstance) => (draft = { list, queueInstance, values: new Map(), requests: [] }),
    value(tag, text) {
      if (draft !== null && text !== '' && !draft.values.has(tag)) draft.values.set(tag, text);
    },
    request: (request) => draft?.requests.push(request),
    close() {
      const job = draft === null ? null : finish(draft);
      draft = null;
      if (job !== null) onJob(job);
    },
  };
}

function finish({ list, queueInstance, values, requests }: Draft): ListedJob | null {
  const text = (tag: string) => values.get(tag) ?? '';
  const named = (tag: string) => values.get(tag) ?? null;
  const job = parsePrintedCount(text('JB_job_number'));
  if (job === null || job === 0) return null;
  const role = text('master').trim();
  return {
    job,
    tasks: named('tasks'),
    name: values.get('full_job_name') ?? text('JB_name'),
    owner: text('JB_owner'),
    project: named('JB_project'),
    department: named('JB_department'),
    state: text('state'),
    list,
    priority: parsePrintedNumber(text('JAT_prio')),
    startedAt: parseReportTime(text('JAT_start_time')),
    submittedAt: parseReportTime(values.get('JB_submission_time') ?? text('JAT_submission_time')),
    queueInstance: named('queue_name') ?? queueInstance,
    role: role === 'MASTER' || role === 'SLAVE' ? role : '',
    slots: parsePrintedCount(text('slots')),
    requests,
    requestedPe: named('requested_pe'),
    grantedPe: named('granted_pe'),
    cpuSeconds: parsePrintedNumber(text('cpu_usage')),
    memoryGbSeconds: parsePrintedNumber(text('mem_usage')),
    ioGb: parsePrintedNumber(text('io_usage')),
  };
}
