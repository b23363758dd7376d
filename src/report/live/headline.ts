import type { ClusterView } from '../../live/cluster-view';
import { formatClock } from '../format/local-time';
import type { Screen } from '../screen/screen';
import { spread } from '../job/title';
import { formatAge } from './live-column';

/** An answer younger than this (ms) is shown without its age. */
const FRESH = 2000;

/** The list that the rows of a screen are mainly made from. */
export type RowsOf = 'hosts' | 'list' | 'pending';

/** On a narrower screen one range of ages stands for all parts. */
const ROOMY = 100;

type Times = Pick<ClusterView, 'times'>;

/** "3 s", "3 to 40 s". */
function rangeText(newest: number, oldest: number): string {
  const [from, to] = [formatAge(newest), formatAge(oldest)];
  if (from === to) return to;
  const [number, unit] = from.split(' ');
  return to.endsWith(` ${unit ?? ''}`) ? `${number ?? ''} to ${to}` : `${from} to ${to}`;
}

/**
 * The time of the rows, and how old each part of them is: "17:12:04", "17:12:04, 3 s old", "17:12:04: list 1 s, usage
 * 24 s, ours 3 to 9 s old" (usage: what Grid Engine says the jobs use; ours: what we sampled). Empty: nothing is known
 * of the cluster yet.
 */
export function whenText({ times }: Times, rows: RowsOf, screen: Screen): string {
  const now = screen.now.getTime();
  const { usage, oursOldest, oursNewest } = times;
  const at = times[rows];
  const part = (name: string, newest: number | null, oldest = newest) =>
    newest === null || oldest === null ? [] : [{ name, newest: now - newest, oldest: now - oldest }];
  const parts = [
    ...part(rows === 'hosts' ? 'hosts' : 'list', at),
    ...(rows === 'pending' ? [] : [...part('usage', usage), ...part('ours', oursNewest, oursOldest)]),
  ];
  const oldest = parts.reduce((most, one) => Math.max(most, one.oldest), -Infinity);
  if (parts.length === 0) return '';
  const clock = formatClock(new Date(at ?? now - oldest));
  if (oldest < FRESH) return clock;
  const ages = parts.map(({ name, newest, oldest: most }) => ({ name, age: rangeText(newest, most) }));
  const alike = ages.every(({ age }) => age === ages[0]?.age);
  if (alike || screen.width < ROOMY) {
    const youngest = parts.reduce((least, { newest }) => Math.min(least, newest), Infinity);
    return `${clock}, ${rangeText(youngest, oldest)} old`;
  }
  return `${clock}: ${ages.map(({ name, age }) => `${name} ${age}`).join(', ')} old`;
}

/** What is shown, and of which cluster, at the left, and its time, at the right. */
export function renderHeadline(what: string, view: ClusterView, rows: RowsOf, screen: Screen): string {
  const title = view.cluster === '' ? what : `${what} in cluster ${screen.safe(view.cluster)}`;
  return spread(title, whenText(view, rows, screen), screen, screen.style.title, screen.style.faint).trimEnd();
}

/** The problems, in one line; null: there are none. */
export function problemLine({ problems }: Pick<ClusterView, 'problems'>, screen: Screen): string | null {
  const [first, ...others] = problems;
  if (first === undefined) return null;
  return screen.safe(others.length === 0 ? first : `${first} (and ${others.length} more)`);
}
