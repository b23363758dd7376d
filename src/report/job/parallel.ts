import { shareOf } from '../../record/peak-figure';
import { limitOf } from '../../record/request';
import { adviseRequest } from '../advice/advice';
import type { NextTime } from '../advice/next-time';
import { hitLimit } from './ending';
import { renderVerdict } from './headline';
import type { JobWhole } from './job-whole';
import type { Screen } from '../screen/screen';
import { blank, wrap, type Part } from '../screen/layout';
import { formatBytes, formatCount, formatPercent, formatRequested, plural } from '../format/units';
import type { Why } from '../why/why';

/** "all 4 hosts at one time: about 31.2 GiB of 64 GiB (49 %), by their samples" */
export function renderTogether({ sum, hosts }: JobWhole, screen: Screen): string[] {
  const held = sum?.together_rss_bytes ?? null;
  if (sum === null || hosts.length < 2 || held === null) return [];
  const limits = hosts.map(limitOf);
  const limit = limits.includes(null) ? null : limits.reduce<number>((all, one) => all + (one ?? 0), 0);
  const share = shareOf(held, limit);
  const of = limit === null || share === null ? '' : ` of ${formatRequested(limit)} (${formatPercent(share)})`;
  const all = hosts.length === 2 ? 'both hosts' : `all ${formatCount(hosts.length)} hosts`;
  const seen = hosts.length === sum.hosts.length ? all : `the ${formatCount(hosts.length)} hosts seen`;
  const words = `${seen} at one time: about ${formatBytes(held)}${of}, by their samples`;
  return wrap(words, screen.width - 2).map((line) => screen.style.faint(`  ${line}`));
}

/** "2 of 4 hosts were not sampled"; null: all were. */
function notSampled({ sum, parts }: JobWhole): string | null {
  if (sum === null) return null;
  const bare = parts.filter((records) => records.every(({ peak_rss: peak }) => peak === null)).length;
  const hosts = sum.hosts.filter(({ seen }) => !seen).length + bare;
  const partly = parts.filter((records) => records.some(({ peak_rss: peak }) => peak !== null));
  const tasks = sum.unseen_tasks + partly.flat().filter(({ peak_rss: peak }) => peak === null).length;
  const missing = hosts > 0 ? hosts : tasks;
  if (missing === 0) return null;
  const what = hosts > 0 ? `${formatCount(hosts)} of ${plural(sum.hosts.length, 'host')}` : plural(tasks, 'task');
  return `${what} ${missing === 1 ? 'was' : 'were'} not sampled`;
}

/**
 * The verdict on a job and the advice. Hosts or tasks that were not sampled may have needed more: then no request is
 * advised, unless the job ended badly, hit its limit, or needs more already by its known figures.
 */
export function renderWholeFit(
  whole: JobWhole,
  next: NextTime | null,
  screen: Screen,
  why: Why | null,
): Required<Part> {
  const { fullest, needs } = whole;
  const missing = notSampled(whole);
  if (missing === null || hitLimit(fullest) || why !== null || adviseRequest(needs)?.kind === 'raise')
    return renderVerdict(fullest, needs, next, screen, why);
  const words =
    fullest.status === 'finished' ? wrap(`${missing}: what the job needs is unknown.`, screen.width - 2) : [];
  const lines = blank(words.map((line) => `  ${screen.style.warning(line)}`));
  return { lines, short: lines };
}

/** Which records and hosts the sums of a parallel job cover. */
export function renderSummed({ sum, records }: JobWhole, room: number): string[] {
  if (sum === null) return [];
  const hosts = sum.hosts.filter(({ seen }) => seen).length;
  const tasks = sum.unseen_tasks;
  const words = [
    `the sums are over ${plural(records.length, 'record')} of ${plural(hosts, 'host')}; a task that left no trace is not in them`,
    ...(tasks > 0 ? [`${plural(tasks, 'task')} with a lower number than a recorded one left no record`] : []),
  ];
  return words.flatMap((one) => wrap(one, room - 2).map((line, index) => (index === 0 ? line : `  ${line}`)));
}
