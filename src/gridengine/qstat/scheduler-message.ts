/** Where a job was not started. */
export interface Place {
  readonly kind: 'host' | 'queue' | 'cluster';
  /** A host, a queue instance or a cluster queue; empty for the whole cluster. */
  readonly name: string;
}

/** What one of the scheduler's messages says (`MSG_SCHEDD_INFO_...` in libs/sched/msg_schedd.h). */
export type SchedulerMessage =
  /** `(-l h_vmem=2G) cannot run at host "n1" because it offers only hc:h_vmem=1.000G` */
  | {
      readonly kind: 'offers';
      readonly place: Place;
      readonly complex: string;
      readonly value: string;
      /** `hc:` what other jobs have left of a consumable, `hl:` the load, `hf:` a value of the configuration. */
      readonly source: 'consumable' | 'load' | 'fixed';
    }
  /** `cannot run in PE "mpi" because it only offers 6 slots` */
  | { readonly kind: 'pe-slots'; readonly pe: string; readonly slots: number }
  /** `cannot run because it exceeds limit "alice/////" in rule "max/1"`; resource quota set and rule: `max/1` */
  | { readonly kind: 'quota'; readonly rule: string }
  /** `queue instance "all.q@n1" dropped because it is full` */
  | { readonly kind: 'place'; readonly place: Place; readonly why: string }
  /** Says no more than the job's state, its dependencies and its start time do. */
  | { readonly kind: 'state' }
  /** `schedd_job_info` is false: nothing is recorded. */
  | { readonly kind: 'off' }
  | { readonly kind: 'other'; readonly text: string };

const STATES: ReadonlySet<string> = new Set([
  'job is in error state',
  'job is in hold state',
  'job dropped because of job dependencies',
  'execution time not reached',
  'there are no messages available',
]);

/** Requests are the user's text: the last " cannot run " before a place counts. */
const CANNOT_RUN =
  /^(?:\(-l .*\) )?(?:job )?cannot run (?:(?:at|on) (host)|in (queue|queue instance)|(globally)) ?(?:"([^"]*)" )?because (.+)$/i;
const SOURCES: Readonly<Record<string, 'consumable' | 'fixed'>> = { c: 'consumable', f: 'fixed' };
const OFFERS = /^it offers only (?:[a-z]([a-z]):)?([^=]+)=(\S+)/;
const PE_SLOTS = /^cannot run in PE "([^"]*)" because it only offers (\d+) slots$/;
const QUOTA = /\bcannot run (?:in queue instance ".*" )?because (?:it )?exceeds limit (?:".*" )?in rule "?([^"]+)"?$/;
const DROPPED = /^queue instance "([^"]*)" (?:dropped because (?:it is )?(.+)|is (in suspend alarm.*))$/;
const OFF = /^\(Collecting of scheduler job information is turned off\b.*\)$/;

/** For a parallel job the scheduler calls the whole cluster a queue "global". */
const placeOf = (host: string | undefined, queue: string | undefined, name: string): Place =>
  (host === undefined && queue === undefined) || name === 'global'
    ? { kind: 'cluster', name: '' }
    : { kind: host === undefined ? 'queue' : 'host', name };

/** Reads one line of `qstat -j`'s scheduling info. Never throws: a text that is not known stays as it is. */
export function readSchedulerMessage(text: string): SchedulerMessage {
  if (STATES.has(text.toLowerCase())) return { kind: 'state' };
  if (OFF.test(text)) return { kind: 'off' };
  const [, pe, slots] = PE_SLOTS.exec(text) ?? [];
  if (pe !== undefined && Number.isSafeInteger(Number(slots))) return { kind: 'pe-slots', pe, slots: Number(slots) };
  const [, rule] = QUOTA.exec(text) ?? [];
  if (rule !== undefined) return { kind: 'quota', rule };
  const [, full, dropped, alarm] = DROPPED.exec(text) ?? [];
  if (full !== undefined) return { kind: 'place', place: { kind: 'queue', name: full }, why: dropped ?? alarm ?? '' };
  const [, host, queue, , name = '', why = ''] = CANNOT_RUN.exec(text) ?? [];
  if (why === '') return { kind: 'other', text };
  const place = placeOf(host, queue, name);
  const [, source, complex, value] = OFFERS.exec(why) ?? [];
  if (complex === undefined || value === undefined) return { kind: 'place', place, why };
  return { kind: 'offers', place, complex, value, source: SOURCES[source ?? ''] ?? 'load' };
}

/** Why a start failed, without the time and the ids before it: `11/21/2026 17:31:54 [1001:27226]: error: can't chdir to /x`. */
export function readStartError(text: string): string {
  return text.replace(/^\S+ \S+ \[\d+:\d+\]: (?:error: )?/, '');
}
