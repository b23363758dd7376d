import { HIDDEN } from '../../../record/hidden';
import { jobTaskName } from '../../../record/job-name';
import { nameClass } from '../../../record/name-class';
import type { JobRecord } from '../../../record/record';
import type { CLASS } from '../../routes/accounting';
import type { Values } from '../../routes/parameter';
import { html, linkTo, type Html } from '../html';

type ClassOfJob = Pick<JobRecord, 'owner' | 'job_name'> &
  Partial<Pick<JobRecord, 'slots' | 'pe' | 'project' | 'queue' | 'program' | 'cluster'>>;

/** The kind of a job; null: its owner or name is not known. */
export function kindOfJob(job: ClassOfJob): Values<typeof CLASS> | null {
  const { owner, job_name: name, slots, pe, project, queue, program, cluster } = job;
  if (owner === null || owner === HIDDEN || name === null || name === '') return null;
  return {
    owner,
    job_name: nameClass(name),
    slots: slots ?? undefined,
    pe: pe ?? undefined,
    project: project ?? undefined,
    queue: queue ?? undefined,
    program: program ?? undefined,
    cluster,
    risk: undefined,
  };
}

/** Address of the page of a job's kind; null: the job's owner or name is not known. */
export function classLink(job: ClassOfJob): string | null {
  const kind = kindOfJob(job);
  return kind && linkTo('/class', kind);
}

/**
 * Address of a job's page. Its start time (`at`) keeps the address valid after the number is used again. Arrays and
 * running jobs go without: only the newest job of a number is added up, or shown with live figures.
 */
export function jobLink(
  job: Pick<JobRecord, 'job_id' | 'task_id' | 'cluster' | 'started_at' | 'status'>,
  isArray: boolean,
): string {
  const { cluster, started_at: at, status } = job;
  return isArray
    ? linkTo(`/job/${job.job_id}`, { cluster })
    : linkTo(`/job/${jobTaskName(job)}`, { cluster, at: status === 'running' ? null : at });
}

/** Address of the page that compares jobs; `cluster` undefined: the latest jobs with these numbers. */
export const compareLink = (names: readonly string[], cluster: string | undefined): string =>
  linkTo('/compare', { jobs: names.join(','), cluster });

/** Links from a job's page. */
export function jobLinks(record: JobRecord): Html {
  const ofKind = classLink(record);
  return html`<ul class="choices only-screen">
    ${ofKind === null ? null : html`<li><a href="${ofKind}">Runs of this kind</a></li>`}
    <li><a href="${compareLink([jobTaskName(record)], record.cluster)}">Compare with others</a></li>
  </ul>`;
}
