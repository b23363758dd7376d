import type { XmlHandler, XmlPlace } from '../xml/scan';
import { scalarPlaces, type JobBuilder } from './job-builder';
import type { RequestText } from './job-list';

const requests: ReadonlyMap<string, Pick<RequestText, 'kind' | 'scope'>> = new Map([
  ['hard_request', { kind: 'hard' }],
  ['soft_request', { kind: 'soft' }],
  ['def_hard_request', { kind: 'default' }],
  ['master_hard_request', { kind: 'hard', scope: 'master' }],
  ['master_soft_request', { kind: 'soft', scope: 'master' }],
  ['slave_hard_request', { kind: 'hard', scope: 'slave' }],
  ['slave_soft_request', { kind: 'soft', scope: 'slave' }],
]);

/**
 * qstat's lists: `job_list[state]` in `queue_info`, in its `Queue-List` (with `-f`: that one's `name` is the queue
 * instance) or in the inner `job_info`. Only children of `job_list` count, not what lies deeper (`-t`), and `job_info`
 * and `queue_info` are not looked at: the first is used twice, and neither says more than the attribute.
 */
export function jobListXml(jobs: JobBuilder): XmlHandler {
  let queueInstance: string | null = null;
  let inQueue = false;
  let inJob = false;
  let depth = 0;
  let name = '';

  function openOutside(tag: string, place: XmlPlace): void {
    if (tag === 'job_list') {
      inJob = true;
      depth = 0;
      jobs.open(place.attribute('state') ?? '', queueInstance);
    } else if (tag === 'Queue-List') {
      inQueue = true;
      queueInstance = null;
    }
  }

  function closeOutside(tag: string, place: XmlPlace): void {
    if (tag === 'Queue-List') {
      inQueue = false;
      queueInstance = null;
    } else if (inQueue && tag === 'name') queueInstance = place.text();
  }

  function closeChild(tag: string, place: XmlPlace): void {
    const scalar = scalarPlaces.get(tag);
    if (scalar !== undefined) jobs.value(scalar, isPe(tag) ? name : notBlank(place.text()));
    else {
      const request = requests.get(tag);
      if (request !== undefined) jobs.request({ complex: name, value: place.text(), ...request });
    }
  }

  return {
    open(tag, place) {
      if (!inJob || tag === 'job_list') openOutside(tag, place);
      else {
        depth += 1;
        if (depth === 1 && (isPe(tag) || requests.has(tag))) name = place.attribute('name') ?? '';
      }
    },
    close(tag, place) {
      if (!inJob) closeOutside(tag, place);
      else if (tag === 'job_list') {
        jobs.close();
        inJob = false;
      } else {
        if (depth === 1) closeChild(tag, place);
        if (depth > 0) depth -= 1;
      }
    },
  };
}

function isPe(tag: string): boolean {
  return tag === 'requested_pe' || tag === 'granted_pe';
}

/** What is left at the end of an element that holds others is the line feed before its end. */
function notBlank(text: string): string {
  return text.startsWith('\n') ? text.trim() : text;
}
