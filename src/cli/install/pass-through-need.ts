import { reasonOf } from '../../base/user-error';
import { MIB } from '../../base/units';
import { textOfUntrusted } from '../../base/read-untrusted';
import { daemons } from '../../gridengine/daemons';
import { findCell } from '../../gridengine/find-cell';
import { gridEngineOwners } from '../../gridengine/owners';
import { findQconf, type QconfSettings } from '../../gridengine/qconf';
import { readSite } from '../../gridengine/site';
import { plural } from '../../report/format/units';
import type { Terminal } from '../terminal';
import { placesWithOurs } from './removal-plan';

const MOST_CONFIG_BYTES = MIB;

/**
 * How many jobs on this host have a copy of the configuration that names our hooks: a change in qmaster does not reach
 * them. A user can fake that, as the copy holds the job's arguments, too; then the pass-through only stays longer.
 */
function jobsThatNameUs(hooks: string, owners: ReadonlySet<number>, procRoot: string): number {
  return daemons(owners, procRoot).filter(({ name, pid, directoryUid }) => {
    if (name !== 'sge_shepherd' || directoryUid === null) return false;
    const believed = new Set([...owners, directoryUid]);
    const config = textOfUntrusted(`${procRoot}/${pid}/cwd/config`, MOST_CONFIG_BYTES, believed);
    return config?.includes(`${hooks}/`) === true;
  }).length;
}

/**
 * Whether hooks must stay at their path on this host. "named": something does, or may; "unnamed": nothing does, but an
 * execd may not know that yet; "alone": there is no Grid Engine that could name them.
 */
export type PassThroughNeed =
  { readonly kind: 'named'; readonly reason: string } | { readonly kind: 'unnamed' } | { readonly kind: 'alone' };

/** Never rejects. */
export async function passThroughNeed(
  hooks: string,
  env: Terminal['env'],
  settings: QconfSettings,
  procRoot = '/proc',
): Promise<PassThroughNeed> {
  const named = (reason: string): PassThroughNeed => ({ kind: 'named', reason });
  const jobs = jobsThatNameUs(hooks, gridEngineOwners(settings.admin_user, procRoot), procRoot);
  if (jobs > 0) return named(`${plural(jobs, 'running job names', 'running jobs name')} them`);
  try {
    const cell = findCell(env, settings);
    const qconf = findQconf(env, cell, settings);
    if (cell === null && qconf === null) return { kind: 'alone' };
    if (qconf === null) return named('qconf, which shows whether they are configured, is not here');
    const [place] = placesWithOurs(await readSite(qconf), [hooks]);
    if (place === undefined) return { kind: 'unnamed' };
    return named(`the ${place} names them; "qmemacct uninstall" on an admin host fixes that`);
  } catch (error) {
    return named(reasonOf(error));
  }
}
