import { epochToMs } from '../epoch-time';
import type { XmlHandler, XmlPlace } from '../xml/scan';
import {
  addMessage,
  addUsage,
  finishJob,
  newJob,
  newPeTask,
  newTask,
  oneLine,
  type JobDraft,
  type PeTaskDraft,
  type RequestDraft,
  type TaskDraft,
} from './detail-builder';
import type { JobDetail, SchedulerReason } from './job-detail';

/** A list that the meaning of the values in it depends on. */
type Section =
  | { readonly of: 'request'; readonly kind: 'hard' | 'soft' }
  | { readonly of: 'usage'; readonly rank: number }
  | { readonly of: 'peRange' | 'structure' | 'granted' | 'ignored' };

const SECTIONS: readonly (readonly [string, Section])[] = [
  ['JB_hard_resource_list', { of: 'request', kind: 'hard' }],
  ['JB_soft_resource_list', { of: 'request', kind: 'soft' }],
  ['JRS_hard_resource_list', { of: 'request', kind: 'hard' }],
  ['JRS_soft_resource_list', { of: 'request', kind: 'soft' }],
  ['JB_pe_range', { of: 'peRange' }],
  ['JB_ja_structure', { of: 'structure' }],
  ['JAT_scaled_usage_list', { of: 'usage', rank: 3 }],
  ['JAT_reported_usage_list', { of: 'usage', rank: 2 }],
  ['JAT_usage_list', { of: 'usage', rank: 1 }],
  ['PET_scaled_usage', { of: 'usage', rank: 3 }],
  ['PET_reported_usage', { of: 'usage', rank: 2 }],
  ['PET_usage', { of: 'usage', rank: 1 }],
  // Of runs before this one.
  ['JAT_previous_usage_list', { of: 'ignored' }],
  ['PET_previous_usage', { of: 'ignored' }],
  ['PET_granted_destin_identifier_list', { of: 'granted' }],
];

/** JB_type (sge_job.h). */
const TYPE_ARRAY = 0x80;
/** CE_valtype of STR, CSTR, HOST and RESTR (sge_centry.h), whose CE_doubleval says nothing. */
const STRING_TYPES: ReadonlySet<number> = new Set([2, 6, 7, 9]);
/** Infinity is DBL_MAX, printed with its 309 digits. */
const INFINITE = 1e300;
/** Job ids kept of one of the scheduler's reasons. */
const IDS_LIMIT = 1_000_000;

/** Where in the document we are. */
interface Reading {
  readonly onJob: (job: JobDetail) => void;
  readonly onReason: (reason: SchedulerReason) => void;
  section: Section | null;
  job: JobDraft | null;
  /** Of the request set at hand. */
  scope: 'master' | 'slave' | null;
  request: RequestDraft | null;
  requestIsString: boolean;
  /** Ends of the ranges of JB_ja_structure. */
  structure: number[];
  inTasks: boolean;
  task: TaskDraft | null;
  hasTaskNumber: boolean;
  inPeTasks: boolean;
  peTask: PeTaskDraft | null;
  usageName: string;
  reason: { text: string | null; readonly jobs: number[] } | null;
}

type Leaf = (reading: Reading, place: XmlPlace) => void;

/**
 * `qstat -j LIST -xml` of every dialect. Their writers call the elements of lists by different names, by none, or leave
 * them out, so only attributes (`JB_...`, `CE_...`) and the lists of SECTIONS are looked at: a UA_value belongs to the
 * last UA_name, and an attribute that the record at hand has already opens the next record.
 */
export function jobDetailXml(onJob: (job: JobDetail) => void, onReason: (reason: SchedulerReason) => void): XmlHandler {
  const reading: Reading = {
    onJob,
    onReason,
    section: null,
    job: null,
    scope: null,
    request: null,
    requestIsString: false,
    structure: [],
    inTasks: false,
    task: null,
    hasTaskNumber: false,
    inPeTasks: false,
    peTask: null,
    usageName: '',
    reason: null,
  };
  return {
    open(name) {
      const open = OPENED.get(name);
      if (open !== undefined) open(reading);
    },
    close(name, place) {
      const close = CLOSED.get(name);
      if (close !== undefined) close(reading, place);
    },
  };
}

function openSection(reading: Reading, section: Section): void {
  reading.section = section;
  reading.request = null;
  reading.usageName = '';
  reading.structure = [];
}

function closeSection(reading: Reading, section: Section): void {
  if (reading.section !== section) return;
  const { job, structure } = reading;
  if (section.of === 'structure' && job !== null && structure.some((end) => end !== 1)) job.array = true;
  reading.section = null;
  reading.request = null;
}

function endJob(reading: Reading): void {
  const { job } = reading;
  reading.job = null;
  reading.section = null;
  reading.scope = null;
  endTasks(reading);
  if (job !== null) reading.onJob(finishJob(job));
}

function endTasks(reading: Reading): void {
  reading.inTasks = reading.inPeTasks = reading.hasTaskNumber = false;
  reading.task = reading.peTask = null;
}

function endReason(reading: Reading): void {
  const { reason } = reading;
  reading.reason = null;
  if (reason !== null && reason.text !== null && reason.text !== '')
    reading.onReason({ text: reason.text, jobs: reason.jobs });
}

/** Lists that hold other lists, and where records end at the latest. */
const LISTS: readonly (readonly [
  string,
  { readonly open: (at: Reading) => void; readonly close: (at: Reading) => void },
])[] = [
  [
    'JB_ja_tasks',
    {
      open: (reading) => {
        endTasks(reading);
        reading.inTasks = reading.job !== null;
      },
      close: endTasks,
    },
  ],
  [
    'JAT_task_list',
    {
      open: (reading) => {
        reading.inPeTasks = reading.task !== null;
        reading.peTask = null;
      },
      close: (reading) => {
        reading.inPeTasks = false;
        reading.peTask = null;
      },
    },
  ],
  [
    'JB_request_set_list',
    {
      open: (reading) => {
        reading.scope = null;
      },
      close: (reading) => {
        reading.scope = null;
      },
    },
  ],
  ['djob_info', { open: endJob, close: endJob }],
  ['MES_job_number_list', { open: openReason, close: nothing }],
  ['SME_message_list', { open: endReason, close: endReason }],
  ['SME_global_message_list', { open: endReason, close: endReason }],
  [
    'detailed_job_info',
    {
      open: nothing,
      close: (reading) => {
        endJob(reading);
        endReason(reading);
      },
    },
  ],
];

function nothing(): void {
  // This end of the list says nothing.
}

function openReason(reading: Reading): void {
  if (reading.reason?.jobs.length !== 0) endReason(reading);
  reading.reason ??= { text: null, jobs: [] };
}

const JOB: readonly (readonly [string, (job: JobDraft, place: XmlPlace) => void])[] = [
  ['JB_job_name', (job, place) => (job.name = place.text())],
  ['JB_owner', (job, place) => (job.owner = place.text())],
  ['JB_uid', (job, place) => (job.uid = place.text().trim())],
  ['JB_group', (job, place) => (job.group = textOrNull(place))],
  ['JB_project', (job, place) => (job.project = textOrNull(place))],
  ['JB_department', (job, place) => (job.department = textOrNull(place))],
  ['JB_account', (job, place) => (job.account = textOrNull(place))],
  ['JB_submission_time', (job, place) => (job.submittedAt = epochToMs(place.text().trim()))],
  ['JB_pe', (job, place) => (job.pe = textOrNull(place))],
  ['JB_type', (job, place) => (job.array ||= Math.floor(place.number() / TYPE_ARRAY) % 2 === 1)],
  ['JB_is_array', (job, place) => (job.array ||= place.text().trim() === 'true')],
  ['QIM_message', (job, place) => addMessage(job, place.text())],
];

const REQUEST: readonly (readonly [string, Leaf])[] = [
  [
    'JRS_scope',
    (reading, place) => {
      const scope = place.number();
      reading.scope = scope === 1 ? 'master' : scope === 2 ? 'slave' : null;
    },
  ],
  [
    'CE_name',
    (reading, place) => {
      const { job, section, scope } = reading;
      if (job === null || section?.of !== 'request') return;
      reading.request = { complex: place.text(), value: '', kind: section.kind, amount: null };
      if (scope !== null) reading.request.scope = scope;
      reading.requestIsString = false;
      job.requests.push(reading.request);
    },
  ],
  [
    'CE_valtype',
    (reading, place) => {
      reading.requestIsString = STRING_TYPES.has(place.number());
    },
  ],
  [
    'CE_stringval',
    (reading, place) => {
      if (reading.request !== null) reading.request.value = place.text();
    },
  ],
  [
    'CE_doubleval',
    (reading, place) => {
      const amount = place.number();
      if (reading.request === null || reading.requestIsString || Number.isNaN(amount)) return;
      reading.request.amount = amount > INFINITE ? Infinity : amount;
    },
  ],
];

const RANGE: readonly (readonly [string, Leaf])[] = [
  [
    'RN_min',
    ({ job, section, structure }, place) => {
      const least = count(place);
      if (section?.of === 'peRange') job?.peRange.push({ least, most: least, step: 1 });
      else if (section?.of === 'structure') structure.push(least);
    },
  ],
  [
    'RN_max',
    ({ job, section, structure }, place) => {
      const range = section?.of === 'peRange' ? job?.peRange.at(-1) : undefined;
      if (range !== undefined) range.most = count(place);
      else if (section?.of === 'structure') structure.push(count(place));
    },
  ],
  [
    'RN_step',
    ({ job, section }, place) => {
      const range = section?.of === 'peRange' ? job?.peRange.at(-1) : undefined;
      if (range !== undefined) range.step = Math.max(1, count(place));
    },
  ],
];

const TASK: readonly (readonly [string, Leaf])[] = [
  [
    'JAT_status',
    (reading, place) => {
      const task = reading.task?.status === null ? reading.task : openTask(reading, 1, false);
      if (task !== null) task.status = count(place);
    },
  ],
  [
    'JAT_task_number',
    (reading, place) => {
      if (reading.task === null || reading.hasTaskNumber) openTask(reading, count(place), true);
      else {
        reading.task.task = count(place);
        reading.hasTaskNumber = true;
      }
    },
  ],
  [
    'JAT_start_time',
    ({ task }, place) => {
      if (task !== null) task.startedAt = epochToMs(place.text().trim());
    },
  ],
  [
    'PET_id',
    (reading, place) => {
      if (reading.task === null || !reading.inPeTasks) return;
      reading.peTask = newPeTask(place.text().trim());
      reading.task.peTasks.push(reading.peTask);
    },
  ],
  [
    'JG_qhostname',
    ({ peTask, section }, place) => {
      if (peTask !== null && section?.of === 'granted') peTask.host = textOrNull(place) ?? peTask.host;
    },
  ],
  [
    'UA_name',
    (reading, place) => {
      reading.usageName = place.text();
    },
  ],
  [
    'UA_value',
    ({ task, peTask, inPeTasks, section, usageName }, place) => {
      const record = inPeTasks ? peTask : task;
      if (record === null || section?.of === 'ignored') return;
      addUsage(record, section?.of === 'usage' ? section.rank : 1, usageName, place.number());
    },
  ],
];

const REASON: readonly (readonly [string, Leaf])[] = [
  ['ULNG_value', reasonJob],
  ['ULNG', reasonJob],
  [
    'MES_message',
    (reading, place) => {
      if (reading.reason !== null && reading.reason.text !== null) endReason(reading);
      reading.reason ??= { text: null, jobs: [] };
      reading.reason.text = oneLine(place.text());
    },
  ],
];

const OPENED: ReadonlyMap<string, (reading: Reading) => void> = new Map<string, (reading: Reading) => void>([
  ...SECTIONS.map(([name, section]): [string, (reading: Reading) => void] => [
    name,
    (reading) => openSection(reading, section),
  ]),
  ...LISTS.map(([name, { open }]): [string, (reading: Reading) => void] => [name, open]),
]);

const CLOSED: ReadonlyMap<string, Leaf> = new Map<string, Leaf>([
  ...SECTIONS.map(([name, section]): [string, Leaf] => [name, (reading) => closeSection(reading, section)]),
  ...LISTS.map(([name, { close }]): [string, Leaf] => [name, close]),
  ...JOB.map(([name, leaf]): [string, Leaf] => [
    name,
    ({ job }, place) => {
      if (job !== null) leaf(job, place);
    },
  ]),
  ...REQUEST,
  ...RANGE,
  ...TASK,
  ...REASON,
  [
    'JB_job_number',
    (reading, place) => {
      endJob(reading);
      const number = count(place);
      if (number > 0) reading.job = newJob(number);
    },
  ],
]);

function openTask(reading: Reading, number: number, isNumber: boolean): TaskDraft | null {
  if (reading.job === null || !reading.inTasks) return null;
  reading.task = newTask(number);
  reading.job.tasks.push(reading.task);
  reading.peTask = null;
  reading.hasTaskNumber = isNumber;
  return reading.task;
}

function reasonJob({ reason }: Reading, place: XmlPlace): void {
  const number = count(place);
  if (reason !== null && number > 0 && reason.jobs.length < IDS_LIMIT) reason.jobs.push(number);
}

function textOrNull(place: XmlPlace): string | null {
  const text = place.text();
  return text.trim() === '' ? null : text;
}

function count(place: XmlPlace): number {
  const number = place.number();
  return Number.isSafeInteger(number) && number >= 0 ? number : 0;
}
