import { groupBy } from '../../base/group-by';
import { jobOf } from '../../accounting/job-records';
import type { AccountingReader } from '../../accounting/store';
import { recordKeyText, type JobRecord } from '../../record/record';
import { wholeOf } from '../job/job-whole';

/** At most this many parallel jobs of a name are put together, as each may have thousands of records. */
const MOST = 3;

export interface WholeJobs {
  /** A record for each host of a parallel job, with the memory of all its tasks there; other records unchanged. */
  readonly records: readonly JobRecord[];
  /** What a request must fit: each host's memory, and each process's address space. */
  readonly needs: readonly JobRecord[];
}

/** Whether a record shows only a part of its job: a parallel job's master uses hardly any memory itself. */
export const isPart = ({ granted_hosts: hosts, pe_task_id: task }: JobRecord): boolean =>
  task !== null || (hosts?.length ?? 0) > 1;

/** All records of the run that `part` belongs to, as the store has them. Rejects with StoreError. */
export async function wholeRun(reader: Pick<AccountingReader, 'job'>, part: JobRecord): Promise<readonly JobRecord[]> {
  const { cluster, job_id, task_id } = part;
  const { records } = await reader.job({ cluster, job_id, ...(task_id === null ? {} : { task_id }), all: true });
  const own = records.find(({ record }) => recordKeyText(record) === recordKeyText(part));
  return records
    .filter(({ attempt, incarnation }) => attempt === own?.attempt && incarnation === own.incarnation)
    .map(({ record }) => record);
}

/** These records, with those of parallel jobs replaced by their whole jobs. Rejects with StoreError. */
export async function withWholeJobs(
  reader: Pick<AccountingReader, 'job'>,
  records: readonly JobRecord[],
): Promise<WholeJobs> {
  const plain = records.filter((record) => !isPart(record));
  const jobs = groupBy(records.filter(isPart), jobOf);
  const hosts: JobRecord[] = [];
  const needs: JobRecord[] = [];
  let made = 0;
  for (const [part] of [...jobs.values()].slice(0, 2 * MOST)) {
    if (part === undefined || made >= MOST) continue;
    const run = await wholeRun(reader, part);
    const [first, ...others] = run;
    if (first === undefined) continue;
    const whole = wholeOf([first, ...others]);
    if (whole.sum === null) continue;
    made += 1;
    hosts.push(...whole.hosts.map((host) => ({ ...host, job_name: whole.total.job_name })));
    needs.push(...whole.needs);
  }
  return { records: [...plain, ...hosts], needs: [...plain, ...needs] };
}
