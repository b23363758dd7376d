import { HOUR_MS } from '../../base/units';
import { H_VMEM } from '../../gridengine/memory-complex';
import type { MemoryMeasure } from '../../gridengine/dialect';
import type { JobView, PendingView, RequestView, Trend } from '../../live/cluster-view';
import { formatDay, formatMinute } from '../format/local-time';
import { formatBytes, formatCount, formatRequested } from '../format/units';
import type { Screen, Tone } from '../screen/screen';

/** "4711", or "4711.3" for a task of an array job. */
export function jobNumber({ job, task }: { readonly job: number; readonly task: number | null }): string {
  return task === null ? String(job) : `${job}.${task}`;
}

/** "mem_free=4G", "mem_free=4G soft", "mem_free=4G default": as it was asked for. */
export function namedRequest({ complex, text, kind }: RequestView, screen: Screen): string {
  const request = `${screen.safe(complex)}=${screen.safe(text)}`;
  return kind === 'hard' ? request : `${request} ${kind}`;
}

/** A request without the name of the usual complex: "4G", "4G default". */
export function requestText(request: RequestView, screen: Screen): string {
  const named = namedRequest(request, screen);
  return request.complex === H_VMEM ? named.slice(H_VMEM.length + 1) : named;
}

/** The memory request that counts, and all other requests. */
export function splitRequests({ requests, complex }: Pick<PendingView, 'requests' | 'complex'>): {
  readonly counted: RequestView | null;
  readonly others: readonly RequestView[];
} {
  const counted =
    requests.find((request) => request.complex === complex && request.kind !== 'soft') ??
    requests.find((request) => request.complex === H_VMEM) ??
    null;
  return { counted, others: requests.filter((request) => request !== counted) };
}

/** "node01", "node01 +3": where a job runs, the host of its master task first. */
export function hostsLabel(job: JobView, screen: Screen): string {
  const master = job.parts.find((part) => part.master) ?? job.parts[0];
  if (master === undefined) return screen.safe(job.queue.split('@')[1] ?? '');
  const others = new Set(job.parts.map(({ host }) => host)).size - 1;
  return others > 0 ? `${screen.safe(master.host)} +${formatCount(others)}` : screen.safe(master.host);
}

/** The largest memory that a job may have; '': not known. */
export function limitLabel({ limit, limitState }: Pick<JobView, 'limit' | 'limitState'>): string {
  if (limit !== null) return formatRequested(limit);
  return limitState === 'unlimited' ? 'no limit' : '';
}

export const bytesLabel = (bytes: number | null): string => (bytes === null ? '' : formatBytes(bytes));

/** State letters, coloured where they deserve a look: suspended, in error or being deleted. */
export function stateLabel(state: string, screen: Screen): string {
  const tone: Tone | null = state.includes('E') ? 'bad' : /[sStTdNh]/.test(state) ? 'warning' : null;
  const text = screen.safe(state);
  return tone === null ? text : screen.style[tone](text);
}

const MEASURES: Readonly<Record<MemoryMeasure, string>> = {
  rss_swap_sum: 'resident and swapped memory (RSS + swap)',
  vmem_sum: 'address space (more than is resident)',
  cgroup: "memory charged to the job's cgroup, page cache included",
};

/** What Grid Engine's memory figures add up over the processes of a job. */
export function measureText(measure: MemoryMeasure): string {
  return MEASURES[measure];
}

/** A moment near `now`: "14:32", "11-23 14:32" on another day, "2027-01-02 14:32" in another year. */
export function nearMoment(at: number, now: Date): string {
  const date = new Date(at);
  if (formatDay(date) === formatDay(now)) return formatMinute(date).slice(11);
  return formatMinute(date).slice(date.getFullYear() === now.getFullYear() ? 5 : 0);
}

/** A moment further away than this is not shown: no rate holds that long. */
const FAR = 14 * 24 * HOUR_MS;
const SOON = 6 * HOUR_MS;

/** When a job reaches its limit at its present rate: "14:32", "14:32?" where the rate is no more than a guess. */
export function trendLabel(trend: Trend | null, screen: Screen): string {
  const at = trend?.limitAt ?? null;
  if (trend === null || at === null || at - screen.now.getTime() > FAR) return '';
  const left = at - screen.now.getTime();
  const text = left <= 0 ? 'now' : nearMoment(at, screen.now);
  const doubt = trend.confidence === 'low' ? screen.style.faint('?') : '';
  if (left <= HOUR_MS) return screen.style.bad(text) + doubt;
  return (left <= SOON ? screen.style.warning(text) : text) + doubt;
}
