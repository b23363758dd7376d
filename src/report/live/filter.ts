import { matchesPattern } from '../../base/pattern';
import { hasTask } from '../../gridengine/qstat/expand-tasks';
import type { ClusterView, HostView, JobPart, JobView, PendingView } from '../../live/cluster-view';
import { jobNumber } from './labels';

/** What is shown: each list holds names and globs, one of which must match; an empty list lets everything pass. */
export interface LiveFilter {
  /** `4711` (with all of its tasks), `4711.3`, `47*`. */
  readonly job: readonly string[];
  readonly owner: readonly string[];
  /** `node01` also means `node01.example.org`. */
  readonly host: readonly string[];
  /** `all.q`, or `all.q@node01`. */
  readonly queue: readonly string[];
  readonly project: readonly string[];
  /** Job, owner, name, host, queue or project; a word without `*` and `?` may stand anywhere in them. */
  readonly any: readonly string[];
}

export const NO_FILTER: LiveFilter = { job: [], owner: [], host: [], queue: [], project: [], any: [] };

export type FilterField = keyof LiveFilter;

const lets = (patterns: readonly string[], matches: (pattern: string) => boolean): boolean =>
  patterns.length === 0 || patterns.some(matches);

/** Whether a name or pattern matches a host; one without a dot is also compared with the host's first label. */
export function isHost(host: string, pattern: string): boolean {
  if (matchesPattern(host, pattern)) return true;
  return !pattern.includes('.') && matchesPattern(host.split('.', 1)[0] ?? '', pattern);
}

function isJob(job: Pick<JobView, 'job' | 'task'>, pattern: string): boolean {
  return matchesPattern(String(job.job), pattern) || matchesPattern(jobNumber(job), pattern);
}

const known = new WeakMap<readonly string[], Map<string, boolean>>();

/** Whether one of the patterns matches a text; each text is tested once, however many jobs have it. */
function isMeant(
  patterns: readonly string[],
  text: string,
  matches: (text: string, pattern: string) => boolean,
): boolean {
  const before = known.get(patterns) ?? new Map<string, boolean>();
  known.set(patterns, before);
  let found = before.get(text);
  if (found === undefined) before.set(text, (found = patterns.some((pattern) => matches(text, pattern))));
  return found;
}

const letsHost = ({ host: patterns }: LiveFilter, hosts: readonly string[]): boolean =>
  patterns.length === 0 || hosts.some((host) => isMeant(patterns, host, isHost));

/** A queue is written `all.q` or `all.q@node01`, in patterns and by Grid Engine. */
export function isQueue(queue: string, hosts: readonly string[], pattern: string): boolean {
  const name = queue.split('@', 1)[0] ?? '';
  if (!pattern.includes('@')) return matchesPattern(name, pattern);
  return hosts.some((host) => matchesPattern(`${name}@${host}`, pattern));
}

const holds = (text: string, word: string): boolean =>
  matchesPattern(text.toLowerCase(), (/[*?]/.test(word) ? word : `*${word}*`).toLowerCase());

const letsAny = ({ any: words }: LiveFilter, texts: readonly string[]): boolean =>
  words.length === 0 || texts.some((text) => isMeant(words, text, holds));

/** NONE is what Grid Engine calls no project. */
const projectOf = (project: string | null): string => project ?? 'NONE';

/** Whether a running job is asked for. */
export function keepsJob(filter: LiveFilter, job: JobView): boolean {
  const hosts = job.parts.map(({ host }) => host);
  return (
    lets(filter.job, (pattern) => isJob(job, pattern)) &&
    lets(filter.owner, (pattern) => matchesPattern(job.owner, pattern)) &&
    letsHost(filter, hosts) &&
    lets(filter.queue, (pattern) => isQueue(job.queue, hosts, pattern)) &&
    lets(filter.project, (pattern) => matchesPattern(projectOf(job.project), pattern)) &&
    letsAny(filter, [jobNumber(job), job.owner, job.name, job.queue, job.project ?? '', ...hosts])
  );
}

/** A row of waiting tasks matches where any of its tasks does. */
function isPending({ job, tasks }: PendingView, pattern: string): boolean {
  const [number = '', task] = pattern.split('.', 2);
  if (!matchesPattern(String(job), number)) return false;
  return task === undefined || task === '*' || hasTask(tasks ?? '', Number(task));
}

/** Whether a waiting job is asked for; it has neither a host nor a queue yet. */
export function keepsPending(filter: LiveFilter, job: PendingView): boolean {
  return (
    filter.host.length === 0 &&
    filter.queue.length === 0 &&
    lets(filter.job, (pattern) => isPending(job, pattern)) &&
    lets(filter.owner, (pattern) => matchesPattern(job.owner, pattern)) &&
    lets(filter.project, (pattern) => matchesPattern(projectOf(job.project), pattern)) &&
    letsAny(filter, [String(job.job), job.owner, job.name, job.project ?? ''])
  );
}

/** Whether the filter asks for certain jobs, not for hosts alone. */
export function asksForJobs(filter: LiveFilter): boolean {
  const { job, owner, queue, project, any } = filter;
  return [job, owner, queue, project, any].some((patterns) => patterns.length > 0);
}

/** Whether what a job has on a host is asked for. */
function keepsPart(filter: LiveFilter, part: JobPart): boolean {
  return (
    lets(filter.job, (pattern) => isJob(part, pattern)) &&
    lets(filter.owner, (pattern) => matchesPattern(part.owner, pattern)) &&
    letsAny(filter, [jobNumber(part), part.owner, part.name, part.host])
  );
}

/** The host with the jobs that are asked for; null: neither it nor any of them is. `isAskedFor`: filters its jobs. */
function filterHost(filter: LiveFilter, host: HostView, isAskedFor: (part: JobPart) => boolean): HostView | null {
  if (!letsHost(filter, [host.name])) return null;
  if (!asksForJobs(filter)) return host;
  const parts = host.parts.filter((part) => isAskedFor(part) && keepsPart(filter, part));
  if (parts.length > 0) return { ...host, parts };
  const byName = !asksForJobs({ ...filter, any: [] });
  return byName && letsAny(filter, [host.name]) ? { ...host, parts } : null;
}

/**
 * The hosts that are asked for, each with the jobs that are. What a job has on a host lacks its queue and project,
 * which are looked up in the jobs.
 */
export function filterHosts(filter: LiveFilter, { hosts, jobs }: Pick<ClusterView, 'hosts' | 'jobs'>): HostView[] {
  const { queue, project } = filter;
  const kept =
    queue.length + project.length === 0
      ? null
      : new Set(jobs.filter((job) => keepsJob({ ...NO_FILTER, queue, project }, job)).map(jobNumber));
  return hosts.flatMap((host) => filterHost(filter, host, (part) => kept?.has(jobNumber(part)) ?? true) ?? []);
}
