import { DAY_MS } from '../../base/units';
import { MEMBER_DAYS, NO_PROJECT, provesMembership } from '../../record/membership';
import type { AccountingReader } from '../../accounting/store';
import type { AccountingService } from '../accounting/accounting-thread';
import { cachedLookup } from '../cached-lookup';
import { FULL_ACCESS } from './access';

/** Newest records of each project that are looked at: one that can be believed is enough. */
const LOOKED_AT = 20;

/**
 * The projects whose jobs a user may see: those in which Grid Engine has run jobs of the user in the last three months,
 * by records that no user can have written. Rejects with StoreError.
 */
export async function sharedProjects(user: string, now: number, reader: AccountingReader): Promise<readonly string[]> {
  const interval = { since: now - MEMBER_DAYS * DAY_MS, until: now + DAY_MS };
  const { groups } = await reader.summary({ ...interval, owner: user, by: 'project' });
  const projects: string[] = [];
  for (const { key } of groups) {
    if (key === null || NO_PROJECT.includes(key)) continue;
    const { records } = await reader.records({
      ...interval,
      owner: user,
      project: key,
      limit: LOOKED_AT,
      totals: false,
    });
    if (records.some(provesMembership)) projects.push(key);
  }
  return projects.sort();
}

/** Asks the accounting DB for the projects that a user may see, and remembers them; none where it does not answer. */
export function newProjectsOf(
  accounting: AccountingService,
  now: () => number,
): (user: string) => Promise<readonly string[]> {
  const find = cachedLookup(async (user: string): Promise<readonly string[] | null> => {
    try {
      const bytes = await accounting.ask({ what: 'projects', query: { user, now: now() } }, FULL_ACCESS);
      // Not checked: a thread of this process wrote it.
      return (JSON.parse(bytes.toString('utf8')) as { readonly projects: readonly string[] }).projects;
    } catch {
      // The server logs that the accounting DB can't be read; until it answers, users see their own jobs only.
      return null;
    }
  }, now);
  return async (user) => (await find(user)) ?? [];
}
