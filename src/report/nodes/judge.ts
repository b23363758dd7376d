import { hostNames } from '../../gridengine/host-names';
import type { FailingSources, NodeHeartbeat } from '../../record/node-status';
import { formatDuration, plural } from '../format/units';

export type NodeState = 'ok' | 'warning' | 'critical';
const STATES: readonly NodeState[] = ['ok', 'warning', 'critical'];

/**
 * For how many seconds a host may send no heartbeat, or a record may wait on it, before that is a warning, or critical.
 */
export interface Patience {
  readonly warning: number;
  readonly critical: number;
}

/** The default. */
export const USUAL_PATIENCE: Patience = { warning: 1800, critical: 7200 };

/** A host, and what is wrong with it. */
export interface JudgedNode {
  readonly host: string;
  /** null: no heartbeat. */
  readonly node: NodeHeartbeat | null;
  readonly state: NodeState;
  readonly problems: readonly string[];
}

/** Accounting lines are joined with records within so many seconds: clocks may differ no more. */
const CLOCK_TOLERANCE = 2;

const SOURCES_NAMED = 5;

function namedSources(failing: FailingSources): string {
  const names = failing.slice(0, SOURCES_NAMED).map(({ source }) => source);
  return [...names, ...(failing.length > SOURCES_NAMED ? ['...'] : [])].join(', ');
}

const secondsBetween = (time: string, now: Date): number => (now.getTime() - Date.parse(time)) / 1000;
const secondsSince = (time: string, now: Date): number => Math.max(0, secondsBetween(time, now));

function stateAfter(seconds: number, { warning, critical }: Patience): NodeState {
  if (seconds >= critical) return 'critical';
  return seconds >= warning ? 'warning' : 'ok';
}

function problemsOf(node: NodeHeartbeat, now: Date, patience: Patience): (readonly [NodeState, string])[] {
  const silent = secondsSince(node.heartbeat_at, now);
  const waits = node.waiting_since === null ? 0 : secondsSince(node.waiting_since, now);
  const { waiting, refused, clock_offset_seconds: offset, failing_sources: failing } = node;
  const found: (readonly [NodeState, string])[] = [
    [stateAfter(silent, patience), `no heartbeat for ${formatDuration(silent)}`],
    [
      stateAfter(waits, patience),
      `${plural(waiting, 'record waits', 'records wait')}, oldest ${formatDuration(waits)}`,
    ],
  ];
  if (node.listener === false) found.push(['warning', 'no listener']);
  if (node.disabled) found.push(['warning', 'disabled']);
  if (failing.length > 0)
    found.push([
      'warning',
      `${failing.length === 1 ? 'a source fails' : `${failing.length} sources fail`}: ${namedSources(failing)}`,
    ]);
  if (refused > 0) found.push(['warning', `${plural(refused, 'record was', 'records were')} refused for good`]);
  if (offset !== null && Math.abs(offset) > CLOCK_TOLERANCE)
    found.push(['warning', `the clock is ${formatDuration(Math.abs(offset))} ${offset > 0 ? 'ahead' : 'behind'}`]);
  // Without a clock of the accounting DB's own, a heartbeat from the future shows at least this much.
  else if (offset === null && secondsBetween(node.heartbeat_at, now) < -CLOCK_TOLERANCE)
    found.push(['warning', `the clock is ${formatDuration(-secondsBetween(node.heartbeat_at, now))} ahead`]);
  else if (offset === null && node.clock_synchronised === false)
    found.push(['warning', 'no time service keeps the clock right']);
  return found.filter(([state]) => state !== 'ok');
}

const worst = (states: readonly NodeState[]): NodeState =>
  STATES[Math.max(0, ...states.map((state) => STATES.indexOf(state)))] ?? 'ok';

/** The worst state of all. */
export const worstState = (nodes: readonly JudgedNode[]): NodeState => worst(nodes.map(({ state }) => state));

/**
 * The hosts with a heartbeat since then (ms since the epoch), and all of Grid Engine's `hosts`: the worst first, then
 * those with the oldest heartbeat, then by name.
 */
export function judgeNodes(
  heartbeats: readonly NodeHeartbeat[],
  hosts: readonly string[],
  since: number,
  now: Date,
  patience: Patience,
): readonly JudgedNode[] {
  const nameOf = hostNames(hosts);
  const listed = new Set(hosts);
  const names = new Set(heartbeats.map(({ host }) => nameOf(host)));
  const shown = heartbeats.filter((node) => Date.parse(node.heartbeat_at) >= since || listed.has(nameOf(node.host)));
  const silent = hosts.filter((host) => !names.has(nameOf(host)));
  const judged = [
    ...shown.map((node): JudgedNode => {
      const problems = problemsOf(node, now, patience);
      const state = worst(problems.map(([one]) => one));
      return { host: node.host, node, state, problems: problems.map(([, says]) => says) };
    }),
    ...silent.map((host): JudgedNode => ({
      host,
      node: null,
      state: 'warning',
      problems: ['no heartbeat in this time'],
    })),
  ];
  const lastHeartbeat = ({ node }: JudgedNode): string => node?.heartbeat_at ?? '';
  return judged.sort(
    (a, b) =>
      STATES.indexOf(b.state) - STATES.indexOf(a.state) ||
      (a.state === 'ok' ? 0 : lastHeartbeat(a).localeCompare(lastHeartbeat(b))) ||
      a.host.localeCompare(b.host),
  );
}
