import type { AnswerReader } from '../reading';
import { parsePrintedCount, parsePrintedNumber } from '../printed-number';
import { parseReportTime } from '../report-time';
import type { XmlHandler, XmlContent } from '../xml/scan';
import { readXmlAnswer } from '../xml/xml-answer';
import type { ListedJob, RequestText } from './job-list';

/**
 * Reads qstat's lists (`qstat [-u ...] [-s ...] [-r] [-ext] [-urg] [-f] [-F] [-t] [-g t|d] -xml`) of any dialect; rows
 * come in the order of the answer, rows without a job number are left out. `-ext` alone drops both times: `-urg` beside
 * it brings them back.
 */
export function readJobList(onJob: (job: ListedJob) => void): AnswerReader {
  return readXmlAnswer('job_info', jobListXml(onJob));
}

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

/**
 * The place of each scalar in a row: numbers, since a hundred thousand rows of twenty scalars are looked up by them.
 */
const at = Object.fromEntries(scalars.map((tag, index) => [tag, index])) as Readonly<Record<Scalar, number>>;

type RequestKind = Pick<RequestText, 'kind' | 'scope'>;

/** How a child of `job_list` is read. */
interface Child {
  /** The place of a scalar; -1: it is none. */
  readonly place: number;
  /** The kind of a request; null: it is none. */
  readonly request: RequestKind | null;
  /** Its attribute `name` counts: for a PE it is the value, for a request the complex. */
  readonly named: boolean;
  /** The place of a PE's text, which is a number of slots; -1: nowhere. */
  readonly slots: number;
}

const requests: readonly (readonly [string, RequestKind])[] = [
  ['hard_request', { kind: 'hard' }],
  ['soft_request', { kind: 'soft' }],
  ['def_hard_request', { kind: 'default' }],
  ['master_hard_request', { kind: 'hard', scope: 'master' }],
  ['master_soft_request', { kind: 'soft', scope: 'master' }],
  ['slave_hard_request', { kind: 'hard', scope: 'slave' }],
  ['slave_soft_request', { kind: 'soft', scope: 'slave' }],
];

const children: ReadonlyMap<string, Child> = new Map<string, Child>([
  ...scalars.map((tag) => {
    const slots = tag === 'requested_pe' ? at.requested_slots : -1;
    return [tag, { place: at[tag], request: null, named: tag.endsWith('_pe'), slots }] as const;
  }),
  ...requests.map(([tag, request]) => [tag, { place: -1, request, named: true, slots: -1 }] as const),
]);

/**
 * qstat's lists: `job_list[state]` in `queue_info`, in its `Queue-List` (with `-f`: that one's `name` is the queue
 * instance) or in the inner `job_info`. Only children of `job_list` count, not what lies deeper (`-t`), and `job_info`
 * and `queue_info` are not looked at: the first is used twice, and neither says more than the attribute. Of a scalar
 * that comes twice the first counts: with `-t` the sub-tasks of a job may stand in it without a wrapper of their own,
 * and they come after the job's own values.
 */
function jobListXml(onJob: (job: ListedJob) => void): XmlHandler {
  const values = scalars.map(() => '');
  let list = '';
  let asked: RequestText[] = [];
  let queueInstance: string | null = null;
  let inQueue = false;
  let inJob = false;
  let depth = 0;
  let child: Child | undefined;
  let name = '';

  function openOutside(tag: string, content: XmlContent): void {
    if (tag === 'job_list') {
      inJob = true;
      depth = 0;
      values.fill('');
      list = content.attribute('state') ?? '';
      asked = [];
    } else if (tag === 'Queue-List') {
      inQueue = true;
      queueInstance = null;
    }
  }

  function closeOutside(tag: string, content: XmlContent): void {
    if (tag === 'Queue-List') {
      inQueue = false;
      queueInstance = null;
    } else if (inQueue && tag === 'name') queueInstance = content.text();
  }

  function keep(place: number, text: string): void {
    if (values[place] === '') values[place] = text;
  }

  function closeChild({ place, request, named, slots }: Child, source: XmlContent): void {
    if (request !== null) asked.push({ complex: name, value: source.text(), ...request });
    else keep(place, named ? name : notBlank(source.text()));
    if (slots >= 0) keep(slots, source.text());
  }

  return {
    open(tag, place) {
      if (!inJob || tag === 'job_list') openOutside(tag, place);
      else if (++depth === 1) {
        child = children.get(tag);
        if (child?.named === true) name = place.attribute('name') ?? '';
      }
    },
    close(tag, place) {
      if (!inJob) closeOutside(tag, place);
      else if (tag === 'job_list') {
        inJob = false;
        const job = finish(values, list, queueInstance, asked);
        if (job !== null) onJob(job);
      } else {
        if (depth === 1 && child !== undefined) closeChild(child, place);
        if (depth > 0) depth -= 1;
      }
    },
  };
}

/** At the end of an element that holds others, its text is only the line feed before its end. */
function notBlank(text: string): string {
  return text.startsWith('\n') ? text.trim() : text;
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
