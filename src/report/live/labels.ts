import type { MemoryMeasure } from '../../gridengine/memory-meaning';
import type { JobView, RequestView, Trend } from '../../live/cluster-view';
import { formatDay, formatMinute } from '../format/local-time';
import { formatCount } from '../format/units';
import type { Screen, Tone } from '../screen/screen';

/** "4711", or "4711.3" for a task of an array job. */
export function jobNumber({ job, task }: { readonly job: number; readonly task: number | null }): string {
  return task === null ? String(job) : `${job}.${task}`;
}

/** "4G", "4G soft", "4G default", "4G ×8": as it was asked for. */
export function requestText({ text, kind }: RequestView, screen: Screen): string {
  return kind === 'hard' ? screen.safe(text) : `${screen.safe(text)} ${kind}`;
}

/** The request that limits the job, and the others. */
export function splitRequests(requests: readonly RequestView[]): {
  readonly vmem: RequestView | null;
  readonly others: readonly RequestView[];
} {
  const vmem =
    requests.find(({ complex, kind }) => complex === 'h_vmem' && kind !== 'soft') ??
    requests.find(({ complex }) => complex === 'h_vmem') ??
    null;
  return { vmem, others: requests.filter((request) => request !== vmem) };
}

/** "node01", "node01 +3": where a job runs, the host of its master task first. */
export function hostsLabel(job: JobView, screen: Screen): string {
  const master = job.parts.find((part) => part.master) ?? job.parts[0];
  if (master === undefined) return screen.safe(job.queue.split('@')[1] ?? '');
  const others = new Set(job.parts.map(({ host }) => host)).size - 1;
  return others > 0 ? `${screen.safe(master.host)} +${formatCount(others)}` : screen.safe(master.host);
}

/** State letters: suspended, in error or being deleted deserves a look, running does not. */
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

/** What Grid Engine's figures add up, over the processes of a job. */
export function measureText(measure: MemoryMeasure): string {
  return MEASURES[measure];
}

/** A moment near `now`: "14:32", "11-23 14:32" on another day, "2027-01-02 14:32" in another year. */
export function nearMoment(at: number, now: Date): string {
  const date = new Date(at);
  if (formatDay(date) === formatDay(now)) return formatMinute(date).slice(11);
  return formatMinute(date).slice(date.getFullYear() === now.getFullYear() ? 5 : 0);
}

const HOUR = 3_600_000;
/** Nobody waits for what lies further away, and no rate holds that long. */
const FAR = 14 * 24 * HOUR;
const SOON = 6 * HOUR;

/** When a job reaches its limit at its present rate: "14:32", "14:32?" where the rate is no more than a guess. */
export function trendLabel(trend: Trend | null, screen: Screen): string {
  const at = trend?.limitAt ?? null;
  if (trend === null || at === null || at - screen.now.getTime() > FAR) return '';
  const left = at - screen.now.getTime();
  const text = left <= 0 ? 'now' : nearMoment(at, screen.now);
  const doubt = trend.confidence === 'low' ? screen.style.faint('?') : '';
  if (left <= HOUR) return screen.style.bad(text) + doubt;
  return (left <= SOON ? screen.style.warning(text) : text) + doubt;
}
