import type { StoredRecord } from './merge';

/** A user who has run no job in a project for this many days no longer counts as a member. */
export const MEMBER_DAYS = 92;

/** What Grid Engine writes where there is no project; nobody counts as a member of it. */
export const NO_PROJECT: readonly string[] = ['', 'NONE', 'none'];

/**
 * Whether a record shows that Grid Engine has let its owner into its project. A user's own hooks could name any
 * project, so owner and project must come from accounts that no user can have written.
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
