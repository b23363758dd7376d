import { readFileSync, readdirSync } from 'node:fs';
import { findCell } from '../../gridengine/find-cell';
import { findQconf } from '../../gridengine/qconf';
import { readSite } from '../../gridengine/site';
import type { Terminal } from '../terminal';
import { placesWithOurs } from './removal-plan';

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Jobs on this host whose own copy of the configuration names our hooks: a change in qmaster does not reach them. */
function jobsThatNameUs(hooks: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || !readIfThere(`/proc/${pid}/comm`).startsWith('sge_shepherd')) return false;
    return readIfThere(`/proc/${pid}/cwd/config`).includes(`${hooks}/`);
  });
}

/** Why hooks must stay at their path on this host; null: nobody names them any more. */
export async function whyStubsStay(hooks: string, env: Terminal['env']): Promise<string | null> {
  const jobs = jobsThatNameUs(hooks);
  if (jobs.length > 0) return `${jobs.length} running ${jobs.length === 1 ? 'job names' : 'jobs name'} them`;
  const cell = findCell(env);
  const qconf = findQconf(env, cell);
  if (qconf === null) return cell === null ? null : 'qconf, which could tell whether they are configured, is not here';
  try {
    const [place] = placesWithOurs(await readSite(qconf), [hooks]);
    return place === undefined ? null : `the ${place} names them; "qmemacct uninstall" on an admin host mends that`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
