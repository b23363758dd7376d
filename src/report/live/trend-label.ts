import type { Trend } from '../../live/cluster-view';
import type { Screen } from '../screen';
import { nearMoment } from './labels';

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
