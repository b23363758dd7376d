import { MIB } from '../../base/units';
import { AFTER_SIGNAL } from '../../gridengine/failed-code';
import { AFTER_REFUSAL, CLOSE_TO_LIMIT, countedByExecd, countedByGridEngine } from '../../record/cause';
import { judgedEnd, measuredUpper, shareOf } from '../../record/peak-figure';
import { limitsAddressSpace } from '../../gridengine/memory-complex';
import { DIALECT_FACTS, memoryMeaning, type MemoryMeaning, type MemoryMeasure } from '../../gridengine/dialect';
import { requestedMemory } from '../../gridengine/category-requests';
import type { Bracket, JobRecord } from '../../record/record';
import { complexOf, execdLimit, limitOf, limitsCgroup, processLimit } from '../../record/request';
import { needOf } from '../advice/fit';
import { formatBytes, formatDuration, formatPercent, formatRequested } from '../format/units';
import { endedBy, whenEnded, type BadEnd, type HostPart } from './bad-end';
import { A_SAMPLER, missingLine, SIGKILL, SIGXCPU } from './bad-end';
import { judge, strongest, type Hypothesis, type Judge } from './hypothesis';
import { largeRequest } from './large-request';
import { tooLittle } from './missing-unit';
import { amountOf, type Words } from './words';

function noLimit(part: HostPart, name: string): string {
  return part.limitKnown ? `no ${name} was in force` : `whether ${name} was in force is not known`;
}

/** The memory that execd compares with h_vmem in this dialect; in an unknown dialect as in 8.1.9. */
function heldOf(measure: MemoryMeasure | null, record: JobRecord): Bracket | null {
  if (measure === 'vmem_sum') return record.peak_vmem;
  if (measure === 'cgroup') return record.peak_footprint;
  return record.peak_rss_swap ?? record.peak_rss;
}

const HOLDS: Readonly<Record<MemoryMeasure, string>> = {
  rss_swap_sum: 'held',
  vmem_sum: 'had an address space (of all processes together) of',
  cgroup: 'was charged with',
};

/**
 * Open Cluster Scheduler leaves h_vmem to systemd where the job's cgroup is limited to it, or to a lower h_rss, which
 * counts as it was typed.
 */
function meaningOf({ dialect }: BadEnd, record: JobRecord, limit: number): MemoryMeaning {
  const ofRss = record.requests.h_rss?.request_bytes ?? null;
  const limitsUnit = limitsCgroup(record, limit) || (ofRss !== null && limitsCgroup(record, ofRss));
  return memoryMeaning(dialect, dialect === 'ocs' && limitsUnit);
}

/** How often the job was sampled, which tells what a peak without an upper bound may have missed. */
function sampling({ samples, longest_gap_seconds: gap }: JobRecord): string {
  if (samples === null || samples === 0) return '';
  return ` (${samples} sample${samples === 1 ? '' : 's'}${gap === null ? '' : `, longest gap ${formatDuration(gap)}`})`;
}

/** A rise of more than this share of the peak in the last tenth of the series counts as still growing. */
const GROWING = 0.02;

/** ", and was still growing"; '' where the series says otherwise or there is none. */
function growth({ series }: JobRecord): string {
  const values = series?.rss_bytes ?? [];
  const last = values[values.length - 1];
  const before = values[Math.floor(values.length * 0.9) - 1];
  if (last === undefined || before === undefined || values.length < 10) return '';
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  return last >= 0.9 * most && last - before > GROWING * most ? ', and was still growing' : '';
}

/** What Grid Engine would say of a limit that it enforced; null: perhaps nothing. A slave task only has failed 100. */
const sayingOfLimits = ({ dialect, subject, hidden }: BadEnd): string | null =>
  subject.pe_task_id === null && !(hidden && DIALECT_FACTS[dialect].namesWhoDeletes)
    ? DIALECT_FACTS[dialect].limitSaying
    : null;

/** Why execd can't have killed the job, whatever the limit; null: it may have. */
export function notByExecd(end: BadEnd): string | null {
  if (end.signal !== SIGKILL && end.enforced === null) return `it ended ${endedBy(end)}, Grid Engine kills by SIGKILL`;
  if (end.enforced !== null) return null;
  if (end.direct === false)
    return 'the shell of the job survived the SIGKILL and reported it: Grid Engine kills all processes of a job';
  if (end.failed !== null && end.failed !== AFTER_SIGNAL)
    return `Grid Engine says failed ${end.failed}, as for no limit`;
  const saying = sayingOfLimits(end);
  if (end.failed === AFTER_SIGNAL && saying !== null)
    return `Grid Engine says failed ${AFTER_SIGNAL}; of a limit that it enforced it says ${saying}`;
  return null;
}

/** The h_vmem of one host, and what is needed to compare the job's memory there with it. */
interface Allowed {
  readonly end: BadEnd;
  readonly record: JobRecord;
  readonly limit: number;
  /** null: the dialect is not known. */
  readonly measure: MemoryMeasure | null;
  /** "of the 4 GiB allowed on node17", " when SIGKILL came at 12:31:05". */
  readonly of: string;
  readonly when: string;
  readonly judged: Judge;
}

const weightOf = (end: BadEnd): 1 | 2 => (end.enforced === null ? 1 : 2);

/** Judges by Grid Engine's figure a parallel job that was not sampled: the figure may be of one host or of all. */
function heldByAccount({ end, record, limit, of, when, judged }: Allowed): Hypothesis {
  const counted = countedByGridEngine(record) ?? 0;
  const { granted_hosts: hosts, slots } = record;
  const allowed =
    hosts === null && slots !== null && slots > 1
      ? `of the ${formatRequested(limit)} that its ${slots} slots may hold together`
      : of;
  return counted >= CLOSE_TO_LIMIT * limit
    ? judged.consistent(weightOf(end), `Grid Engine counted ${formatBytes(counted)} ${allowed}${when}`)
    : judged.undecidable(`what it held ${allowed} is not known`, A_SAMPLER);
}

/** Judges by our own figures, where execd's own count is unknown. */
function heldByBracket(allowed: Allowed): Hypothesis {
  const { end, record, limit, of, when, judged } = allowed;
  const measure = allowed.measure ?? 'rss_swap_sum';
  const held = heldOf(measure, record);
  if (held === null) return heldByAccount(allowed);
  const { lower_bytes: lower, upper_bytes: upper } = held;
  const amount = `it ${HOLDS[measure]} ${amountOf(held)} ${of}`;
  if (lower >= limit) return judged.consistent(2, amount + when);
  // In an unknown dialect execd may add up address spaces.
  const isKnown = end.dialect !== 'unknown' || (record.peak_vmem?.upper_bytes ?? Infinity) < limit;
  if (upper !== null && upper < limit && isKnown) return judged.contradicted(amount);
  if (judgedEnd(held) >= CLOSE_TO_LIMIT * limit)
    return judged.consistent(weightOf(end), amount + when, missingLine(end));
  const seen = upper === null ? sampling(record) : '';
  return judged.undecidable(amount + seen, missingLine(end) ?? 'a shorter interval of the samples');
}

function heldAtLimit(end: BadEnd, part: HostPart, words: Words): Hypothesis {
  const judged = judge('h_vmem', "Grid Engine's own kill at h_vmem");
  const { record } = part;
  const limit = execdLimit(record);
  const little = tooLittle(end);
  if (limit === null || (limit <= 0 && little === null))
    return part.limitKnown
      ? judged.contradicted(noLimit(part, 'h_vmem'))
      : judged.undecidable(noLimit(part, 'h_vmem'), missingLine(end));
  const { execdLimit: measure } = meaningOf(end, record, part.limit ?? 0);
  if (end.dialect !== 'unknown' && measure === null)
    return judged.contradicted('Grid Engine leaves h_vmem to the kernel here');
  if (little !== null) return { ...judged.consistent(2, little.words), trial: little.trial };
  const of = `of the ${formatRequested(limit)} allowed on ${words.safe(part.host)}`;
  const when = `${whenEnded(end, words)}${growth(end.subject)}`;
  const counted = countedByExecd(record);
  if (counted === null) return heldByBracket({ end, record, limit, measure, of, when, judged });
  const counts = `Grid Engine counted ${formatBytes(counted)}`;
  if (counted < limit) return judged.contradicted(`${counts} ${of} (maxvmem)`);
  const held = heldOf(measure, record);
  return judged.consistent(
    2,
    held === null
      ? `${counts} ${of} (maxvmem)${when}`
      : `it ${HOLDS[measure ?? 'rss_swap_sum']} ${amountOf(held)} ${of} (${counts} as maxvmem)${when}`,
  );
}

/** execd adds up what all processes hold and kills the job above h_vmem. */
export function killedAtMemory(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('h_vmem', "Grid Engine's own kill at h_vmem");
  const never = notByExecd(end);
  if (never !== null) return end.signal === SIGKILL ? judged.contradicted(never) : judged.otherwise(never);
  const [first, ...others] = end.hosts.map((part) => heldAtLimit(end, part, words));
  return first === undefined ? judged.undecidable('its hosts are unknown') : strongest(first, others);
}

/** The limit that a memory complex set for the job on that host, in bytes; null: none is known. */
function requestedBytes(end: BadEnd, record: JobRecord, complex: string): number | null {
  const known = record.requests[complex];
  if (known !== undefined) return known.limit_bytes;
  const asked = requestedMemory(end.asked ?? [], complex);
  return asked === null ? null : asked * end.slots;
}

/** The same limit for all processes together, where execd adds up what they hold. */
export const requestedTogether = (end: BadEnd, record: JobRecord, complex: string): number | null =>
  execdLimit(record, complex) ?? requestedBytes(end, record, complex);

const ITS_MESSAGES = "the program's own messages (out of memory, bad_alloc, MemoryError)";

/** How much address space h_vmem allows each process of the subject, in bytes; null: no limit is known. */
function addressSpaceLimit({ subject, dialect }: BadEnd): number | null {
  const asked = subject.h_vmem;
  const ofSlot = subject.pe_task_id !== null && asked?.per === 'slot' && DIALECT_FACTS[dialect].limitsTasksToASlot;
  return ofSlot ? asked.request_bytes : processLimit(subject);
}

/** The limit at which the kernel refuses memory to each process of the subject, and how much was used of it. */
interface Refusing {
  readonly complex: string;
  /** null: none, or none known. */
  readonly limit: number | null;
  /** Address space, of RLIMIT_DATA what is resident; where unknown, memory, by Grid Engine's figure if not measured. */
  readonly used: number | null;
}

/** The lowest of the limits of each process: RLIMIT_AS (h_vmem, s_vmem) and RLIMIT_DATA (h_data, s_data). */
function refusing(end: BadEnd): Refusing {
  const { subject } = end;
  const limits = ['h_vmem', 's_vmem', 'h_data', 's_data'].map((complex) => ({
    complex,
    limit: complex === 'h_vmem' ? addressSpaceLimit(end) : requestedBytes(end, subject, complex),
  }));
  const height = ({ limit }: { limit: number | null }): number => (limit === null || limit <= 0 ? Infinity : limit);
  const { complex, limit } = limits.reduce((lowest, one) => (height(one) < height(lowest) ? one : lowest));
  const peaks = [subject.peak_process_vmem, limitsAddressSpace(complex) ? null : subject.peak_rss];
  const known = peaks.flatMap((peak) => (peak === null ? [] : [judgedEnd(peak)]));
  const used = known.length > 0 ? Math.min(...known) : (needOf(subject)?.bytes ?? countedByExecd(subject));
  return { complex, limit, used };
}

/** Many programs need more to start: with less, no sampler runs either. */
const LITTLE = 128 * MIB;

/**
 * Whether a process came so close to its limit, or may have come to one so small, that refused memory, which leaves no
 * trace, may have ended it.
 */
export function closeToRefusal(end: BadEnd): boolean {
  const { limit, used } = refusing(end);
  if (tooLittle(end) !== null) return true;
  return used === null ? limit !== null && limit > 0 && limit < LITTLE : (shareOf(used, limit) ?? 0) >= CLOSE_TO_LIMIT;
}

/** The largest address space of a process, and the limit on it. */
interface LimitedSpace {
  readonly end: BadEnd;
  readonly complex: string;
  readonly limit: number;
  readonly space: Bracket;
  /** "of the 4 GiB that each may have on node17" */
  readonly allowed: string;
  readonly judged: Judge;
}

function refusedSpace({ end, complex, limit, space, allowed, judged }: LimitedSpace, words: Words): Hypothesis {
  const whose = space.command === null ? 'a process' : `a process (${words.safe(space.command)})`;
  const reached = `the address space of ${whose} had reached ${amountOf(space)} ${allowed}`;
  const large = largeRequest(end, limit);
  const trial = complex === 'h_vmem' ? (large?.trial ?? null) : null;
  if (space.lower_bytes >= CLOSE_TO_LIMIT * limit) {
    const at = `${reached}${whenEnded(end, words)}`;
    return large?.atStart === true
      ? { ...judged.consistent(2, `${at}; ${large.grounds}`), trial }
      : judged.consistent(2, at);
  }
  const isClose = closeToRefusal(end);
  if (large !== null)
    return { ...judged.consistent(isClose ? 1 : 2, `${reached}; ${large.grounds}`, ITS_MESSAGES), trial };
  if (isClose) return judged.consistent(1, reached, ITS_MESSAGES);
  const least = formatBytes(Math.max(0, limit - judgedEnd(space)), 'down');
  return judged.undecidable(
    `${reached}; a single request for ${least} more would have been refused, which is not recorded`,
    ITS_MESSAGES,
  );
}

/** The kernel refuses a process memory beyond its limit. */
export function refusedMemory(end: BadEnd, words: Words): Hypothesis {
  const { complex, limit, used } = refusing(end);
  const judged = judge('refused-memory', `memory that was refused at ${complex}`);
  if (end.signal === 0 ? (end.status ?? 0) === 0 : !AFTER_REFUSAL.has(end.signal))
    return judged.otherwise(`it ended ${endedBy(end)}: refused memory makes a program stop by itself`);
  if (end.failed !== null && end.failed !== 0 && end.failed !== AFTER_SIGNAL)
    return judged.otherwise(`Grid Engine says failed ${end.failed}`);
  const { subject } = end;
  const part = { host: subject.host, record: subject, limit, limitKnown: limitsOf(end) };
  if (limit === null || limit <= 0)
    return part.limitKnown ? judged.contradicted(noLimit(part, complex)) : judged.undecidable(noLimit(part, complex));
  const little = tooLittle(end);
  if (little !== null) return { ...judged.consistent(2, little.words), trial: little.trial };
  const allowed = `of the ${formatRequested(limit)} that each may have on ${words.safe(part.host)}`;
  const space = subject.peak_process_vmem;
  if (space !== null && limitsAddressSpace(complex))
    return refusedSpace({ end, complex, limit, space, allowed, judged }, words);
  if (!closeToRefusal(end))
    return judged.undecidable('how large its processes grew is not known', space === null ? A_SAMPLER : ITS_MESSAGES);
  return judged.consistent(
    1,
    used === null
      ? `many programs need more than the ${formatRequested(limit)} that each process may have`
      : `its processes had come to ${formatBytes(used)} ${allowed}`,
    ITS_MESSAGES,
  );
}

const limitsOf = (end: BadEnd): boolean =>
  end.hosts.find(({ host }) => host === end.subject.host)?.limitKnown ?? end.subject.h_vmem !== null;

/** The job is not known to have requested such a limit: the queue may have one of its own. */
export function notAsked(end: BadEnd, complex: string, judged: Judge, words: Words): Hypothesis {
  if (end.asked === null) return judged.undecidable('what limits it had is not known', missingLine(end));
  const queue = end.master.queue ?? end.subject.queue;
  const ask =
    queue === null ? 'the limits of its queue (qconf -sq)' : `qconf -sq ${words.safe(queue.split('@')[0] ?? queue)}`;
  return judged.undecidable(`it requested no ${complex}; its queue may set one`, ask);
}

/** execd's SIGXCPU above s_vmem. */
export function softMemory(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('s_vmem', "Grid Engine's SIGXCPU at s_vmem");
  if (end.signal !== SIGXCPU) return judged.otherwise(`it ended ${endedBy(end)}, s_vmem sends SIGXCPU`);
  const [part] = end.hosts;
  if (part === undefined) return judged.undecidable('its hosts are unknown');
  const limit = requestedTogether(end, part.record, 's_vmem');
  if (limit === null)
    return part.limitKnown && part.record.trust !== 'accounting'
      ? judged.contradicted('no s_vmem was in force')
      : notAsked(end, 's_vmem', judged, words);
  const held = heldOf(meaningOf(end, part.record, part.limit ?? 0).execdLimit, part.record);
  const own = countedByExecd(part.record);
  const of = `of the ${formatRequested(limit)} of s_vmem on ${words.safe(part.host)}`;
  if (own !== null) {
    const counted = `Grid Engine counted ${formatBytes(own)} ${of} (maxvmem)`;
    return own < limit ? judged.contradicted(counted) : judged.consistent(2, counted);
  }
  if (held === null) return judged.undecidable(`what it held ${of} is not known`, A_SAMPLER);
  const share = judgedEnd(held) / limit;
  const amount = `it held ${amountOf(held)} ${of}`;
  if (share >= CLOSE_TO_LIMIT) return judged.consistent(held.lower_bytes >= limit ? 2 : 1, amount);
  return measuredUpper(held) === null || end.dialect === 'unknown'
    ? judged.undecidable(amount + sampling(part.record), missingLine(end))
    : judged.contradicted(amount);
}

/** "; it had used 25 % of h_vmem"; '': nothing was requested, or nothing is known. */
export function usedShare(end: BadEnd): string {
  const shares = end.hosts.flatMap(({ record }) => shareOf(needOf(record)?.bytes ?? null, limitOf(record)) ?? []);
  return shares.length === 0
    ? ''
    : `; it had used ${formatPercent(Math.max(...shares))} of ${complexOf(end.hosts[0]?.record ?? end.subject)}`;
}
