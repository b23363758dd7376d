import type { XmlHandler, XmlPlace } from '../xml/scan';
import type { JobBuilder } from './job-builder';
import type { RequestText } from './job-list';

const scalars: ReadonlySet<string> = new Set([
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
  'cpu_usage',
  'mem_usage',
  'io_usage',
]);

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

  function openRow(place: XmlPlace): void {
    inJob = true;
    depth = 0;
    jobs.open(place.attribute('state') ?? '', queueInstance);
  }

  function value(tag: string, place: XmlPlace): void {
    if (scalars.has(tag)) jobs.value(tag, place.text());
    else if (tag === 'requested_pe' || tag === 'granted_pe') jobs.value(tag, name);
    else {
      const request = requests.get(tag);
      if (request !== undefined) jobs.request({ complex: name, value: place.text(), ...request });
    }
  }

  return {
    open(tag, place) {
      if (tag === 'job_list') openRow(place);
      else if (inJob) {
        depth += 1;
        if (depth === 1 && !scalars.has(tag)) name = place.attribute('name') ?? '';
      } else if (tag === 'Queue-List') {
        inQueue = true;
        queueInstance = null;
      }
    },
    close(tag, place) {
      if (tag === 'job_list') {
        if (inJob) jobs.close();
        inJob = false;
      } else if (inJob) {
        if (depth === 1) value(tag, place);
        if (depth > 0) depth -= 1;
      } else if (tag === 'Queue-List') {
        inQueue = false;
        queueInstance = null;
      } else if (inQueue && tag === 'name') queueInstance = place.text();
    },
  };
}
