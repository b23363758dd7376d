import type { JobRecord } from '../../record/record';

/**
 * What a caller may see of other users' jobs. `anonymous`: the jobs without owners and names; `own`: none of the jobs;
 * `project`: only the jobs in the caller's projects, with owners and names if `named`.
 * `user`: the user whose jobs are the caller's own; null: no job is.
 */
export type Access =
  | { readonly level: 'all' }
  | { readonly level: 'anonymous' | 'own'; readonly user: string | null }
  | {
      readonly level: 'project';
      readonly user: string | null;
      readonly projects: readonly string[];
      readonly named: boolean;
    };

export const FULL_ACCESS: Access = { level: 'all' };

/** Equal for callers who see the same. */
export function accessKey(access: Access): string {
  if (access.level === 'all') return 'all';
  const key = `${access.level}:${access.user === null ? '' : `=${access.user}`}`;
  return access.level === 'project' ? `${key} ${JSON.stringify([access.named, ...access.projects])}` : key;
}

/** Whether those of other users' jobs that are shown have their owners and names. */
export function showsNames(access: Access): boolean {
  return access.level === 'all' || access.level === 'own' || (access.level === 'project' && access.named);
}

/** What decides who may see a job. */
export type OwnerAndProject = Pick<JobRecord, 'owner' | 'project'>;

export function isOwn(owner: string | null, access: Access): boolean {
  return access.level === 'all' || (access.user !== null && owner === access.user);
}

/** Whether a job is shown at all. */
export function isShown({ owner, project }: OwnerAndProject, access: Access): boolean {
  if (access.level === 'all' || access.level === 'anonymous' || isOwn(owner, access)) return true;
  return access.level === 'project' && project !== null && access.projects.includes(project);
}

/** Whether a job is shown with all that is known of it. */
export function seesAll(job: OwnerAndProject, access: Access): boolean {
  return isOwn(job.owner, access) || (showsNames(access) && isShown(job, access));
}

/** Whether the caller may ask for the jobs of this owner by name. */
export function mayAskFor(owner: string, access: Access): boolean {
  return isOwn(owner, access) || (access.level === 'project' && access.named);
}
