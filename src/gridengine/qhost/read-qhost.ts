import { GIB, MIB } from '../../base/units';
import type { AnswerReader } from '../reading';
import { parsePrintedCount, parsePrintedNumber } from '../printed-number';
import { parseReportTime } from '../report-time';
import type { XmlHandler } from '../xml/scan';
import { readXmlAnswer } from '../xml/xml-answer';
import type { QhostHost, QhostJob, QhostQueue, QhostResource } from './qhost-report';

/**
 * Reads `qhost [-F ...] [-q] [-j] -xml` of any dialect. Hosts come when they are whole, in the order of the answer,
 * without the pseudo host `global` and those without a name.
 */
export function readQhost(onHost: (host: QhostHost) => void): AnswerReader {
  return readXmlAnswer('qhost', qhostXml(onHost));
}

type Values = Map<string, string>;

interface JobDraft {
  /** The queue before it. */
  readonly queue: Values | undefined;
  readonly values: Values;
}

interface HostDraft {
  readonly values: Values;
  readonly resources: QhostResource[];
  readonly queues: Values[];
  readonly jobs: JobDraft[];
}

/**
 * `qhost -xml`: `host[name] > hostvalue[name]`, `resourcevalue[name, dominance]`, `queue[name] > queuevalue[name]`,
 * `job[name] > jobvalue[name]`. With `-q` the elements of jobs follow that of their queue, and are not within it: a job
 * that names no queue itself belongs to the queue before it.
 */
function qhostXml(onHost: (host: QhostHost) => void): XmlHandler {
  let draft: HostDraft | null = null;
  let name = '';
  let dominance = '';
  return {
    open(tag, place) {
      const own = place.attribute('name') ?? '';
      if (tag === 'host') draft = { values: named('name', own), resources: [], queues: [], jobs: [] };
      else if (tag === 'queue') draft?.queues.push(named('name', own));
      else if (tag === 'job') draft?.jobs.push({ queue: draft.queues.at(-1), values: named('id', own) });
      else if (tag.endsWith('value')) name = own;
      if (tag === 'resourcevalue') dominance = place.attribute('dominance') ?? '';
    },
    close(tag, place) {
      if (tag === 'hostvalue') draft?.values.set(name, place.text());
      else if (tag === 'queuevalue') draft?.queues.at(-1)?.set(name, place.text());
      else if (tag === 'jobvalue') draft?.jobs.at(-1)?.values.set(name, place.text());
      else if (tag === 'resourcevalue') draft?.resources.push({ name, dominance, value: place.text() });
      else if (tag === 'host') {
        const host = draft === null ? null : finishHost(draft);
        draft = null;
        if (host !== null && host.name !== '' && host.name !== 'global') onHost(host);
      }
    },
  };
}

function named(key: string, name: string): Values {
  return new Map(name === '' ? [] : [[key, name]]);
}

function finishHost({ values, resources, queues, jobs }: HostDraft): QhostHost {
  const text = (key: string) => values.get(key) ?? '-';
  const processors = parsePrintedCount(text('num_proc'));
  return {
    name: nameOf(values),
    architecture: printed(text('arch_string')),
    processors,
    sockets: parsePrintedCount(text('m_socket')),
    cores: parsePrintedCount(text('m_core')),
    threads: parsePrintedCount(text('m_thread')),
    load: parsePrintedNumber(text('load_avg')) ?? loadOfAll(parsePrintedNumber(text('np_load_avg')), processors),
    memoryTotal: parsePrintedSize(text('mem_total')),
    memoryUsed: parsePrintedSize(text('mem_used')),
    swapTotal: parsePrintedSize(text('swap_total')),
    swapUsed: parsePrintedSize(text('swap_used')),
    processorsText: text('num_proc'),
    memoryTotalText: text('mem_total'),
    resources,
    queues: queues.map(finishQueue),
    jobs: finishJobs(jobs),
  };
}

/** Univa prints the load of one processor, with two decimals; its sum is good to no more. */
function loadOfAll(perProcessor: number | null, processors: number | null): number | null {
  return perProcessor === null || processors === null ? null : Math.round(perProcessor * processors * 100) / 100;
}

function finishQueue(values: Values): QhostQueue {
  return {
    name: nameOf(values),
    type: values.get('qtype_string') ?? '',
    slotsUsed: parsePrintedCount(values.get('slots_used') ?? ''),
    slots: parsePrintedCount(values.get('slots') ?? ''),
    slotsReserved: parsePrintedCount(values.get('slots_resv') ?? ''),
    state: values.get('state_string') ?? '',
  };
}

function finishJobs(drafts: readonly JobDraft[]): readonly QhostJob[] {
  const jobs: QhostJob[] = [];
  let before: JobDraft | null = null;
  for (const draft of drafts) {
    if (before !== null && continues(draft, before)) inherit(draft.values, before.values);
    const job = finishJob(draft);
    if (job !== null) jobs.push(job);
    before = draft;
  }
  return jobs;
}

/** From OCS 9.2 on a row for a further slot of the same task names only what differs from the row before. */
function continues(draft: JobDraft, before: JobDraft): boolean {
  const task = draft.values.get('taskid');
  const sameJob = draft.values.get('id') === before.values.get('id') && draft.queue === before.queue;
  return sameJob && (task === undefined || task === before.values.get('taskid'));
}

const shared = ['job_name', 'job_owner', 'job_state', 'priority', 'start_time', 'taskid'];

function inherit(values: Values, from: Values): void {
  // A row with a submit time has not started: the start of the row before is not its own.
  if (values.has('submit_time')) return;
  for (const key of shared) {
    const value = from.get(key);
    if (value !== undefined && !values.has(key)) values.set(key, value);
  }
}

function finishJob({ queue, values }: JobDraft): QhostJob | null {
  const job = parsePrintedCount(values.get('id') ?? '');
  if (job === null || job === 0) return null;
  const text = (key: string) => values.get(key) ?? '';
  const instance = text('qinstance_name') || text('queue_name');
  const role = text('pe_master').trim();
  return {
    job,
    task: parsePrintedCount(/^\d*/.exec(text('taskid'))?.[0] ?? ''),
    name: text('job_name'),
    owner: text('job_owner'),
    state: text('job_state'),
    queue: instance.split('@', 1)[0] || (queue === undefined ? '' : nameOf(queue)),
    queueInstance: instance.includes('@') ? instance : '',
    priority: parsePrintedNumber(text('priority')),
    startedAt: parseReportTime(text('start_time')),
    role: role === 'MASTER' || role === 'SLAVE' ? role : '',
  };
}

function nameOf(values: Values): string {
  return values.get('name') ?? '';
}

function printed(text: string): string | null {
  return text === '' || text === '-' ? null : text;
}

const multipliers: Readonly<Record<string, number>> = {
  '': 1,
  K: 1024,
  M: MIB,
  G: GIB,
  T: 1024 ** 4,
  P: 1024 ** 5,
  E: 1024 ** 6,
};

/**
 * Bytes of a size as qhost prints it (`93.1G`, `984.1M`, `0.0`), good to half of its last digit; null for `-` (the host
 * does not report), `?`, `infinity` and anything else. Unlike what people type it has a P and an E.
 */
export function parsePrintedSize(text: string): number | null {
  const match = /^\s*(\d{1,20}(?:\.\d{1,20})?)([KMGTPE]?)\s*$/.exec(text);
  if (match === null) return null;
  return Math.round(Number(match[1]) * (multipliers[match[2] ?? ''] ?? 1));
}
