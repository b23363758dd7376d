import { groupBy } from '../../base/group-by';
import { parseMemorySize } from '../../gridengine/memory-size';
import { readSchedulerMessage, type SchedulerMessage } from '../../gridengine/qstat/scheduler-message';
import { canStart, PRINTED, type UnfinishedJob } from '../../live/unfinished-job';
import { formatBytes, formatCount, formatRequested, plural } from '../format/units';
import { unbroken } from '../screen/layout';
import type { Screen } from '../screen/screen';

/** Why a job that could start has not been started. */
interface WaitingReasons {
  /** The hosts have not as much memory or as many slots as it requests: it can't start. */
  readonly fitsNoHost: boolean;
  /** Its owner can ask Grid Engine whether it could start if nothing else ran. */
  readonly canVerify: boolean;
  /** In one sentence each, the most important first. */
  readonly sentences: readonly string[];
}

type Offer = Extract<SchedulerMessage, { kind: 'offers' }>;
type PeSlots = Extract<SchedulerMessage, { kind: 'pe-slots' }>;

/** At most so many places are named in a sentence, and at most so many sentences are said about a job. */
const PLACES = 3;
const SENTENCES = 6;

const amountOf = (text: string): number => {
  const parsed = parseMemorySize(text);
  return parsed.ok ? parsed.value : -1;
};

/** The value of a string complex such as `hostname` is not an amount. */
const isNumber = (text: string): boolean => parseMemorySize(text).ok;

/** "195.9 GiB" for 195.852G; a value that is not memory stays as it is. */
function offered(value: string, screen: Screen): string {
  const isMemory = /^[\d.]+[kmgt]$/i.test(value);
  return isMemory ? formatBytes(amountOf(value)) : screen.safe(value.replace(/\.0+$/, ''));
}

const requestOf = ({ requests }: UnfinishedJob, complex: string): string | null =>
  requests.find((request) => request.complex === complex)?.value ?? null;

/** No host has as much of the job's memory complex, in all, as one slot of the job requests. */
function lacksMemory(job: UnfinishedJob): boolean {
  const request = requestOf(job, job.complex);
  const { largest } = job;
  return request !== null && largest !== null && amountOf(request) > largest.capacity * PRINTED;
}

/** The hosts together have fewer slots, or memory for fewer, than the job needs to start. */
const lacksSlots = ({ pe, leastSlots, slotRoom }: UnfinishedJob): boolean =>
  pe !== null && leastSlots !== null && slotRoom !== null && leastSlots > slotRoom.all;

/** The job can't start, whatever else runs. */
export const fitsNoHost = (job: UnfinishedJob): boolean => lacksMemory(job) || lacksSlots(job);

function tooLarge(job: UnfinishedJob, screen: Screen): string {
  const { largest } = job;
  const request = screen.safe(requestOf(job, job.complex) ?? '');
  const has = largest === null ? '' : `: ${screen.safe(largest.name)} has most, ${formatRequested(largest.capacity)}`;
  return `It requests more memory than any host has (${screen.safe(job.complex)}=${request}${has}): it can't start.`;
}

function tooManySlots(job: UnfinishedJob, screen: Screen): string {
  const has = formatCount(job.slotRoom?.all ?? 0);
  return `It requests ${slotsWords(job.leastSlots ?? 0, job, screen)}, and all hosts together have ${has}: it can't start.`;
}

function offerSentence(offers: readonly Offer[], job: UnfinishedJob, screen: Screen): string {
  const [best] = [...offers].sort((a, b) => amountOf(b.value) - amountOf(a.value));
  if (best === undefined) return '';
  const { complex } = best;
  const request = requestOf(job, complex);
  const wanted = screen.safe(request === null ? complex : `${complex}=${request}`);
  const { kind, name } = best.place;
  const names = [...new Set(offers.map(({ place }) => place.name))];
  if (!isNumber(best.value)) return `${wanted} does not fit ${listed(names, screen)}.`;
  if (best.source === 'fixed')
    return `${wanted} does not fit ${kind === 'cluster' ? 'the cluster' : listed(names, screen)}: set to ${offered(best.value, screen)}.`;
  if (best.source === 'load') {
    const has = `${screen.safe(name)} ${names.length === 1 ? 'reports' : 'reports most,'} ${offered(best.value, screen)}`;
    return `${wanted} does not fit ${listed(names, screen)} now: ${has}.`;
  }
  const hosts = kind === 'host' && complex === job.complex ? job.hosts : [];
  const total = hosts.find((host) => host.name === name)?.capacity ?? null;
  const of = total === null ? '' : ` of ${formatRequested(total)}`;
  const left = `${amountOf(best.value) > 0 ? offered(best.value, screen) : 'nothing'}${of}`;
  if (kind === 'cluster') return `${wanted} is not free now: the cluster has ${left} left.`;
  // The scheduler gives one reason for each place: places with another reason may have enough of this complex.
  const everywhere = hosts.length > 0 && hosts.every((host) => names.includes(host.name));
  if (names.length === 1 && !everywhere)
    return `${wanted} is not free on ${screen.safe(name)} now: ${left} is left there.`;
  const where = everywhere ? 'free on no host' : `not free on ${listed(names, screen)}`;
  return `${wanted} is ${where} now: most is left on ${screen.safe(name)}, ${left}.`;
}

function listed(names: readonly string[], screen: Screen): string {
  const shown = names.slice(0, PLACES).map(screen.safe).join(', ');
  return names.length > PLACES ? `${shown} and ${formatCount(names.length - PLACES)} more` : shown;
}

/** What the scheduler means by some of its words. */
const MEANT: Readonly<Record<string, string>> = {
  // In the states S, C, E and u.
  'temporarily not available': `suspended, in error, or its host is down (${unbroken('qstat -f')})`,
  // On each of its hosts (cqueue_match_static()).
  'of cluster queue': `does not allow what the job requests (${unbroken('qconf -sq')})`,
};

/** The scheduler names max_aj_instances also where it is the job's own `qsub -tc` that limits its tasks. */
const TASKS_AT_ONCE = "not all array tasks may be started due to 'max_aj_instances'";

const otherSentence = (text: string, screen: Screen): string =>
  text === TASKS_AT_ONCE
    ? `No more of its tasks may run at once: by ${unbroken('qsub -tc')}, or max_aj_instances (${unbroken('qconf -sconf')}).`
    : screen.safe(text);

const placesSentence = (why: string, names: readonly string[], screen: Screen): string =>
  `${names.length === 0 ? 'Cluster' : listed(names, screen)}: ${MEANT[why] ?? screen.safe(why)}.`;

/** "64 slots with h_vmem=4G each" */
function slotsWords(slots: number, { slotRoom: room }: UnfinishedJob, screen: Screen): string {
  const request = room?.request ?? null;
  const each = request === null ? '' : ` with ${screen.safe(request.complex)}=${screen.safe(request.value)} each`;
  return `${plural(slots, 'slot')}${each}`;
}

/** With `$pe_slots` a job is on one host; qstat does not say what the allocation rule is. */
function peSentence({ pe, slots }: PeSlots, job: UnfinishedJob, screen: Screen): string {
  const { leastSlots: wanted, slotRoom: room } = job;
  const name = screen.safe(pe);
  if (slots > 0 || wanted === null || room === null || wanted <= room.most)
    return `The parallel environment ${name} has only ${formatCount(slots)} slots for it now.`;
  const has = `${screen.safe(room.name)} has most, ${formatCount(room.most)}`;
  return `No host has ${slotsWords(wanted, job, screen)} (${has}): if ${name} puts a job on one host ($pe_slots), it can't start.`;
}

function sentencesOf(job: UnfinishedJob, screen: Screen): string[] {
  const messages = job.reasons.map(readSchedulerMessage);
  const offers = messages.filter((message) => message.kind === 'offers');
  const places = messages.filter((message) => message.kind === 'place');
  const quotas = new Set(messages.flatMap((message) => (message.kind === 'quota' ? [message.rule] : [])));
  return [
    ...[...groupBy(offers, ({ complex, source }) => `${source} ${complex}`).values()]
      .filter(([offer]) => offer?.complex !== job.complex || !lacksMemory(job))
      .map((group) => offerSentence(group, job, screen)),
    ...(lacksSlots(job)
      ? []
      : messages.flatMap((message) => (message.kind === 'pe-slots' ? [peSentence(message, job, screen)] : []))),
    ...[...quotas].map(
      (rule) =>
        `The resource quota ${screen.safe(rule)} leaves no room for it now (${unbroken(`qquota -u ${screen.safe(job.owner)}`)}).`,
    ),
    ...[...groupBy(places, ({ why }) => why)].map(([why, group]) =>
      placesSentence(
        why,
        group.flatMap(({ place: { name } }) => (name === '' ? [] : [name])),
        screen,
      ),
    ),
    ...messages.flatMap((message) => (message.kind === 'other' ? [otherSentence(message.text, screen)] : [])),
  ];
}

/** Complexes that hosts report as load: `qalter -w v` takes them for unknown ones, and so says that no queue fits. */
const REPORTED = /^(?:mem|swap|virtual)_(?:free|used)$|load|^cpu$/;

function canVerify({ reasons, requests, complex, largest }: UnfinishedJob): boolean {
  const isOpen = (message: SchedulerMessage): boolean => {
    if (message.kind !== 'offers') return message.kind === 'quota' || message.kind === 'pe-slots';
    const isKnown = message.place.kind === 'host' && message.complex === complex && largest !== null;
    return message.source === 'consumable' && !isKnown;
  };
  const isReported = requests.some((request) => request.kind === 'hard' && REPORTED.test(request.complex));
  return !isReported && reasons.map(readSchedulerMessage).some(isOpen);
}

/** Why the scheduler has not started a job; null: it is held, or its start failed. */
export function waitingReasons(job: UnfinishedJob, screen: Screen): WaitingReasons | null {
  if (!job.waiting.some(({ state }) => canStart(state))) return null;
  const sentences = [
    ...(lacksMemory(job) ? [tooLarge(job, screen)] : lacksSlots(job) ? [tooManySlots(job, screen)] : []),
    ...sentencesOf(job, screen),
  ];
  const off = job.reasons.some((text) => readSchedulerMessage(text).kind === 'off');
  if (sentences.length === 0)
    sentences.push(
      off
        ? `This scheduler records no reasons (schedd_job_info false); it checks at once with: ${unbroken(`qalter -w p ${job.job}`)}`
        : 'Grid Engine gives no reason: the next scheduling run may start it.',
    );
  const left = sentences.length - SENTENCES;
  const more = left > 0 ? [`${formatCount(left)} more reasons: ${unbroken(`qstat -j ${job.job}`)}`] : [];
  return {
    fitsNoHost: fitsNoHost(job),
    canVerify: canVerify(job),
    sentences: [...sentences.slice(0, SENTENCES), ...more],
  };
}
