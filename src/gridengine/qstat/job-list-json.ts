import type { JsonHandler } from '../json/scan';
import { scalarPlaces, type JobBuilder, type Scalar } from './job-builder';
import type { RequestText } from './job-list';

/** The tags of the XML for the keys of the JSON. */
const tags: ReadonlyMap<string, Scalar> = new Map([
  ['job_number', 'JB_job_number'],
  ['prio', 'JAT_prio'],
  ['name', 'JB_name'],
  ['owner', 'JB_owner'],
  ['project', 'JB_project'],
  ['department', 'JB_department'],
  ['state', 'state'],
  ['start_time', 'JAT_start_time'],
  ['submission_time', 'JB_submission_time'],
  ['queue_name', 'queue_name'],
  ['master', 'master'],
  ['slots', 'slots'],
  ['tasks', 'tasks'],
  ['cpu_usage', 'cpu_usage'],
  ['mem_usage', 'mem_usage'],
  ['io_usage', 'io_usage'],
]);

/** `global_hard_request`, `master_soft_request` ..., `default_hard_request`. */
const requestKey = /^(?:(global|master|slave)_(hard|soft)|(default)_hard)_request$/;

type Place = 'root' | 'queues' | 'queue' | 'list' | 'job' | 'section' | 'element' | 'other';

/** What an object or array is, by what it stands in and its key (none: an element of an array). */
function placeOf(around: Place | undefined, key: string): Place {
  if (around === undefined) return 'root';
  if ((around === 'root' || around === 'queue') && key.startsWith('jobs_')) return 'list';
  if (around === 'root' && key === 'queues') return 'queues';
  if (around === 'job') return 'section';
  if (key !== '') return 'other';
  if (around === 'queues') return 'queue';
  if (around === 'list') return 'job';
  return around === 'section' ? 'element' : 'other';
}

/**
 * qstat's lists with `-fmt json` of Open Cluster Scheduler 9.2: `jobs_running`, `jobs_pending` ... at the top or, with
 * `-f`, the former in each of `queues`, whose `name` is the queue instance.
 */
export function jobListJson(jobs: JobBuilder): JsonHandler {
  const around: Place[] = [];
  let queueInstance: string | null = null;
  let list = '';
  let section = '';
  let name = '';
  let requested = '';

  function open(place: Place, key: string): void {
    if (place === 'queue') queueInstance = null;
    else if (place === 'list') list = key.slice('jobs_'.length);
    else if (place === 'job') jobs.open(list, queueInstance);
    else if (place === 'section') section = key;
    else if (place === 'element') name = requested = '';
  }

  function scalar(tag: Scalar | undefined, text: string): void {
    const place = tag === undefined ? undefined : scalarPlaces.get(tag);
    if (place !== undefined) jobs.value(place, text);
  }

  function closeElement(): void {
    const kind = requestKind(section);
    if (kind !== null && name !== '') jobs.request({ complex: name, value: requested, ...kind });
  }

  return {
    open(key) {
      const place = placeOf(around.at(-1), key);
      around.push(place);
      open(place, key);
    },
    close() {
      const place = around.pop();
      if (place === 'job') jobs.close();
      else if (place === 'element') closeElement();
      else if (place === 'queue') queueInstance = null;
    },
    value(key, value) {
      const place = around.at(-1);
      if (place === 'job') scalar(tags.get(key), value.text());
      else if (place === 'element') {
        if (key === 'name') name = value.text();
        else if (key === 'value') requested = value.text();
      } else if (place === 'section' && key === 'pe_name') {
        if (section === 'requested_pe' || section === 'granted_pe') scalar(section, value.text());
      } else if (place === 'queue' && key === 'name') queueInstance = value.text();
    },
  };
}

function requestKind(section: string): Pick<RequestText, 'kind' | 'scope'> | null {
  const match = requestKey.exec(section);
  if (match === null) return null;
  const [, scope, kind] = match;
  if (kind !== 'hard' && kind !== 'soft') return { kind: 'default' };
  return scope === 'master' || scope === 'slave' ? { kind, scope } : { kind };
}
