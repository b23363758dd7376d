import { bytesForSlots } from '../gridengine/memory-request';
import { isLineOnly } from '../record/coverage';
import type { Candidate } from '../record/match';
import { withRequests, type Stamp, type StoredRecord } from '../record/merge';
import { mastersOfTasks } from './attempts';

/**
 * What a job requests beside its limits (`mem_free`, a site's own complex) stands in its category alone, so only in the
 * accounting line of its master: neither the spool of a slave host nor a task's own line has it. The tasks' records get
 * it from their master's.
 */

/** What a task gets from its master ranks below all that Grid Engine says of the task itself, whichever came first. */
const FROM_MASTER: Stamp = { trust: 'accounting', revision: 0, ended: false };

/** Whether slave tasks may lack requests after an account has turned `before` (null: new) into `stored`. */
export function bringsRequests(before: StoredRecord | null, stored: StoredRecord): boolean {
  const { record } = stored;
  if (record.pe_task_id !== null) return before?.record.host_slots !== record.host_slots;
  if (record.pe === null || isLineOnly(record) || Object.keys(record.requests).length === 0) return false;
  return before === null || isLineOnly(before.record) || before.record.requests !== record.requests;
}

/**
 * A slave task with those requests of its master per slot or host that it lacks, for its own slots; the same object if
 * it lacks none. Not passed on: requests per job, requests of a master known by its line alone (they are for all
 * hosts), and self-reported ones.
 */
function withRequestsOf(master: StoredRecord, task: StoredRecord): StoredRecord {
  const slots = task.record.host_slots;
  if (slots === null || isLineOnly(master.record)) return task;
  const lacking = Object.entries(master.record.requests).flatMap(([complex, asked]) => {
    const { trust } = master.provenance[`requests.${complex}`] ?? master.record;
    const { per, request_bytes: bytes } = asked;
    if (trust === 'self-reported' || per === 'job' || bytes === null) return [];
    return [[complex, { ...asked, limit_bytes: bytesForSlots(bytes, per === 'slot' ? slots : 1) }] as const];
  });
  return withRequests(task, Object.fromEntries(lacking), FROM_MASTER);
}

/** The records of a job or array task that lack requests of their masters, and the same records with them. */
export function filledTasks<C extends Candidate>(
  held: readonly C[],
): readonly { readonly task: C; readonly filled: StoredRecord }[] {
  const masters = mastersOfTasks(held.map(({ stored }) => stored));
  return held.flatMap((task) => {
    const master = masters.get(task.stored);
    const filled = master === undefined ? task.stored : withRequestsOf(master, task.stored);
    return filled === task.stored ? [] : [{ task, filled }];
  });
}
