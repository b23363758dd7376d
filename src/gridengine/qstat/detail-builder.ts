import type { DetailRequest, JobDetail, PeTaskDetail, TaskDetail, Usage } from './job-detail';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export type PredecessorList = 'predecessors' | 'taskPredecessors';

/** The record of a job while it is read. */
export interface JobDraft extends Mutable<Omit<JobDetail, PredecessorList | 'requests' | 'tasks' | 'messages'>> {
  readonly predecessors: number[];
  readonly taskPredecessors: number[];
  readonly requests: RequestDraft[];
  readonly tasks: TaskDraft[];
  readonly messages: string[];
}

export type RequestDraft = Mutable<DetailRequest>;

export interface TaskDraft extends Mutable<Omit<TaskDetail, 'usage' | 'peTasks'>> {
  /**
   * The rank of the list that the values come from: scaled values go before reported ones, and these before raw ones.
   */
  usageRank: number;
  usage: Map<string, number>;
  readonly peTasks: PeTaskDraft[];
}

export interface PeTaskDraft extends Mutable<Omit<PeTaskDetail, 'usage'>> {
  usageRank: number;
  usage: Map<string, number>;
}

/** Messages and predecessors kept of one job, and characters of a message. */
const MESSAGES_LIMIT = 100;
const PREDECESSORS_LIMIT = 1000;
const MESSAGE_LIMIT = 1000;

export function newJob(job: number): JobDraft {
  return {
    job,
    name: '',
    owner: '',
    uid: '',
    group: null,
    project: null,
    department: null,
    account: null,
    submittedAt: null,
    notBefore: null,
    reservation: null,
    submitCommand: null,
    wantsMail: false,
    predecessors: [],
    taskPredecessors: [],
    requests: [],
    pe: null,
    array: false,
    tasks: [],
    messages: [],
  };
}

export function newTask(task: number): TaskDraft {
  return { task, status: null, startedAt: null, usageRank: 0, usage: new Map(), peTasks: [] };
}

/** `past_usage` is the sum of the tasks that have ended; the others are called `<n>.<host without domain>`. */
export function newPeTask(id: string): PeTaskDraft {
  const past = id === 'past_usage';
  const point = id.indexOf('.');
  return { id, host: past || point < 0 ? null : id.slice(point + 1) || null, past, usageRank: 0, usage: new Map() };
}

export function addUsage(record: TaskDraft | PeTaskDraft, rank: number, name: string, value: number): void {
  if (name === '' || Number.isNaN(value) || rank < record.usageRank) return;
  if (rank > record.usageRank) {
    record.usageRank = rank;
    record.usage = new Map();
  }
  record.usage.set(name, value);
}

export function addMessage(job: JobDraft, text: string): void {
  const line = oneLine(text);
  if (line !== '' && job.messages.length < MESSAGES_LIMIT && !job.messages.includes(line)) job.messages.push(line);
}

export function addPredecessor(job: JobDraft, list: PredecessorList, number: number): void {
  const known = job[list];
  const isNew = Number.isSafeInteger(number) && number > 0 && !known.includes(number);
  if (isNew && known.length < PREDECESSORS_LIMIT) known.push(number);
}

export function oneLine(text: string): string {
  return text.slice(0, MESSAGE_LIMIT).replace(/\s+/g, ' ').trim();
}

export function finishJob(draft: JobDraft): JobDetail {
  return {
    ...draft,
    tasks: draft.tasks.map(({ task, status, startedAt, usage, peTasks }) => ({
      task,
      status,
      startedAt,
      usage: usage satisfies Usage,
      peTasks: peTasks.map(({ id, host, past, usage: own }) => ({ id, host, past, usage: own })),
    })),
  };
}
