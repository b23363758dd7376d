import type { JsonHandler, JsonValue } from '../json/scan';
import { parseReportTime } from '../report-time';
import {
  addMessage,
  addPredecessor,
  addUsage,
  finishJob,
  newJob,
  newTask,
  type JobDraft,
  type TaskDraft,
} from './detail-builder';
import type { JobDetail } from './job-detail';
import { parseSlotRanges } from './slot-ranges';

const RESOURCE_LIST = /^(?:(master|slave|global)_)?(hard|soft)_resource_list$/;

/**
 * `qstat -j LIST -fmt json` of Open Cluster Scheduler 9.2 (its ocs-qstat-job.schema.json): `jobs[]` with `array_tasks[]`.
 * It says less than its XML: the usage of a task is the sum with its PE tasks, without rss, in six digits (`maxvmem` of
 * 2147483648 reads 2.14748e+09); the state is letters, not JAT_status. Amounts of requests are numbers without a text.
 */
export function jobDetailJson(onJob: (job: JobDetail) => void): JsonHandler {
  /** Keys of what is open: `jobs`, a job, and from there. */
  const path: string[] = [];
  let job: JobDraft | null = null;
  let task: TaskDraft | null = null;
  let structure: number[] = [];

  const inJob = (): boolean => path[1] === 'jobs';

  function open(key: string): void {
    path.push(key);
    if (!inJob()) return;
    if (path.length === 3) job = newJob(0);
    else if (job !== null && path.length === 5 && key === '') {
      const list = path[3] ?? '';
      if (list === 'array_tasks') {
        task = newTask(1);
        job.tasks.push(task);
      } else openRequest(job, list);
    } else if (path.length === 4) structure = [];
  }

  function close(): void {
    if (inJob() && path.length === 4 && path[3] === 'job_array_tasks' && structure.some((end) => end !== 1))
      if (job !== null) job.array = true;
    if (inJob() && path.length === 5) task = null;
    if (inJob() && path.length === 3) {
      if (job !== null && job.job > 0) onJob(finishJob(job));
      job = null;
    }
    path.pop();
  }

  function value(key: string, found: JsonValue): void {
    if (job === null || !inJob()) return;
    const [, , , list = '', inList = '', inTask = ''] = path;
    if (path.length === 3) jobValue(job, key, found);
    else if (list === 'array_tasks') {
      if (task === null) return;
      if (path.length === 5) taskValue(task, key, found);
      else if (path.length === 6 && inTask === 'usage') addUsage(task, 1, key, found.number());
      else if (path.length === 6 && inTask === 'error_reason') addMessage(job, found.text());
    } else if (path.length === 4) {
      if (list === 'pe') peValue(job, key, found);
      else if (list === 'jid_predecessor_list') addPredecessor(job, found.number());
      else if (list === 'scheduling_info') addMessage(job, found.text());
      else if (list === 'job_array_tasks' && key !== 'step') structure.push(found.number());
    } else if (path.length === 5) {
      if (list === 'ownership' && inList === 'primary') ownerValue(job, key, found);
      else if (RESOURCE_LIST.test(list)) requestValue(job, key, found);
    }
  }

  return { open, close, value };
}

function jobValue(job: JobDraft, key: string, found: JsonValue): void {
  switch (key) {
    case 'job_number':
      if (Number.isSafeInteger(found.number())) job.job = found.number();
      break;
    case 'job_name':
      job.name = found.text();
      break;
    case 'account':
    case 'project':
    case 'department':
      job[key] = found.text() || null;
      break;
    case 'submit_cmd_line':
      job.submitCommand = found.text() || null;
      break;
    case 'submission_time':
      job.submittedAt = parseReportTime(found.text());
      break;
    default:
  }
}

function ownerValue(job: JobDraft, key: string, found: JsonValue): void {
  if (key === 'owner') job.owner = found.text();
  else if (key === 'uid') job.uid = found.text();
  else if (key === 'group') job.group = found.text() || null;
}

function peValue(job: JobDraft, key: string, found: JsonValue): void {
  if (key === 'name') job.pe = found.text() || null;
  else if (key === 'range') job.peRange.push(...parseSlotRanges(found.text()));
}

function taskValue(task: TaskDraft, key: string, found: JsonValue): void {
  if (key === 'task_id') task.task = Number.isSafeInteger(found.number()) ? found.number() : 1;
  else if (key === 'start_time') task.startedAt = parseReportTime(found.text());
}

function openRequest(job: JobDraft, list: string): void {
  const match = RESOURCE_LIST.exec(list);
  if (match === null) return;
  const kind = match[2] === 'soft' ? 'soft' : 'hard';
  const scope = match[1] === 'master' || match[1] === 'slave' ? match[1] : null;
  const request = { complex: '', value: '', kind, amount: null } as const;
  job.requests.push(scope === null ? request : { ...request, scope });
}

function requestValue(job: JobDraft, key: string, found: JsonValue): void {
  const request = job.requests.at(-1);
  if (request === undefined) return;
  if (key === 'name') request.complex = found.text();
  else if (key === 'value') {
    request.value = found.text();
    if (request.value === 'INFINITY') request.amount = Infinity;
    else if (request.value === 'true' || request.value === 'false') request.amount = Number(request.value === 'true');
    else if (!found.isString) request.amount = Number.isNaN(found.number()) ? null : found.number();
  }
}
