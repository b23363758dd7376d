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

/**
 * Whether hooks must stay at their path on this host: someone names them; nobody does now, but an execd may have heard
 * nothing yet; or there is no Grid Engine that could.
 */
export type StubNeed =
  { readonly kind: 'named'; readonly reason: string } | { readonly kind: 'unnamed' } | { readonly kind: 'alone' };

export async function stubNeed(hooks: string, env: Terminal['env']): Promise<StubNeed> {
  const named = (reason: string): StubNeed => ({ kind: 'named', reason });
  const jobs = jobsThatNameUs(hooks);
  if (jobs.length > 0) return named(`${jobs.length} running ${jobs.length === 1 ? 'job names' : 'jobs name'} them`);
  const cell = findCell(env);
  const qconf = findQconf(env, cell);
  if (cell === null && qconf === null) return { kind: 'alone' };
  if (qconf === null) return named('qconf, which could tell whether they are configured, is not here');
  try {
    const [place] = placesWithOurs(await readSite(qconf), [hooks]);
    if (place === undefined) return { kind: 'unnamed' };
    return named(`the ${place} names them; "qmemacct uninstall" on an admin host mends that`);
  } catch (error) {
    return named(error instanceof Error ? error.message : String(error));
  }
}
