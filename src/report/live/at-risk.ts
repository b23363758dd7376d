import type { JobView } from '../../live/cluster-view';
import type { Screen } from '../screen';
import { formatBytes, formatDuration, formatPercent, formatRequested } from '../units';
import { presentOfJob, shareOf } from './figures';
import { hostsLabel, jobNumber, nearMoment } from './labels';

/** Jobs that will reach their limit within `ms` of `now` at their present rate, the first to do so first. */
export function jobsAtRisk(jobs: readonly JobView[], now: Date, ms: number): readonly JobView[] {
  const until = now.getTime() + ms;
  return jobs
    .flatMap((job) => {
      const at = job.trend?.limitAt ?? null;
      return at === null || at > until ? [] : [{ job, at }];
    })
    .sort((a, b) => a.at - b.at || a.job.job - b.job.job || (a.job.task ?? 0) - (b.job.task ?? 0))
    .map(({ job }) => job);
}

const CONFIDENCE = { high: 'steady growth', medium: 'uneven growth', low: 'a guess' } as const;

/** "in 0:31:12 (between 14:20 and 15:01)" of a job at risk. */
function when({ trend }: JobView, screen: Screen): string {
  if (trend?.limitAt === null || trend === null) return '';
  const now = screen.now.getTime();
  if (trend.limitAt <= now) return 'is at its limit';
  const left = formatDuration(Math.round((trend.limitAt - now) / 1000));
  const moment = (at: number): string => nearMoment(Math.max(at, now), screen.now);
  const earliest = trend.earliest === null ? null : moment(trend.earliest);
  const latest = trend.latest === null ? null : moment(trend.latest);
  const range =
    earliest === null
      ? ''
      : latest === null
        ? `, ${earliest} at the earliest`
        : latest === earliest
          ? ''
          : `, between ${earliest} and ${latest}`;
  return `reaches its limit at ${moment(trend.limitAt)} (in ${left}${range})`;
}

/** One line on a job that is about to reach its limit: who, where, when, how much, how sure. */
export function riskLine(job: JobView, screen: Screen): string {
  const { trend, limit } = job;
  const present = presentOfJob(job);
  const share = shareOf(present, limit);
  const figures = [
    present === null || limit === null
      ? ''
      : `${formatBytes(present)} of ${formatRequested(limit)}${share === null ? '' : ` (${formatPercent(share)})`}`,
    trend !== null && trend.slope > 0 ? `+${formatBytes(trend.slope * 3600)}/h` : '',
    trend === null ? '' : CONFIDENCE[trend.confidence],
  ].filter((text) => text !== '');
  const who = `${screen.safe(job.owner)}'s job ${jobNumber(job)} (${screen.safe(job.name)}) on ${hostsLabel(job, screen)}`;
  return `${who} ${when(job, screen)}: ${figures.join(', ')}`;
}
