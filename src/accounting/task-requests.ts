import { isLineOnly } from '../record/join';
import type { StoredRecord } from '../record/merge';

/**
 * What a job requests beside its limits (`mem_free`, a site's own complex) stands in its category alone, so only in the
 * accounting line of its master: neither the spool of a slave host nor a task's own line has it. The tasks' records get
 * it from their master's.
 */

const requestsOf = ({ record }: StoredRecord): number => Object.keys(record.requests).length;

/** Whether tasks may lack requests after an account has made `stored` of `before` (null: it is new). */
export function bringsRequests(before: StoredRecord | null, stored: StoredRecord): boolean {
  const { record } = stored;
  if (record.pe_task_id !== null) return before === null;
  if (record.pe === null || requestsOf(stored) === 0 || isLineOnly(record)) return false;
  return before === null || isLineOnly(before.record) || requestsOf(before) < requestsOf(stored);
}

/**
 * A task with the requests per slot of its master that it lacks, for its own slots; the same object where it lacks none.
 * A request for the whole job is its master's alone, and a line's master has those of all hosts. What only the job's
 * owner says of the master is not passed on.
 */
export function withRequestsOf(master: StoredRecord, task: StoredRecord): StoredRecord {
  const { host_slots: slots, requests } = task.record;
  if (slots === null || isLineOnly(master.record)) return task;
  const lacking = Object.entries(master.record.requests).flatMap(([complex, asked]) => {
    const { trust } = master.provenance[`requests.${complex}`] ?? master.record;
    const { per, request_bytes: bytes } = asked;
    if (trust === 'self-reported' || per === 'job' || bytes === null || Object.hasOwn(requests, complex)) return [];
    return [[complex, { ...asked, limit_bytes: bytes * slots }] as const];
  });
  if (lacking.length === 0) return task;
  return { ...task, record: { ...task.record, requests: { ...requests, ...Object.fromEntries(lacking) } } };
}
