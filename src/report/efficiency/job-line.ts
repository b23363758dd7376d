import { groupBy } from '../../base/group-by';
import { largestOfKnown } from '../../base/known';
import { countedByGridEngine } from '../../record/cause';
import { nameClass } from '../../record/name-class';
import { figureOf, measuredUpper } from '../../record/peak-figure';
import { recordKeyText, type JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import { FAR_BELOW_LIMIT } from '../../record/sums';
import type { MemoryPrediction, Prediction } from '../advice/class-advice';
import { adviseRequest, type Advice } from '../advice/advice';
import { judgedBy } from '../advice/fit';
import { gibHoursOf } from '../format/units';
import { endingLabel } from '../job/ending';
import { unusedByteSeconds } from '../../accounting/job-line';
import { jobOf } from '../../accounting/job-records';
import { toJobLines } from '../records/lines';
import { needsOf } from '../job/job-whole';
import { nextTime } from '../advice/next-time';
import type { KilledFound } from './killed-jobs';
import type { JobLine, LineAdvice } from './report';
import type { WholeJobs } from './whole-jobs';

/** The jobs of one owner and name class: their sums, and some of their records. */
export interface NameFound extends WholeJobs {
  /** The name class: `#` stands for digits. */
  readonly name: string;
  readonly owner: string;
  /**
   * Number of all records; `records`: those with most waste and those with the highest peaks: what fits them fits all.
   */
  readonly all: number;
  readonly jobs: number;
  readonly failed: number;
  readonly far_below: number;
  readonly waste_gib_hours: number;
  /** The memory that past runs of these names predict to be enough; null: no prediction. */
  readonly prediction: MemoryPrediction | null;
}

/** Byte-seconds requested above the peaks; each host of a parallel job counts by itself. */
const unusedOf = (job: readonly JobRecord[]): number =>
  unusedByteSeconds(job, ({ peak_rss: peak }) => peak && figureOf(peak)) ?? 0;

const wasteOfJobs = (records: readonly JobRecord[]): number =>
  gibHoursOf(toJobLines(records, 'unused').reduce((sum, job) => sum + unusedOf(job), 0));

/** "41 ok, 2 exit 1"; for a single record only the label. */
function endingOf(records: readonly JobRecord[]): string {
  const groups = [...groupBy(records, endingLabel)].sort(([, a], [, b]) => b.length - a.length);
  return groups.map(([label, { length }]) => (records.length === 1 ? label : `${length} ${label}`)).join(', ');
}

/** null: nothing can be advised, or the request is right. */
function adviceFor(records: readonly JobRecord[], prediction: Prediction | null): LineAdvice | null {
  const advice = adviseRequest(records, prediction);
  return advice === null ? null : toLineAdvice(advice);
}

function toLineAdvice({ request, kind, totalBytes, per, slots, guess, prediction }: Advice): LineAdvice | null {
  if (kind !== 'raise' && kind !== 'lower') return null;
  const rests = { risk: prediction?.risk ?? null, runs: prediction?.runs ?? null };
  return { request, kind, total_bytes: totalBytes, per, slots, guess, ...rests };
}

const firstKnown = <Key extends 'project' | 'queue' | 'job_name'>(
  records: readonly JobRecord[],
  field: Key,
): JobRecord[Key] => records.find((record) => record[field] !== null)?.[field] ?? null;

type LineSums = Pick<JobLine, 'records' | 'jobs' | 'complete' | 'waste_gib_hours' | 'ending'>;

function toLine(records: readonly JobRecord[], sums: LineSums, advice: LineAdvice | null): JobLine {
  const worst = records.reduce((most, record) => (unusedOf([record]) > unusedOf([most]) ? record : most));
  const names = new Set(records.map(({ job_name: name }) => name));
  return {
    cluster: worst.cluster,
    owner: worst.owner,
    job_name: names.size === 1 || worst.job_name === null ? worst.job_name : nameClass(worst.job_name),
    ...sums,
    job_id: worst.job_id,
    task_id: worst.task_id,
    project: firstKnown(records, 'project'),
    queue: firstKnown(records, 'queue'),
    hosts: [...new Set(records.map(({ host }) => host))].sort(),
    ended_at: records.reduce<string | null>(
      (last, { ended_at: end }) => (end !== null && end > (last ?? '') ? end : last),
      null,
    ),
    limit_bytes: largestOfKnown(records.map(limitOf)),
    ...peakOf(records),
    advice,
    cause: null,
    next_time: null,
  };
}

/**
 * The highest peak, and whether it is only a lower bound; where no peak was measured, Grid Engine's largest maxvmem.
 */
function peakOf(records: readonly JobRecord[]): Pick<JobLine, 'peak_bytes' | 'peak_is_lower_bound' | 'maxvmem_bytes'> {
  const peaks = records.flatMap(({ peak_rss: peak }) => peak ?? []);
  const [first, ...others] = peaks;
  if (first === undefined) {
    const maxvmem = largestOfKnown(records.map(countedByGridEngine));
    return { peak_bytes: null, peak_is_lower_bound: false, maxvmem_bytes: maxvmem };
  }
  const highest = others.reduce((most, peak) => (figureOf(peak) > figureOf(most) ? peak : most), first);
  return { peak_bytes: figureOf(highest), peak_is_lower_bound: measuredUpper(highest) === null, maxvmem_bytes: null };
}

const jobsOf = (records: readonly JobRecord[]): number => new Set(records.map(jobOf)).size;

/** The jobs of a name (an array, all hosts of a parallel job) as one line; null: none of them is known. */
export function lineOfName(found: NameFound): JobLine | null {
  const { all, jobs, failed, waste_gib_hours: waste, records, needs, prediction } = found;
  if (records.length === 0) return null;
  const known = jobsOf(records);
  const advice = adviceFor(
    prediction === null ? needs : needs.map((record) => judgedBy(record, prediction.complex)),
    prediction,
  );
  // These records have the highest peaks per host: a job that was not read and has fewer slots may need more per slot.
  const unseen = known < jobs && needs.some(({ slots }) => (slots ?? 1) > 1);
  const ending = known >= jobs ? endingOf(records) : failed === 0 ? 'ok' : `${failed} of ${all} failed`;
  return toLine(
    records,
    { records: all, jobs, complete: true, waste_gib_hours: waste, ending },
    unseen && advice?.risk === null ? null : advice,
  );
}

/** Whether the jobs of a line could request less: a parallel job may need more than its master's record shows. */
export const couldAskForLess = ({ advice, limit_bytes: limit, peak_bytes: peak }: JobLine): boolean =>
  advice === null ? peak !== null && peak < FAR_BELOW_LIMIT * (limit ?? 0) : advice.kind === 'lower';

/** Jobs that ended for lack of memory as one line. `cut`: there may be more than these. */
export function lineOfKilled({ records, runs, prediction }: KilledFound, cut: boolean): JobLine {
  const sums = {
    records: records.length,
    jobs: jobsOf(records),
    complete: !cut,
    waste_gib_hours: wasteOfJobs(records),
    ending: endingOf(records),
  };
  const line = toLine(records, sums, adviceFor(records, prediction));
  const [own] = runs;
  if (own === undefined) return line;
  const { causes, confidence, sentence } = own.why;
  const looked = new Set(runs.flatMap((run) => run.records.map(recordKeyText)));
  const next = nextTime(
    [...runs.flatMap((run) => needsOf(run.records)), ...records.filter((record) => !looked.has(recordKeyText(record)))],
    runs.map(({ why }) => why),
    prediction,
  );
  return {
    ...line,
    job_name: line.job_name ?? firstKnown(own.records, 'job_name'),
    job_id: own.records[0].job_id,
    task_id: own.records[0].task_id,
    advice: next?.memory == null ? null : toLineAdvice(next.memory),
    cause: {
      causes,
      confidence,
      sentence,
      alike: runs.filter(({ why }) => why.causes.join() === causes.join()).length,
      looked_at: runs.length,
    },
    next_time: next?.line ?? null,
  };
}
