import type { Dialect } from '../../gridengine/dialect';
import { limitsHold } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import { badEnd, endName, endTime, type BadEnd } from './bad-end';
import { crash, fileSize, ownError } from './by-itself';
import { deleted, nodeLost, signalled, suspended } from './by-others';
import { judge, type Cause, type Hypothesis } from './hypothesis';
import type { Trial } from './large-request';
import { killedAtMemory, refusedMemory, softMemory, usedShare } from './memory';
import { failedAfterwards, neverRan, rescheduled } from './not-run';
import { outOfMemoryGroup, outOfMemoryNode } from './out-of-memory';
import { residentLimit } from './resident';
import { cpuTime, killedAtTime, softTime } from './time';
import { listed, PLAIN_WORDS, type Words } from './words';

export const CONFIDENCES = ['certain', 'likely', 'possible', 'unknown'] as const;

/**
 * `certain`: Grid Engine or the kernel says so; `likely`: one explanation fits, and better than any other; `possible`: it
 * fits, but so may others; `unknown`: the evidence does not suffice.
 */
export type Confidence = (typeof CONFIDENCES)[number];

/** Why a run of a job ended badly, as far as that is known. */
export interface Why {
  readonly confidence: Confidence;
  /** What fits best; several where the evidence does not decide between them, none where nothing fits. */
  readonly causes: readonly Cause[];
  readonly sentence: string;
  /** A request worth a try next time, where memory that was not measured may have been refused; null: none. */
  readonly trial: Trial | null;
  /** Every cause, compared with the evidence. */
  readonly hypotheses: readonly Hypothesis[];
}

type Examine = (end: BadEnd, words: Words) => Hypothesis;

const EXAMINE: readonly Examine[] = [
  neverRan,
  rescheduled,
  failedAfterwards,
  nodeLost,
  deleted,
  suspended,
  killedAtMemory,
  refusedMemory,
  softMemory,
  residentLimit,
  killedAtTime,
  softTime,
  cpuTime,
  outOfMemoryGroup,
  outOfMemoryNode,
  fileSize,
  crash,
  ownError,
  signalled,
];

/** Causes that exist only under Grid Engine. */
const BY_GRID_ENGINE: ReadonlySet<Cause> = new Set<Cause>([
  ...(['never-ran', 'rescheduled', 'failed-afterwards', 'deleted', 'suspended', 'h_vmem'] as const),
  ...(['refused-memory', 's_vmem', 'resident-memory', 'h_rt', 's_rt', 'cpu-time'] as const),
]);

/** Examines every cause. What never ran was not ended by any other cause, whatever else is known of it. */
function examineAll(end: BadEnd, words: Words): Hypothesis[] {
  const hypotheses = EXAMINE.map((examine) => examine(end, words));
  if (!limitsHold(end.master))
    return hypotheses.map((one) =>
      BY_GRID_ENGINE.has(one.cause) ? judge(one.cause, one.name).otherwise('it ran without Grid Engine') : one,
    );
  if (!hypotheses.some(({ cause, standing }) => cause === 'never-ran' && standing === 'consistent')) return hypotheses;
  return hypotheses.map((one) =>
    one.cause === 'never-ran' ? one : judge(one.cause, one.name).otherwise('it never ran'),
  );
}

/** Limits whose enforcement Grid Engine reports: then, if only one of these fits, it is as good as certain. */
const ENFORCED: ReadonlySet<Cause> = new Set<Cause>(['h_vmem', 'resident-memory', 'h_rt', 'cpu-time']);

function confidenceOf(end: BadEnd, best: readonly Hypothesis[], suspects: readonly Hypothesis[]): Confidence {
  const [first] = best;
  if (first === undefined) return 'unknown';
  if (best.length > 1) return 'possible';
  const others = suspects.filter((one) => one !== first && one.standing !== 'contradicted');
  if (first.weight === 3) return 'certain';
  const fitsAlone = !others.some(({ standing }) => standing === 'consistent');
  if (end.enforced !== null && ENFORCED.has(first.cause) && fitsAlone) return 'certain';
  return first.weight === 2 || others.length === 0 ? 'likely' : 'possible';
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function whatWouldShow(hypotheses: readonly Hypothesis[]): string {
  const sources = [...new Set(hypotheses.flatMap(({ wouldShow }) => (wouldShow === null ? [] : [wouldShow])))];
  return sources.length === 0 ? '' : ` Evidence needed: ${listed(sources.slice(0, 2), 'or')}.`;
}

function sentenceOf(
  end: BadEnd,
  confidence: Confidence,
  best: readonly Hypothesis[],
  suspects: readonly Hypothesis[],
  words: Words,
): string {
  const [first, ...others] = best;
  const open = suspects.filter(({ standing }) => standing === 'undecidable');
  if (first === undefined) {
    const at = usedShare(end);
    return end.enforced !== null
      ? `Grid Engine enforced a limit (${end.enforced}), but which one is unknown${at}.${whatWouldShow(open)}`
      : `Cause unknown: nothing known explains ${endName(end)}${endTime(end, words)}${at}.${whatWouldShow(open)}`;
  }
  if (first.cause === 'never-ran') return `It never ran: ${first.evidence}.`;
  if (first.cause === 'failed-afterwards') return `The job was over: ${first.evidence}.`;
  if (first.cause === 'deleted' && confidence === 'certain') return `It was deleted: ${first.evidence}.`;
  if (others.length > 0) {
    const all = best.map(({ name, evidence }) => `${name} (${evidence})`).join(' or ');
    const undecided = best.some(({ wouldShow }) => wouldShow !== null) ? best : open;
    return `Possible causes: ${all}.${whatWouldShow(undecided)}`;
  }
  const cause = `${first.name}. ${capital(first.evidence)}.`;
  return confidence === 'possible'
    ? `Possible cause: ${cause}${whatWouldShow(first.wouldShow === null ? open : [first])}`
    : `Probable cause: ${cause}`;
}

/**
 * Why one run of a job (or array task) ended badly; `records`: all its hosts and tasks, with what accounting says joined.
 * null: it ended well, still runs, or how it ended is unknown.
 */
export function whyEnded(
  records: readonly JobRecord[],
  words: Words = PLAIN_WORDS,
  dialect: Dialect = 'unknown',
): Why | null {
  const end = badEnd(records, dialect);
  if (end === null) return null;
  const hypotheses = examineAll(end, words);
  const suspects = hypotheses.filter(({ suspect }) => suspect);
  const consistent = suspects.filter(({ standing }) => standing === 'consistent');
  const most = consistent.reduce((weight, one) => Math.max(weight, one.weight), 0);
  const best = consistent.filter(({ weight }) => weight === most);
  const confidence = confidenceOf(end, best, suspects);
  return {
    confidence,
    causes: best.map(({ cause }) => cause),
    // Made only when it is read: of thousands of tasks few are explained.
    get sentence() {
      return sentenceOf(end, confidence, best, suspects, words);
    },
    trial: best.find(({ trial }) => trial)?.trial ?? null,
    hypotheses,
  };
}
