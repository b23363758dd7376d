import { MEMBER_DAYS, NO_PROJECT, provesMembership } from '../../record/membership';
import type { AccountingReader } from '../../accounting/store';

const DAY_MS = 86_400_000;
/** Of each project, newest first: one of them that can be believed is enough. */
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
