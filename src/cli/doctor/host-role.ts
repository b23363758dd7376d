import { hostname } from 'node:os';
import { hostLabel } from '../../gridengine/host-names';
import { reasonOf } from '../../base/user-error';
import { daemons, type DaemonName } from '../../gridengine/daemons';
import { cellDirectory, findCell, type CellLocation } from '../../gridengine/find-cell';
import { gridEngineOwners } from '../../gridengine/owners';
import { hostInCell } from '../../gridengine/own-host';
import { findQconf, type QconfSettings } from '../../gridengine/qconf';
import { showQconf } from '../../gridengine/site';
import type { Terminal } from '../terminal';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';

const { ok, note } = findingsIn('host');

/** A host's role in Grid Engine, and what shows it. */
export interface HostRole {
  /** Jobs run here, so hooks, samplers and what they need are checked. */
  readonly runsJobs: boolean;
  readonly says: string;
}

/** The one of Grid Engine's host names that is this machine's; null: none is. */
export function ownName(hosts: readonly string[], cell: CellLocation | null): string | null {
  const own = hostLabel(cell === null ? hostname() : hostInCell(cellDirectory(cell)));
  return hosts.find((host) => hostLabel(host) === own) ?? null;
}

/** Grid Engine's execution hosts; a string: why it can't be asked. Never rejects. */
export async function executionHosts(
  env: Terminal['env'],
  settings: QconfSettings,
): Promise<readonly string[] | string> {
  try {
    const qconf = findQconf(env, findCell(env, settings), settings);
    if (qconf === null) return 'qconf is not here';
    const said = await showQconf(qconf, ['-sel'], /^no .* (list )?defined/im);
    return said.split(/\s+/).filter((host) => host !== '');
  } catch (error) {
    return reasonOf(error);
  }
}

/** Judges the role by daemons, by what is installed here, or by Grid Engine's list. `asked`: --execution-host. */
export async function findRole(
  { settings, version, stamp, prefix }: NodeState,
  env: Terminal['env'],
  asked: boolean,
): Promise<HostRole> {
  const running = daemons(gridEngineOwners(settings.admin_user));
  const pidOf = (wanted: DaemonName): number | null => running.find(({ name }) => name === wanted)?.pid ?? null;
  const [execd, qmaster] = [pidOf('sge_execd'), pidOf('sge_qmaster')];
  const master = qmaster === null ? '' : ` and master host (sge_qmaster is process ${qmaster})`;
  const runsJobs = (why: string): HostRole => ({ runsJobs: true, says: `execution host (${why})${master}` });
  if (execd !== null) return runsJobs(`sge_execd is process ${execd}`);
  if (asked) return runsJobs('as asked for');
  if (version !== null || stamp !== null) return runsJobs(`no sge_execd runs, but hooks are installed under ${prefix}`);
  const hosts = await executionHosts(env, settings);
  const inList = typeof hosts === 'string' ? hosts : ownName(hosts, findCell(env, settings)) !== null;
  if (inList === true) return runsJobs('Grid Engine lists it, but no sge_execd runs');
  const grounds = [
    'no sge_execd runs',
    'no hooks are installed',
    typeof inList === 'string' ? `Grid Engine did not answer: ${inList}` : 'Grid Engine lists it as no execution host',
  ];
  return {
    runsJobs: false,
    says: `${qmaster === null ? 'no execution host' : `master host (sge_qmaster is process ${qmaster}), no execution host`}: ${grounds.join('; ')}`,
  };
}

/** The finding about the host's role, on which the other checks depend. */
export function roleFinding({ runsJobs, says }: HostRole): Finding {
  return runsJobs
    ? ok('role', says)
    : note('role', `${says}. What jobs need is not looked at`, 'if jobs are to run here: doctor --execution-host');
}
