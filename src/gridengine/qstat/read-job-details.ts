import { withoutSecrets } from '../qsub-options';
import type { AnswerReader } from '../reading';
import { readXmlAnswer } from '../xml/xml-answer';
import { epochToMs } from '../epoch-time';
import { parseReportTime } from '../report-time';
import type { XmlHandler, XmlContent } from '../xml/scan';
import {
  addMessage,
  addPredecessor,
  addUsage,
  finishJob,
  newJob,
  newPeTask,
  newTask,
  oneLine,
  type JobDraft,
  type PeTaskDraft,
  type PredecessorList,
  type RequestDraft,
  type TaskDraft,
} from './detail-builder';
import type { JobDetail, SchedulerReason } from './job-detail';

/**
 * Reads `qstat -j LIST -xml` of any dialect. A job is handed over when its record is complete, so that only one job is
 * in memory; a job in which the answer is cut is not handed over. The scheduler's reasons, which stand behind all jobs,
 * go to `onReason`.
 */
export function readJobDetails(
  onJob: (job: JobDetail) => void,
  onReason: (reason: SchedulerReason) => void = () => undefined,
): AnswerReader {
  return readXmlAnswer('detailed_job_info', jobDetailXml(onJob, onReason));
}

/** A list that decides what the values in it mean. */
type Section =
  | { readonly of: 'request'; readonly kind: 'hard' | 'soft' }
  | { readonly of: 'usage'; readonly rank: number }
  | { readonly of: 'predecessors'; readonly list: PredecessorList }
  | { readonly of: 'structure' | 'granted' | 'context' | 'ignored' };

const SECTIONS: Readonly<Record<string, Section>> = {
  JB_hard_resource_list: { of: 'request', kind: 'hard' },
  JB_soft_resource_list: { of: 'request', kind: 'soft' },
  JRS_hard_resource_list: { of: 'request', kind: 'hard' },
  JRS_soft_resource_list: { of: 'request', kind: 'soft' },
  JB_ja_structure: { of: 'structure' },
  JB_jid_predecessor_list: { of: 'predecessors', list: 'predecessors' },
  JB_ja_ad_predecessor_list: { of: 'predecessors', list: 'taskPredecessors' },
  JB_context: { of: 'context' },
  JAT_scaled_usage_list: { of: 'usage', rank: 3 },
  JAT_reported_usage_list: { of: 'usage', rank: 2 },
  JAT_usage_list: { of: 'usage', rank: 1 },
  PET_scaled_usage: { of: 'usage', rank: 3 },
  PET_reported_usage: { of: 'usage', rank: 2 },
  PET_usage: { of: 'usage', rank: 1 },
  // Usage of earlier runs.
  JAT_previous_usage_list: { of: 'ignored' },
  PET_previous_usage: { of: 'ignored' },
  PET_granted_destin_identifier_list: { of: 'granted' },
};

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
  /** The scope of the request set at hand. */
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
  contextName: string;
  reason: { text: string | null; readonly jobs: number[] } | null;
}

type Leaf = (reading: Reading, content: XmlContent) => void;

/**
 * `qstat -j LIST -xml` of every dialect. Their writers call the elements of lists by different names, by none, or leave
 * them out, so only attributes (`JB_...`, `CE_...`) and the lists of SECTIONS are looked at: a UA_value belongs to the
 * last UA_name, and an attribute that the record at hand has already opens the next record.
 */
function jobDetailXml(onJob: (job: JobDetail) => void, onReason: (reason: SchedulerReason) => void): XmlHandler {
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
    contextName: '',
    reason: null,
  };
  return {
    open(name) {
      const open = OPENED.get(name);
      if (open !== undefined) open(reading);
    },
    close(name, content) {
      const close = CLOSED.get(name);
      if (close !== undefined) close(reading, content);
    },
  };
}

function openSection(reading: Reading, section: Section): void {
  reading.section = section;
  reading.request = null;
  reading.usageName = '';
  reading.contextName = '';
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
const LISTS: Readonly<
  Record<string, { readonly open?: (at: Reading) => void; readonly close?: (at: Reading) => void }>
> = {
  JB_ja_tasks: {
    open(reading) {
      endTasks(reading);
      reading.inTasks = reading.job !== null;
    },
    close: endTasks,
  },
  JAT_task_list: {
    open(reading) {
      reading.inPeTasks = reading.task !== null;
      reading.peTask = null;
    },
    close(reading) {
      reading.inPeTasks = false;
      reading.peTask = null;
    },
  },
  JB_request_set_list: { open: endScope, close: endScope },
  djob_info: { open: endJob, close: endJob },
  MES_job_number_list: { open: openReason },
  SME_message_list: { open: endReason, close: endReason },
  SME_global_message_list: { open: endReason, close: endReason },
  detailed_job_info: {
    close(reading) {
      endJob(reading);
      endReason(reading);
    },
  },
};

function endScope(reading: Reading): void {
  reading.scope = null;
}

function openReason(reading: Reading): void {
  if (reading.reason?.jobs.length !== 0) endReason(reading);
  reading.reason ??= { text: null, jobs: [] };
}

const JOB: Readonly<Record<string, (job: JobDraft, content: XmlContent) => void>> = {
  JB_job_name: (job, content) => (job.name = content.text()),
  JB_owner: (job, content) => (job.owner = content.text()),
  JB_uid: (job, content) => (job.uid = content.text().trim()),
  JB_group: (job, content) => (job.group = textOrNull(content)),
  JB_project: (job, content) => (job.project = textOrNull(content)),
  JB_department: (job, content) => (job.department = textOrNull(content)),
  JB_account: (job, content) => (job.account = textOrNull(content)),
  JB_submission_time: (job, content) => (job.submittedAt = parseReportTime(content.text())),
  JB_execution_time: (job, content) => (job.notBefore = parseReportTime(content.text())),
  JB_ar: (job, content) => (job.reservation = content.number() || null),
  JB_submission_command_line: (job, content) => (job.submitCommand = submissionOf(content)),
  JB_pe: (job, content) => (job.pe = textOrNull(content)),
  JB_type: (job, content) => (job.array ||= Math.floor(content.number() / TYPE_ARRAY) % 2 === 1),
  JB_is_array: (job, content) => (job.array ||= content.text().trim() === 'true'),
  QIM_message: (job, content) => addMessage(job, content.text()),
};

const taskRange: Leaf = ({ section, structure }, content) => {
  if (section?.of === 'structure') structure.push(count(content));
};

const LEAVES: Readonly<Record<string, Leaf>> = {
  JB_job_number(reading, content) {
    endJob(reading);
    const number = count(content);
    if (number > 0) reading.job = newJob(number);
  },
  JRS_scope(reading, content) {
    const scope = content.number();
    reading.scope = scope === 1 ? 'master' : scope === 2 ? 'slave' : null;
  },
  CE_name(reading, content) {
    const { job, section, scope } = reading;
    if (job === null || section?.of !== 'request') return;
    reading.request = { complex: content.text(), value: '', kind: section.kind, amount: null };
    if (scope !== null) reading.request.scope = scope;
    reading.requestIsString = false;
    job.requests.push(reading.request);
  },
  CE_valtype(reading, content) {
    reading.requestIsString = STRING_TYPES.has(content.number());
  },
  CE_stringval({ request }, content) {
    if (request !== null) request.value = content.text();
  },
  CE_doubleval({ request, requestIsString }, content) {
    const amount = content.number();
    if (request === null || requestIsString || Number.isNaN(amount)) return;
    request.amount = amount > INFINITE ? Infinity : amount;
  },
  CE_consumable({ request }, content) {
    const kind = content.number();
    if (request !== null && !Number.isNaN(kind)) request.consumable = kind;
  },
  JRE_job_number({ job, section }, content) {
    if (job !== null && section?.of === 'predecessors') addPredecessor(job, section.list, count(content));
  },
  // The environment (JB_env_list) has elements of these names, too.
  VA_variable(reading, content) {
    reading.contextName = content.text();
  },
  VA_value({ job, section, contextName }, content) {
    if (section?.of === 'context' && contextName === 'qmemacct' && content.text() === 'mail' && job !== null)
      job.wantsMail = true;
  },
  RN_min: taskRange,
  RN_max: taskRange,
  JAT_status(reading, content) {
    const task = reading.task?.status === null ? reading.task : openTask(reading, 1, false);
    if (task !== null) task.status = count(content);
  },
  JAT_task_number(reading, content) {
    if (reading.task === null || reading.hasTaskNumber) openTask(reading, count(content), true);
    else {
      reading.task.task = count(content);
      reading.hasTaskNumber = true;
    }
  },
  JAT_start_time({ task }, content) {
    if (task !== null) task.startedAt = epochToMs(content.text().trim());
  },
  PET_id(reading, content) {
    if (reading.task === null || !reading.inPeTasks) return;
    reading.peTask = newPeTask(content.text().trim());
    reading.task.peTasks.push(reading.peTask);
  },
  JG_qhostname({ peTask, section }, content) {
    if (peTask !== null && section?.of === 'granted') peTask.host = textOrNull(content) ?? peTask.host;
  },
  UA_name(reading, content) {
    reading.usageName = content.text();
  },
  UA_value({ task, peTask, inPeTasks, section, usageName }, content) {
    const record = inPeTasks ? peTask : task;
    if (record === null || section?.of === 'ignored') return;
    addUsage(record, section?.of === 'usage' ? section.rank : 1, usageName, content.number());
  },
  ULNG_value: reasonJob,
  ULNG: reasonJob,
  MES_message(reading, content) {
    if (reading.reason !== null && reading.reason.text !== null) endReason(reading);
    reading.reason ??= { text: null, jobs: [] };
    reading.reason.text = oneLine(content.text());
  },
};

/** Handlers by tag. The answer chooses the tags: in a Map none of them reaches a property of an object. */
const OPENED = new Map<string, (reading: Reading) => void>();
const CLOSED = new Map<string, Leaf>(Object.entries(LEAVES));
for (const [name, section] of Object.entries(SECTIONS)) {
  OPENED.set(name, (reading) => openSection(reading, section));
  CLOSED.set(name, (reading) => closeSection(reading, section));
}
for (const [name, { open, close }] of Object.entries(LISTS)) {
  if (open !== undefined) OPENED.set(name, open);
  if (close !== undefined) CLOSED.set(name, close);
}
for (const [name, leaf] of Object.entries(JOB)) {
  CLOSED.set(name, ({ job }, content) => {
    if (job !== null) leaf(job, content);
  });
}

function openTask(reading: Reading, number: number, isNumber: boolean): TaskDraft | null {
  if (reading.job === null || !reading.inTasks) return null;
  reading.task = newTask(number);
  reading.job.tasks.push(reading.task);
  reading.peTask = null;
  reading.hasTaskNumber = isNumber;
  return reading.task;
}

function reasonJob({ reason }: Reading, content: XmlContent): void {
  const number = count(content);
  if (reason !== null && number > 0 && reason.jobs.length < IDS_LIMIT) reason.jobs.push(number);
}

function textOrNull(content: XmlContent): string | null {
  const text = content.text();
  return text.trim() === '' ? null : text;
}

function submissionOf(content: XmlContent): string | null {
  const text = textOrNull(content);
  return text === null ? null : withoutSecrets(text);
}

function count(content: XmlContent): number {
  const number = content.number();
  return Number.isSafeInteger(number) && number >= 0 ? number : 0;
}
