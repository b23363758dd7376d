import { arrangeAttempts } from '../accounting/attempts';
import { groupBy } from '../base/group-by';
import type { AccountingReader } from '../accounting/store';
import type { Account } from '../report/json';
import { recordKeyText, type JobRecord } from '../record/record';
import { unite } from './find-job';

/** Jobs in one question: their records, which can be many for each, are in memory. */
const ASKED_AT_ONCE = 2000;

/** Which run of its job each record is: a store numbers the runs of whole jobs. Rejects with StoreError. */
export async function findAttempts(
  records: readonly JobRecord[],
  readers: readonly AccountingReader[],
): Promise<readonly Account[]> {
  const attempts = new Map<string, number>();
  const jobs = [...new Set(records.map((record) => record.job_id))];
  for (let first = 0; first < jobs.length; first += ASKED_AT_ONCE) {
    const some = jobs.slice(first, first + ASKED_AT_ONCE);
    const answers = await Promise.all(readers.map((reader) => reader.jobs(some)));
    const byJob = groupBy(unite(answers.flat()), ({ record }) => record.job_id);
    for (const ofJob of byJob.values())
      for (const { record, attempt } of arrangeAttempts(ofJob, { all: true }).records)
        attempts.set(recordKeyText(record), attempt);
  }
  return records.map((record) => ({ record, attempt: attempts.get(recordKeyText(record)) ?? 1 }));
}
