import type { ClusterView } from '../../live/cluster-view';
import { padEnd } from '../screen/text-width';
import type { Screen } from '../screen/screen';
import { spread } from '../job/title';
import { formatCount } from '../format/units';
import type { LiveFilter } from './filter';
import { wrap } from '../screen/layout';
import { problemLine, whenText, type RowsOf } from './headline';
import { describeTotals, totalHosts } from './host-totals';
import { renderHostLines } from './hosts';
import { countText } from './jobs';
import { renderRows, type LiveColumn } from './live-column';
import type { Selection } from './watch-selection';
import { clampTop, type Extent, type WatchState } from './watch-state';

/** A whole screen, and how far it can be scrolled. */
export interface Frame {
  readonly lines: readonly string[];
  readonly extent: Extent;
}

const WHAT = { jobs: 'running', pending: 'waiting', hosts: 'hosts' } as const;

const FIELDS: Readonly<Record<keyof LiveFilter, string>> = {
  job: 'job',
  owner: 'owner',
  host: 'host',
  queue: 'queue',
  project: 'project',
  any: 'with',
};

function filterText(filter: LiveFilter, screen: Screen): readonly string[] {
  return (Object.keys(FIELDS) as (keyof LiveFilter)[]).flatMap((field) =>
    filter[field].length === 0 ? [] : [`${FIELDS[field]} ${screen.safe(filter[field].join(','))}`],
  );
}

const ROWS: Readonly<Record<WatchState['page'], RowsOf>> = { jobs: 'list', pending: 'pending', hosts: 'hosts' };

/** Whether Grid Engine has ever answered with the list that is on the page. */
function isAnswered(view: ClusterView | null, { page }: Selection): boolean {
  return view !== null && view.times[page === 'jobs' ? 'list' : page] !== null;
}

/** Lines for a problem: enough for its cause and its fix. */
const MOST_OF_PROBLEM = 3;

function headline(state: WatchState, view: ClusterView | null, selection: Selection | null, screen: Screen): string {
  const { key, reverse } = state.sorting[state.page];
  const shown = selection === null ? 0 : selection.page === 'hosts' ? selection.hosts.length : selection.rows.length;
  const what = [
    selection === null || !isAnswered(view, selection)
      ? 'qmemacct'
      : countText(shown, selection.all, WHAT[selection.page]),
    `by ${key}${reverse ? ', reversed' : ''}`,
    ...filterText(state.filter, screen),
    ...(state.paused ? ['PAUSED'] : []),
  ].join(` ${screen.glyphs.dot} `);
  const cluster = view === null || view.cluster === '' ? '' : `${screen.safe(view.cluster)}  `;
  const when = view === null ? '' : whenText(view, ROWS[state.page], screen);
  return spread(what, `${cluster}${when}`, screen, screen.style.title, screen.style.faint).trimEnd();
}

const KEYS: readonly (readonly [string, string])[] = [
  ['q', 'quit'],
  ['s S', 'sort by the next, previous key'],
  ['r', 'reverse the order'],
  ['/', 'filter: words in job, owner, name, host, queue or project'],
  ['o h j', 'filter by owner, host, job: names and globs, "bob*,alice"'],
  ['c', 'clear the filters'],
  ['p', 'pause'],
  ['u', 'hosts with and without their jobs'],
  ['Tab', 'running jobs, waiting jobs, hosts'],
  ['arrows, PgUp PgDn, Home End', 'scroll'],
  ['?', 'this help'],
];

const KEYS_WIDTH = 28;

function helpLines(screen: Screen): string[] {
  return KEYS.map(([key, what]) => `  ${screen.style.accent(padEnd(key, KEYS_WIDTH))} ${what}`);
}

const HINTS = 'q quit  s sort  r reverse  / filter  p pause  Tab page  ? help';

function lastLine(state: WatchState, extent: Extent, top: number, screen: Screen): string {
  const { prompt } = state;
  if (prompt !== null) {
    // Of a long filter the end is shown, where the user writes.
    const field = `${FIELDS[prompt.field]}: `;
    const room = Math.max(8, screen.width - field.length - 1);
    return `${screen.style.accent(field)}${Array.from(screen.safe(prompt.text)).slice(-room).join('')}_`;
  }
  const until = Math.min(extent.lines, top + extent.room);
  const where =
    extent.lines > extent.room ? `${formatCount(top + 1)}-${formatCount(until)} of ${formatCount(extent.lines)}` : '';
  return spread(state.help ? '? back' : HINTS, where, screen, screen.style.faint, screen.style.faint).trimEnd();
}

interface Table {
  readonly head: readonly string[];
  readonly body: readonly string[];
}

/** The first so many rows set the widths of columns, wherever the list is scrolled to. */
const MEASURED = 200;

interface JobRows<T> {
  readonly columns: readonly LiveColumn<T>[];
  readonly rows: readonly T[];
}

function renderJobs<T>({ columns, rows }: JobRows<T>, top: number, room: number, screen: Screen): Table {
  const [head, ...body] = renderRows(columns, rows.slice(top, top + room), screen, { beside: rows.slice(0, MEASURED) });
  return { head: head === undefined ? [] : [head], body };
}

/** The rows that can be seen, with the heads of their columns. */
function renderVisible(selection: Selection, top: number, room: number, screen: Screen): Table {
  switch (selection.page) {
    case 'jobs':
      return renderJobs(selection, top, room, screen);
    case 'pending':
      return renderJobs(selection, top, room, screen);
    case 'hosts': {
      const visible = selection.rows.slice(top, top + room);
      const beside = selection.rows.slice(0, MEASURED);
      const [first] = visible;
      if (first === undefined || 'host' in first) return renderHostLines(visible, selection.columns, screen, beside);
      // A job's host stays in sight when its own line is above the screen.
      const owner = selection.rows.slice(0, top).findLast((line) => 'host' in line);
      const shown = owner === undefined ? visible : [owner, ...visible.slice(1)];
      return renderHostLines(shown, selection.columns, screen, beside);
    }
  }
}

const SHORT = 10;

function footOf(selection: Selection | null, rows: number, screen: Screen): readonly string[] {
  return selection?.page === 'hosts' && rows >= SHORT ? describeTotals(totalHosts(selection.hosts), screen) : [];
}

/** The number of head lines of the list. */
function headRows(selection: Selection | null): number {
  if (selection === null || selection.rows.length === 0) return 0;
  return selection.page === 'hosts' && selection.columns.parts !== null ? 2 : 1;
}

/**
 * A frame of `rows` lines: what is shown and its time, a problem if there is one, the list, and the keys. `view` null:
 * nothing has come yet.
 */
export function renderWatch(
  state: WatchState,
  view: ClusterView | null,
  selection: Selection | null,
  screen: Screen,
  rows: number,
): Frame {
  const said = view === null ? null : problemLine(view, screen);
  const problem = said === null ? [] : wrap(said, screen.width).slice(0, MOST_OF_PROBLEM);
  const above = [headline(state, view, selection, screen), ...problem.map(screen.style.bad)];
  const foot = state.help ? [] : footOf(selection, rows, screen);
  const heads = headRows(selection);
  const room = Math.max(1, rows - above.length - heads - foot.length - 1);
  const extent = { lines: selection?.rows.length ?? 0, room };
  const top = clampTop(state.top, extent);
  const table = listOf(state, view, selection, { top, room }, screen);
  const list = [...table.head, ...table.body].slice(0, heads + room);
  const blank = Array.from({ length: Math.max(0, rows - above.length - list.length - foot.length - 1) }, () => '');
  const lines = [...above, ...list, ...blank, ...foot, lastLine(state, extent, top, screen)];
  // On the smallest of screens the first lines are kept, and the line with the keys.
  return {
    lines: lines.length <= rows ? lines : [...lines.slice(0, rows - 1), ...lines.slice(-1)].slice(0, rows),
    extent,
  };
}

function listOf(
  state: WatchState,
  view: ClusterView | null,
  selection: Selection | null,
  { top, room }: { readonly top: number; readonly room: number },
  screen: Screen,
): Table {
  if (state.help) return { head: [], body: helpLines(screen) };
  const waiting = selection?.page === 'pending' && view?.pending === null;
  if (selection === null || waiting) return { head: [], body: ['Asking Grid Engine ...'] };
  if (selection.rows.length === 0 && !isAnswered(view, selection))
    return { head: [], body: ['Not known: Grid Engine has not answered.'] };
  if (selection.rows.length === 0)
    return { head: [], body: [`Nothing here${selection.all > 0 ? ' matches; c clears the filters' : ''}.`] };
  return renderVisible(selection, top, room, screen);
}
