/**
 * What a caller may see of other users' jobs. `anonymous`: the jobs without owners and names; `own`: not the jobs.
 * `user`: whose jobs are the caller's own; null: nobody's.
 */
export type Sight = { readonly of: 'all' } | { readonly of: 'anonymous' | 'own'; readonly user: string | null };

export const SEES_ALL: Sight = { of: 'all' };

/** Equal for callers who see the same. */
export function sightKey(sight: Sight): string {
  return sight.of === 'all' ? 'all' : `${sight.of}:${sight.user === null ? '' : `=${sight.user}`}`;
}
