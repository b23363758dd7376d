import type { AnswerReader } from '../reading';
import { readXmlAnswer } from '../xml/xml-answer';
import type { ListedJob } from './job-list';
import type { XmlHandler, XmlContent } from '../xml/scan';
import { jobBuilder, scalarPlaces, type JobBuilder } from './job-builder';
import type { RequestText } from './job-list';

/**
 * Reads qstat's lists (`qstat [-u ...] [-s ...] [-r] [-ext] [-urg] [-f] [-F] [-t] [-g t|d] -xml`) of any dialect; rows
 * come in the order of the answer. `-ext` alone drops both times: `-urg` beside it brings them back.
 */
export function readJobList(onJob: (job: ListedJob) => void): AnswerReader {
  return readXmlAnswer('job_info', jobListXml(jobBuilder(onJob)));
}

type RequestKind = Pick<RequestText, 'kind' | 'scope'>;

/** What a child of `job_list` is to us. */
interface Child {
  /** Of a scalar. */
  readonly place: number;
  /** Of a request. */
  readonly request: RequestKind | null;
  /** Its attribute `name` counts: of a PE it is the value, of a request the complex. */
  readonly named: boolean;
  /** Where the text of a PE goes, which is a number of slots; -1: nowhere. */
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
  ...[...scalarPlaces].map(([tag, place]) => {
    const slots = tag === 'requested_pe' ? (scalarPlaces.get('requested_slots') ?? -1) : -1;
    return [tag, { place, request: null, named: tag.endsWith('_pe'), slots }] as const;
  }),
  ...requests.map(([tag, request]) => [tag, { place: -1, request, named: true, slots: -1 }] as const),
]);

/**
 * qstat's lists: `job_list[state]` in `queue_info`, in its `Queue-List` (with `-f`: that one's `name` is the queue
 * instance) or in the inner `job_info`. Only children of `job_list` count, not what lies deeper (`-t`), and `job_info`
 * and `queue_info` are not looked at: the first is used twice, and neither says more than the attribute.
 */
function jobListXml(jobs: JobBuilder): XmlHandler {
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
      jobs.open(content.attribute('state') ?? '', queueInstance);
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

  function closeChild({ place, request, named, slots }: Child, source: XmlContent): void {
    if (request !== null) jobs.request({ complex: name, value: source.text(), ...request });
    else jobs.value(place, named ? name : notBlank(source.text()));
    if (slots >= 0) jobs.value(slots, source.text());
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
        jobs.close();
        inJob = false;
      } else {
        if (depth === 1 && child !== undefined) closeChild(child, place);
        if (depth > 0) depth -= 1;
      }
    },
  };
}

/** What is left at the end of an element that holds others is the line feed before its end. */
function notBlank(text: string): string {
  return text.startsWith('\n') ? text.trim() : text;
}
