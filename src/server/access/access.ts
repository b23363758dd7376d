/**
 * What a caller may see of other users' jobs. `anonymous`: the jobs without owners and names; `own`: not the jobs;
 * `project`: the jobs of their own projects, with owners and names where `named`, and no others.
 * `user`: whose jobs are the caller's own; null: nobody's.
 */
export type Sight =
  | { readonly of: 'all' }
  | { readonly of: 'anonymous' | 'own'; readonly user: string | null }
  | {
      readonly of: 'project';
      readonly user: string | null;
      readonly projects: readonly string[];
      readonly named: boolean;
    };

export const SEES_ALL: Sight = { of: 'all' };

/** Equal for callers who see the same. */
export function sightKey(sight: Sight): string {
  if (sight.of === 'all') return 'all';
  const key = `${sight.of}:${sight.user === null ? '' : `=${sight.user}`}`;
  return sight.of === 'project' ? `${key} ${JSON.stringify([sight.named, ...sight.projects])}` : key;
}

/** Whether owners and names of others' jobs are told, where the jobs are shown. */
export function tellsNames(sight: Sight): boolean {
  return sight.of === 'all' || sight.of === 'own' || (sight.of === 'project' && sight.named);
}

/** What identifies whose a job is. */
export interface Ownership {
  readonly owner: string | null;
  readonly project: string | null;
}

export function isOwn(owner: string | null, sight: Sight): boolean {
  return sight.of === 'all' || (sight.user !== null && owner === sight.user);
}

/** Whether a job is shown at all. */
export function isShown({ owner, project }: Ownership, sight: Sight): boolean {
  if (sight.of === 'all' || sight.of === 'anonymous' || isOwn(owner, sight)) return true;
  return sight.of === 'project' && project !== null && sight.projects.includes(project);
}

/** Whether the caller may ask for the jobs of this owner by name. */
export function mayAskFor(owner: string, sight: Sight): boolean {
  return isOwn(owner, sight) || (sight.of === 'project' && sight.named);
}
