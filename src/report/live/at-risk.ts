import type { AtRisk } from '../../live/at-risk';
import type { Trend } from '../../live/cluster-view';
import type { Screen } from '../screen/screen';
import { formatBytes, formatDuration, formatPercent, formatRequested } from '../format/units';
import { jobNumber, nearMoment } from './labels';

const CONFIDENCE = { high: 'steady growth', medium: 'uneven growth', low: 'a guess' } as const;

/** ", between 14:20 and 15:01": the range that the samples leave open. */
function rangeText({ earliest, latest }: Trend, moment: (at: number) => string): string {
  if (earliest === null) return '';
  const from = moment(earliest);
  if (latest === null) return `, ${from} at the earliest`;
  const until = moment(latest);
  return from === until ? '' : `, between ${from} and ${until}`;
}

function when({ reason, trend, share }: AtRisk, screen: Screen): string {
  const now = screen.now.getTime();
  const at = trend?.limitAt ?? null;
  if (reason === 'full' || trend === null || at === null || at <= now)
    return share !== null && share < 1 ? `has reached ${formatPercent(share)} of its limit` : 'has reached its limit';
  const moment = (time: number): string => nearMoment(Math.max(time, now), screen.now);
  const left = formatDuration(Math.round((at - now) / 1000));
  return `reaches its limit at ${moment(at)} (in ${left}${rangeText(trend, moment)})`;
}

/** One line on a job that is about to reach its limit on a host: who, where, when, how much, how sure. */
export function riskLine(risk: AtRisk, screen: Screen): string {
  const { job, part, share, trend } = risk;
  const figures = [
    share === null || part.limit === null ? '' : `${formatBytes(share * part.limit)} of ${formatRequested(part.limit)}`,
    trend !== null && trend.slope > 0 ? `+${formatBytes(trend.slope * 3600)}/h` : '',
    trend === null ? '' : CONFIDENCE[trend.confidence],
  ].filter((text) => text !== '');
  const who = `${screen.safe(job.owner)}'s job ${jobNumber(job)} (${screen.safe(job.name)}) on ${screen.safe(part.host)}`;
  return `${who} ${when(risk, screen)}: ${figures.join(', ')}`;
}
