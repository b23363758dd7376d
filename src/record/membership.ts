import type { StoredRecord } from './merge';

/** Who has run no job in a project for so many days is no member any more. */
export const MEMBER_DAYS = 92;

/** What Grid Engine writes where there is no project: everybody is in it, so it is nobody's. */
export const NO_PROJECT: readonly string[] = ['', 'NONE', 'none'];

/**
 * Whether a record shows that Grid Engine has let its owner into its project. A user's own hooks could name any: owner and
 * project must come from accounts that no user can have written.
 */
export function provesMembership({ record, provenance }: StoredRecord): boolean {
  return (
    record.owner !== null &&
    record.project !== null &&
    !NO_PROJECT.includes(record.project) &&
    (provenance.project ?? record).trust !== 'self-reported' &&
    (provenance.owner ?? record).trust !== 'self-reported'
  );
}
