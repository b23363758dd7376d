import { groupBy } from '../../base/group-by';
import { parseMemorySize } from '../../gridengine/memory-size';
import { readSchedulerMessage, type SchedulerMessage } from '../../gridengine/qstat/scheduler-message';
import { canStart, type UnfinishedJob } from '../../live/unfinished-job';
import { formatBytes, formatCount, formatRequested } from '../format/units';
import { unbroken } from '../screen/layout';
import type { Screen } from '../screen/screen';

/** Why a job that could start has not been started. */
interface WaitingReasons {
  /** No host has as much memory as it requests: it can't start. */
  readonly fitsNoHost: boolean;
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
  return isMemory ? formatBytes(amountOf(value)) : screen.safe(value);
}

const requestOf = ({ requests }: UnfinishedJob, complex: string): string | null =>
  requests.find((request) => request.complex === complex)?.value ?? null;

/** qhost rounds amounts to a thousandth of their unit: 255.023G, or 1.000T. */
const PRINTED = 1.001;

/** No host has as much of the job's memory complex, in all, as one slot of the job requests. */
export function fitsNoHost(job: UnfinishedJob): boolean {
  const request = requestOf(job, job.complex);
  const { largest } = job;
  return request !== null && largest !== null && amountOf(request) > largest.capacity * PRINTED;
}

function tooLarge(job: UnfinishedJob, screen: Screen): string {
  const { largest } = job;
  const request = screen.safe(requestOf(job, job.complex) ?? '');
  const has = largest === null ? '' : `: ${screen.safe(largest.name)} has most, ${formatRequested(largest.capacity)}`;
  return `It requests more memory than any host has (${screen.safe(job.complex)}=${request}${has}): it can't start.`;
}

function offerSentence(complex: string, offers: readonly Offer[], job: UnfinishedJob, screen: Screen): string {
  const [best] = [...offers].sort((a, b) => amountOf(b.value) - amountOf(a.value));
  if (best === undefined) return '';
  const request = requestOf(job, complex);
  const wanted = screen.safe(request === null ? complex : `${complex}=${request}`);
  const { kind, name } = best.place;
  const names = [...new Set(offers.map(({ place }) => place.name))];
  if (!isNumber(best.value)) return `${wanted} does not fit ${listed(names, screen)}.`;
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

/** What the scheduler says of queues in the states S, C, E and u. */
const NOT_AVAILABLE = 'temporarily not available';

function placesSentence(why: string, names: readonly string[], screen: Screen): string {
  const meant =
    why === NOT_AVAILABLE ? `suspended, in error, or its host is down (${unbroken('qstat -f')})` : screen.safe(why);
  return `${names.length === 0 ? 'Cluster' : listed(names, screen)}: ${meant}.`;
}

/** With `$pe_slots` a job is on one host; qstat does not say what the allocation rule is. */
function peSentence({ pe, slots }: PeSlots, { slots: wanted, mostSlots: most }: UnfinishedJob, screen: Screen): string {
  const name = screen.safe(pe);
  if (slots > 0 || wanted === null || most === null || wanted <= most.slots)
    return `The parallel environment ${name} has only ${formatCount(slots)} slots for it now.`;
  const has = `${screen.safe(most.name)} has most, ${formatCount(most.slots)}`;
  return `No host has ${formatCount(wanted)} slots (${has}): if ${name} puts a job on one host ($pe_slots), it can't start.`;
}

function sentencesOf(job: UnfinishedJob, screen: Screen): string[] {
  const messages = job.reasons.map(readSchedulerMessage);
  const offers = messages.filter((message) => message.kind === 'offers');
  const places = messages.filter((message) => message.kind === 'place');
  const quotas = new Set(messages.flatMap((message) => (message.kind === 'quota' ? [message.rule] : [])));
  return [
    ...[...groupBy(offers, ({ complex }) => complex)]
      .filter(([complex]) => complex !== job.complex || !fitsNoHost(job))
      .map(([complex, group]) => offerSentence(complex, group, job, screen)),
    ...messages.flatMap((message) => (message.kind === 'pe-slots' ? [peSentence(message, job, screen)] : [])),
    ...[...quotas].map(
      (rule) =>
        `The resource quota ${screen.safe(rule)} leaves no room for it now (${unbroken(`qquota -u ${screen.safe(job.owner)}`)}); a request above the quota itself never starts.`,
    ),
    ...[...groupBy(places, ({ why }) => why)].map(([why, group]) =>
      placesSentence(
        why,
        group.flatMap(({ place: { name } }) => (name === '' ? [] : [name])),
        screen,
      ),
    ),
    ...messages.flatMap((message) => (message.kind === 'other' ? [screen.safe(message.text)] : [])),
  ];
}

/** Why the scheduler has not started a job; null: it is held, or its start failed. */
export function waitingReasons(job: UnfinishedJob, screen: Screen): WaitingReasons | null {
  if (!job.waiting.some(({ state }) => canStart(state))) return null;
  const never = fitsNoHost(job);
  const sentences = [...(never ? [tooLarge(job, screen)] : []), ...sentencesOf(job, screen)];
  const off = job.reasons.some((text) => readSchedulerMessage(text).kind === 'off');
  if (sentences.length === 0)
    sentences.push(
      off
        ? `This scheduler records no reasons (schedd_job_info false); it checks at once with: ${unbroken(`qalter -w p ${job.job}`)}`
        : 'Grid Engine gives no reason: the next scheduling run may start it.',
    );
  const left = sentences.length - SENTENCES;
  const more = left > 0 ? [`${formatCount(left)} more reasons: ${unbroken(`qstat -j ${job.job}`)}`] : [];
  return { fitsNoHost: never, sentences: [...sentences.slice(0, SENTENCES), ...more] };
}
