import type { NodeHeartbeat } from '../../record/node-status';
import { escapeForTerminal, escapeJson } from '../format/escape';
import { formatCount, formatDuration, plural } from '../format/units';
import { renderCsvRows } from '../records/csv';
import { wrap } from '../screen/layout';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';
import { worstState, type JudgedNode, type NodeState } from './judge';

export const NODE_COLUMNS: readonly Column[] = [
  { head: 'host', hosts: true, shrinksTo: 24 },
  { head: 'cluster', dispensable: 1 },
  { head: 'state' },
  { head: 'last heartbeat', align: 'right', dispensable: 2 },
  { head: 'waiting', align: 'right', dispensable: 3 },
  { head: 'last job', align: 'right', dispensable: 6 },
  { head: 'version', dispensable: 5 },
  { head: 'scope', dispensable: 7 },
  { head: 'listener', dispensable: 8 },
  { head: 'clock', align: 'right', dispensable: 4 },
  { head: 'problems', shrinksTo: 36 },
];

function stateWord(state: NodeState, { style }: Screen): string {
  if (state === 'critical') return style.bad('CRITICAL');
  return state === 'warning' ? style.warning('warning') : style.good('ok');
}

function ago(time: string | null, { now }: Screen): string {
  return time === null
    ? ''
    : `${formatDuration(Math.max(0, Math.round((now.getTime() - Date.parse(time)) / 1000)))} ago`;
}

function clockCell({ clock_offset_seconds: offset }: NodeHeartbeat): string {
  return offset === null ? '' : `${offset < 0 ? '-' : '+'}${formatDuration(Math.abs(offset))}`;
}

const listenerCell = ({ listener }: NodeHeartbeat): string => (listener === null ? '' : listener ? 'runs' : 'none');

function row({ host, node, state, problems }: JudgedNode, clusters: boolean, screen: Screen): readonly string[] {
  const known =
    node === null
      ? Array<string>(7).fill('')
      : [
          ago(node.heartbeat_at, screen),
          formatCount(node.waiting),
          ago(node.last_job_at, screen),
          screen.safe(node.version),
          node.scope,
          listenerCell(node),
          clockCell(node),
        ];
  const cluster = clusters ? screen.safe(node?.cluster ?? '') : '';
  return [screen.safe(host), cluster, stateWord(state, screen), ...known, screen.safe(problems.join('; '))];
}

const countOf = (nodes: readonly JudgedNode[], state: NodeState): number =>
  nodes.filter((node) => node.state === state).length;

/** "1.2.3 (40), 1.2.2 (2)": the most common first. */
function versionsText(nodes: readonly JudgedNode[]): string {
  const counts = new Map<string, number>();
  for (const version of nodes.flatMap(({ node }) => node?.version ?? []))
    counts.set(version, (counts.get(version) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([version, count]) => `${version} (${formatCount(count)})`)
    .join(', ');
}

const waitingOf = (nodes: readonly JudgedNode[]): number =>
  nodes.reduce((sum, { node }) => sum + (node?.waiting ?? 0), 0);

/** "40 hosts: 1 critical, 39 ok; 12 records wait; versions: 1.2.3 (40)". */
export function nodesText(nodes: readonly JudgedNode[], screen: Screen): string {
  const [critical, warning] = [countOf(nodes, 'critical'), countOf(nodes, 'warning')];
  const states = [
    ...(critical > 0 ? [screen.style.bad(`${formatCount(critical)} critical`)] : []),
    ...(warning > 0 ? [screen.style.warning(`${formatCount(warning)} with a warning`)] : []),
    `${formatCount(countOf(nodes, 'ok'))} ok`,
  ];
  const hosts = plural(nodes.length, 'host');
  return `${hosts}: ${states.join(', ')}; ${formatCount(waitingOf(nodes))} records wait; versions: ${screen.safe(versionsText(nodes))}`;
}

/** A row of `NODE_COLUMNS` for each host. */
export function nodeCells(nodes: readonly JudgedNode[], screen: Screen): readonly (readonly string[])[] {
  const clusters = new Set(nodes.flatMap(({ node }) => node?.cluster ?? [])).size > 1;
  return nodes.map((node) => row(node, clusters, screen));
}

/** All hosts at a glance, the totals first. */
export function renderNodes(nodes: readonly JudgedNode[], screen: Screen): string[] {
  return [
    ...wrap(nodesText(nodes, screen), screen.width),
    '',
    ...renderTable(NODE_COLUMNS, nodeCells(nodes, screen), screen),
  ];
}

/** All hosts as JSON, with totals. */
export function renderNodesJson(nodes: readonly JudgedNode[]): string {
  const totals = {
    hosts: nodes.length,
    ok: countOf(nodes, 'ok'),
    warning: countOf(nodes, 'warning'),
    critical: countOf(nodes, 'critical'),
    waiting: waitingOf(nodes),
  };
  const all = nodes.map(({ host, node, state, problems }) => ({ host, state, problems, ...node }));
  return `${escapeJson(JSON.stringify({ schema: 1, totals, nodes: all }))}\n`;
}

/** Columns are a contract: none may be renamed, new ones come last. */
const CSV_COLUMNS = [
  'cluster',
  'version',
  'scope',
  'disabled',
  'listener',
  'clock_synchronised',
  'clock_offset_seconds',
  'waiting',
  'waiting_since',
  'refused',
  'last_job_at',
  'heartbeat_at',
  'failing_sources',
] as const satisfies readonly (keyof NodeHeartbeat)[];

function csvCell(node: NodeHeartbeat | null, name: (typeof CSV_COLUMNS)[number]): string | number | boolean | null {
  if (node === null) return null;
  return name === 'failing_sources' ? node[name].map(({ source }) => source).join(' ') : node[name];
}

export function renderNodesCsv(nodes: readonly JudgedNode[]): string {
  return renderCsvRows([
    ['host', 'state', 'problems', ...CSV_COLUMNS],
    ...nodes.map(({ host, node, state, problems }) => [
      host,
      state,
      problems.join('; '),
      ...CSV_COLUMNS.map((name) => csvCell(node, name)),
    ]),
  ]);
}

const NAMED = 5;

/** The one line of a Nagios or Icinga check, with its figures. */
export function renderCheck(nodes: readonly JudgedNode[]): string {
  const bad = nodes.filter(({ state }) => state !== 'ok');
  const named = bad.slice(0, NAMED).map(({ host, problems }) => `${host}: ${problems.join(', ')}`);
  const more = bad.length > NAMED ? [`${bad.length - NAMED} more`] : [];
  const says = bad.length === 0 ? 'all are ok' : `${bad.length} not ok: ${[...named, ...more].join('; ')}`;
  const figures = `hosts=${nodes.length} warning=${countOf(nodes, 'warning')} critical=${countOf(nodes, 'critical')} waiting=${waitingOf(nodes)}`;
  return `${checkLine(worstState(nodes), `${plural(nodes.length, 'host')}, ${says}`)} | ${figures}`;
}

/** The line of a check that could not be made. */
export function renderUnknown(reason: string): string {
  return checkLine('unknown', reason);
}

/** Monitoring takes what follows a `|` for figures, so the text must not contain one. */
function checkLine(state: NodeState | 'unknown', text: string): string {
  return `QMEMACCT ${state.toUpperCase()} - ${escapeForTerminal(text, false).replaceAll('|', '/')}`;
}
