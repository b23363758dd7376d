import { parsePrintedCount, parsePrintedNumber } from '../printed-number';
import { parseReportTime } from '../report-time';
import type { ListedJob, RequestText } from './job-list';

/** The scalars of a row, by their tags in the XML. */
const scalars = [
  'JB_job_number',
  'JAT_prio',
  'JB_name',
  'full_job_name',
  'JB_owner',
  'JB_project',
  'JB_department',
  'state',
  'JAT_start_time',
  'JB_submission_time',
  'JAT_submission_time',
  'queue_name',
  'master',
  'slots',
  'tasks',
  'requested_pe',
  'requested_slots',
  'granted_pe',
  'cpu_usage',
  'mem_usage',
  'io_usage',
] as const;

type Scalar = (typeof scalars)[number];

/** Where each stands in a row: numbers, because a hundred thousand rows of twenty are looked up by them. */
const at = Object.fromEntries(scalars.map((tag, index) => [tag, index])) as Readonly<Record<Scalar, number>>;

/** The place of a tag in a row, for `value`; undefined: it is none that is kept. */
export const scalarPlaces: ReadonlyMap<string, number> = new Map(scalars.map((tag) => [tag, at[tag]]));

/**
 * Puts one row of qstat's lists together from its parts, in whatever order the dialect prints them. Of a scalar that
 * comes twice the first counts: with `-t` the sub-tasks of a job may stand in it without a wrapper of their own, and
 * they come after the job's own values.
 */
export interface JobBuilder {
  /** `list`: `running`, `pending` ...; `queueInstance`: of the `Queue-List` around it (with `-f`), null without one. */
  open(list: string, queueInstance: string | null): void;
  /** A scalar by its place (`scalarPlaces`); of a PE, its name. */
  value(place: number, text: string): void;
  request(request: RequestText): void;
  /** The row is whole. */
  close(): void;
}

/** Rows without a job number go nowhere. */
export function jobBuilder(onJob: (job: ListedJob) => void): JobBuilder {
  const values = scalars.map(() => '');
  let list = '';
  let around: string | null = null;
  let requests: RequestText[] = [];
  let isOpen = false;
  return {
    open(name, queueInstance) {
      values.fill('');
      list = name;
      around = queueInstance;
      requests = [];
      isOpen = true;
    },
    value(place, text) {
      if (values[place] === '') values[place] = text;
    },
    request(request) {
      requests.push(request);
    },
    close() {
      const job = isOpen ? finish(values, list, around, requests) : null;
      isOpen = false;
      if (job !== null) onJob(job);
    },
  };
}

function finish(
  values: readonly string[],
  list: string,
  around: string | null,
  requests: readonly RequestText[],
): ListedJob | null {
  const text = (place: number): string => values[place] ?? '';
  const job = parsePrintedCount(text(at.JB_job_number));
  if (job === null || job === 0) return null;
  const role = text(at.master).trim();
  return {
    job,
    tasks: text(at.tasks) || null,
    name: text(at.full_job_name) || text(at.JB_name),
    owner: text(at.JB_owner),
    project: text(at.JB_project) || null,
    department: text(at.JB_department) || null,
    state: text(at.state),
    list,
    priority: parsePrintedNumber(text(at.JAT_prio)),
    startedAt: parseReportTime(text(at.JAT_start_time)),
    submittedAt: parseReportTime(text(at.JB_submission_time) || text(at.JAT_submission_time)),
    queueInstance: text(at.queue_name) || around,
    role: role === 'MASTER' || role === 'SLAVE' ? role : '',
    slots: parsePrintedCount(text(at.slots)),
    requests,
    requestedPe: text(at.requested_pe) || null,
    requestedSlots: text(at.requested_slots) || null,
    grantedPe: text(at.granted_pe) || null,
    cpuSeconds: parsePrintedNumber(text(at.cpu_usage)),
    memoryGbSeconds: parsePrintedNumber(text(at.mem_usage)),
    ioGb: parsePrintedNumber(text(at.io_usage)),
  };
}
