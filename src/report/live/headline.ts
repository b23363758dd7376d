import type { ClusterView } from '../../live/cluster-view';
import { formatClock } from '../local-time';
import type { Screen } from '../screen';
import { spread } from '../title';
import { formatAge } from './live-column';

/** Younger than this, an answer is as of now. */
const FRESH = 2000;

/** "17:12:04, 3 s old"; empty: nothing has been heard of the cluster yet. */
export function whenText({ at }: Pick<ClusterView, 'at'>, screen: Screen): string {
  if (at === null) return '';
  const age = screen.now.getTime() - at;
  const clock = formatClock(new Date(at));
  return age < FRESH ? clock : `${clock}, ${formatAge(age)} old`;
}

/** What is shown, at the left, and of when it is, at the right. */
export function renderHeadline(what: string, view: Pick<ClusterView, 'at'>, screen: Screen): string {
  return spread(what, whenText(view, screen), screen, screen.style.title, screen.style.faint).trimEnd();
}

/** What is amiss, in one line; null: nothing is. */
export function problemLine({ problems }: Pick<ClusterView, 'problems'>, screen: Screen): string | null {
  const [first, ...others] = problems;
  if (first === undefined) return null;
  return screen.safe(others.length === 0 ? first : `${first} (and ${others.length} more)`);
}
