import type { StoredRecord } from '../record/merge';
import type { AccountingReader } from '../accounting/store';

/** Who has run no job in a project for so long is no member any more. */
const MEMBER_DAYS = 92;
const DAY_MS = 86_400_000;
/** Of each project, newest first: one of them that can be believed is enough. */
const LOOKED_AT = 20;

/** What Grid Engine writes where there is no project: everybody is in it, so it is nobody's. */
const NO_PROJECT = ['', 'NONE', 'none'];

/** A user's own hooks could name any project: that Grid Engine has let the user in is known from root's eyes only. */
function isBelieved({ record, provenance }: StoredRecord): boolean {
  return (
    (provenance.project ?? record).trust !== 'self-reported' && (provenance.owner ?? record).trust !== 'self-reported'
  );
}

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
    if (records.some(isBelieved)) projects.push(key);
  }
  return projects.sort();
}
