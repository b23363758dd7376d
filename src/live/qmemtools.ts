import { groupBy } from '../base/group-by';
import { H_VMEM } from '../gridengine/memory-complex';
import { countedRequest } from './requests';
import type { ClusterView, JobPart, JobView } from './cluster-view';
import type { Answer, Snapshot } from './snapshot';
import { sumOfKnown } from '../base/known';

/** A value in QmemTools' JSON. Objects are maps, as users choose some keys; numbers of Python's float stay floats. */
export type Json = string | number | boolean | Float | readonly Json[] | ReadonlyMap<string, Json>;

interface Float {
  readonly float: number;
}

/** The whole answer; `message` is empty if all is well. */
export interface QmemAnswer {
  readonly success: boolean;
  readonly message: string;
  readonly data: ReadonlyMap<string, Json>;
}

/**
 * `/qhost` in QmemTools' form, by host. If the data could not be refreshed, `success` is false and `message` says why
 * and how old the data is. `view`: made from the snapshot.
 */
export function qhostAnswer(snapshot: Snapshot, view: ClusterView, nowMs: number): QmemAnswer {
  const texts = new Map(snapshot.hosts.value.map((host) => [host.name, host]));
  const data = view.hosts.map(({ name, parts }): [string, Json] => [
    name,
    fields({
      // `-`: the host is down, or does not report it.
      num_proc: texts.get(name)?.processorsText ?? '-',
      mem_total: texts.get(name)?.memoryTotalText ?? '-',
      jobs: new Map([...groupBy(parts, ({ job }) => String(job))].map(([job, ofJob]) => [job, hostJob(ofJob)])),
    }),
  ]);
  return envelope('qhost', [snapshot.hosts, snapshot.running], new Map(data), nowMs);
}

/** `/qstat` in QmemTools' form, by owner. */
export function qstatAnswer(snapshot: Snapshot, view: ClusterView, nowMs: number): QmemAnswer {
  const data = new Map<string, Json>();
  for (const [owner, jobs] of groupBy(view.jobs, (job) => job.owner)) {
    const ofOwner = new Map(
      [...groupBy(jobs, ({ job }) => String(job))].map(([job, tasks]) => [job, ownersJob(tasks)]),
    );
    data.set(owner, fields({ uid: jobs.find(({ uid }) => uid !== null)?.uid ?? '', jobs: ofOwner }));
  }
  return envelope('qstat', [snapshot.running, snapshot.details], data, nowMs);
}

/** The JSON text of an answer, with its keys in QmemTools' order. */
export function qmemAnswerText({ success, message, data }: QmemAnswer): string {
  return textOf(fields({ success, message, data }));
}

function hostJob(parts: readonly JobPart[]): Json {
  const [first] = parts;
  const tasks = parts.flatMap(({ task }) => task ?? []);
  return fields({
    // For an array job, the slots of one task: 1 unless the tasks are parallel.
    jobcount: Math.max(...parts.map(({ slots }) => slots)),
    master: parts.some(({ master }) => master),
    taskid: tasks.map(String),
    jobname: first?.name ?? '',
    owner: first?.owner ?? '',
  });
}

function ownersJob(tasks: readonly JobView[]): Json {
  const request = countedRequest(tasks[0]?.requests ?? [], [H_VMEM]);
  const hosts = new Map<string, Map<string, Json>>();
  for (const part of tasks.flatMap(({ parts }) => parts)) {
    const known = hosts.get(part.host) ?? new Map<string, Json>();
    for (const [key, value] of usageOf(part)) known.set(key, value);
    hosts.set(part.host, known);
  }
  return fields({
    requested_h_vmem_strval: request?.text ?? '',
    requested_h_vmem_dblval: { float: request?.bytes ?? 0 },
    hostname: hosts,
  });
}

/** Usage by role, or by array task; a task that has not reported yet has an empty value, which QmemTools takes as 0. */
function usageOf(part: JobPart): readonly (readonly [string, string])[] {
  const tasks = sumOfKnown([...part.tasks.map(({ maxvmem }) => maxvmem), part.pastMaxvmem]);
  if (part.task !== null) return [[String(part.task), bytesText(sumOfKnown([part.masterMaxvmem, tasks]))]];
  const slave = ['slave', bytesText(tasks)] as const;
  if (!part.master) return [slave];
  const master = ['master', bytesText(part.masterMaxvmem)] as const;
  return tasks === null ? [master] : [master, slave];
}

/** Formatted as Grid Engine does: `%f`. */
function bytesText(bytes: number | null): string {
  if (bytes === null || !Number.isFinite(bytes)) return '';
  return bytes < 1e21 ? bytes.toFixed(6) : `${BigInt(bytes)}.000000`;
}

function envelope(
  name: 'qhost' | 'qstat',
  answers: readonly Answer<unknown>[],
  data: QmemAnswer['data'],
  nowMs: number,
): QmemAnswer {
  const problems = [...new Set(answers.flatMap(({ problem }) => problem ?? []))];
  const [main] = answers;
  const at = main?.at ?? null;
  const said = problems.length === 0 ? [] : [problems.join('; ')];
  if (at === null) {
    const reason = said[0] ?? 'nothing has been asked of qmaster yet, try again in some seconds';
    return { success: false, message: `No data for ${name}: ${reason}`, data: new Map() };
  }
  if (said.length > 0) {
    const oldest = answers.reduce((least, answer) => Math.min(least, answer.at ?? least), at);
    const age = Math.max(0, Math.round((nowMs - oldest) / 1000));
    return { success: false, message: `${said.join('')}; the data is ${age} s old`, data };
  }
  // QmemTools reports an empty answer as "No data", even for a cluster without running jobs.
  if (data.size === 0) return { success: false, message: `No data for ${name}`, data };
  return { success: true, message: '', data };
}

function fields(object: Readonly<Record<string, Json>>): ReadonlyMap<string, Json> {
  return new Map(Object.entries(object));
}

function textOf(value: Json): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(textOf).join(',')}]`;
  if (isFloat(value)) return floatText(value.float);
  return `{${[...value].map(([key, item]) => `${JSON.stringify(key)}:${textOf(item)}`).join(',')}}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isFloat(value: Float | ReadonlyMap<string, Json>): value is Float {
  return 'float' in value;
}

/** Always with a fraction or exponent, as Python would read an integer otherwise, and clients divide the value. */
function floatText(value: number): string {
  const text = String(Number.isFinite(value) ? value : 0);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
