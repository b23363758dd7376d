import { RAISE, takenNeed, TIME_RAISE } from '../../advice/job-class';
import { jobClasses } from '../../advice/job-classes';
import type { Prior } from '../../advice/margins';
import { isAdvisable, Predictor } from '../../advice/predictor';
import { MEMORY_PRIOR, TIME_PRIOR } from '../../advice/prior';
import { bySubmission, replay, type PastRun } from '../../advice/replay';
import { H_VMEM } from '../../gridengine/memory-complex';
import { activeSeconds } from '../../record/efficiency';
import { nameClass } from '../../record/name-class';
import type { StoredRecord } from '../../record/merge';
import type { Per } from '../../gridengine/memory-request';
import type { JobRecord } from '../../record/record';
import { complexOf, requestOf } from '../../record/request';
import { adviseAlone, HEADROOM, roundRequest, type Advice } from './advice';
import { judgedBy, needOf } from './fit';
import { roundTime } from './next-time';
import { pastRuns, pastTimes, type MemoryRun } from './past-runs';

/** What kind of job it is, as far as that is known. */
export interface ClassFields {
  readonly owner: string;
  readonly jobName: string;
  /** null: not known. */
  readonly slots: number | null;
  readonly pe: string | null;
  /** null: none, or not known. */
  readonly project: string | null;
  readonly queue: string | null;
  /** As `programsOf` makes them. */
  readonly programs: readonly string[];
  /** null: that of the newest run. */
  readonly cluster: string | null;
  /** The complex that it requests memory by; null: that of the newest run. */
  readonly complex: string | null;
}

/** What to request of one resource, and why: bytes per slot (or per job, as the complex is consumed), or seconds. */
export interface Prediction {
  readonly amount: number;
  /** The share of runs that would need more; null: too few runs, or too different ones, to state any. */
  readonly risk: number | null;
  readonly runs: number;
  /** The most that any of those runs needed. */
  readonly largest: number;
  /** The limit at which the run that is taken to need most was stopped; null: it was not stopped. */
  readonly stoppedAt: number | null;
  /** Most of the runs were stopped at a limit: then no risk is stated. */
  readonly mostlyStopped: boolean;
  /** The runs are of the same script or command. */
  readonly sameProgram: boolean;
}

/**
 * How predictions with this risk have held: the earlier runs of the same kind for which one could be made, how many of
 * these needed more, and how many others were stopped at a limit below what was predicted.
 */
interface PastPredictions {
  readonly predictions: number;
  readonly failed: number;
  readonly undecided: number;
}

export interface MemoryPrediction extends Prediction {
  readonly complex: string;
  /** "2.3G" */
  readonly text: string;
  readonly per: Per;
  /** How many of the runs are known only by Grid Engine's own figure. */
  readonly countedOnly: number;
  /** The advice on the job itself, where that calls for more than past runs predict. */
  readonly alone: Advice | null;
}

interface TimePrediction extends Prediction, PastPredictions {
  /** "2:30:00" */
  readonly text: string;
}

/** With fewer slots a job would not fail, but take longer: no risk is stated. */
interface SlotsAdvice {
  readonly requested: number;
  /** The most slots that any of the runs kept busy, on average over its time. */
  readonly busiest: number;
  /** As many as the busiest run needed. */
  readonly enough: number;
  readonly runs: number;
}

/** What to request for a kind of job; null: its runs do not show it. */
export interface ClassAdvice {
  readonly memory: (MemoryPrediction & PastPredictions) | null;
  readonly time: TimePrediction | null;
  /** null also where the job needs all slots that it requests. */
  readonly slots: SlotsAdvice | null;
}

/** The wanted risk, and the job whose own needs the advice must cover, too. */
export interface Wanted {
  readonly risk: number;
  /** The job's records. */
  readonly own?: readonly JobRecord[];
}

/** The classes that a job belongs to, from narrow to wide. */
function classesOf(fields: ClassFields, newest: JobRecord | null): readonly string[] {
  const { jobName: job_name, slots, queue } = fields;
  const cluster = fields.cluster ?? newest?.cluster ?? '';
  const known = { size: slots !== null, place: queue !== null };
  return jobClasses({ ...fields, cluster, job_name }, fields.programs, known);
}

const ofClasses = <Run extends PastRun>(runs: readonly Run[], classes: readonly string[]): readonly Run[] =>
  runs.filter((run) => run.classes.some((name) => classes.includes(name)));

/** The parameters of predictions of one resource. */
interface Learning {
  readonly prior: Prior;
  /** The factor by which a limit that stopped a run is raised. */
  readonly raise: number;
}

const OF_MEMORY: Learning = { prior: MEMORY_PRIOR, raise: RAISE };
const OF_TIME: Learning = { prior: TIME_PRIOR, raise: TIME_RAISE };

/** A prediction, and the runs that it rests on. */
interface Founded<Run> {
  readonly prediction: Prediction;
  readonly basis: readonly Run[];
}

/** `alike`: the runs that share a class with these fields. */
function predictionBy<Run extends PastRun>(
  alike: readonly Run[],
  fields: ClassFields,
  newest: JobRecord | null,
  risk: number,
  { prior, raise }: Learning,
): Founded<Run> | null {
  if (alike.length === 0) return null;
  const classes = classesOf(fields, newest);
  const predictor = new Predictor(prior, raise);
  // The other classes of these runs are not needed.
  const learned = alike.map((run) => ({ ...run, classes: run.classes.filter((name) => classes.includes(name)) }));
  replay(bySubmission(learned), [], predictor, []);
  const known = predictor.known(classes);
  const jobClass = predictor.advisable(known);
  const name = classes[known.findIndex(isAdvisable)];
  const basis = name === undefined ? alike : ofClasses(alike, [name]);
  const largest = basis.reduce((most, { needed, stoppedAt }) => Math.max(most, needed, stoppedAt ?? 0), 0);
  const [first, ...others] = basis;
  if (first === undefined) return null;
  const takenOf = ({ needed, stoppedAt }: PastRun): number =>
    takenNeed({ needed: needed * HEADROOM, stoppedAt }, raise);
  const most = others.reduce((a, b) => (takenOf(b) > takenOf(a) ? b : a), first);
  // What was measured may be more than the raised limit that stopped the run, and then decides.
  const stoppedAt = most.stoppedAt !== null && takenOf(most) <= most.stoppedAt * raise ? most.stoppedAt : null;
  const sameProgram = name !== undefined && !classesOf({ ...fields, programs: [] }, newest).includes(name);
  const request = jobClass?.request(risk) ?? null;
  const { amount, risk: stated, runs } = request ?? { amount: takenOf(most), risk: null, runs: basis.length };
  const mostlyStopped = jobClass?.isMostlyStopped ?? false;
  return { prediction: { amount, risk: stated, runs, largest, stoppedAt, mostlyStopped, sameProgram }, basis };
}

/** `alike`: as in `predictionBy`. */
function pastPredictions(alike: readonly PastRun[], risk: number | null, { prior, raise }: Learning): PastPredictions {
  if (risk === null) return { predictions: 0, failed: 0, undecided: 0 };
  const [at] = replay(bySubmission(alike), [risk], new Predictor(prior, raise), []).advice;
  const { jobs: predictions = 0, failed = 0, undecided = 0 } = at?.within ?? {};
  return { predictions, failed, undecided };
}

function newestOf(stored: readonly StoredRecord[], { jobName }: ClassFields): JobRecord | null {
  const wanted = nameClass(jobName);
  return stored.reduce<JobRecord | null>((latest, { record }) => {
    const isLater = (record.ended_at ?? '') > (latest?.ended_at ?? '');
    return isLater && nameClass(record.job_name ?? '') === wanted ? record : latest;
  }, null);
}

const complexFor = ({ complex }: ClassFields, newest: JobRecord | null): string =>
  complex ?? (newest === null ? H_VMEM : complexOf(newest));

/** The runs of a kind of job whose memory need is known. `stored`: as in `adviseMemory`. */
export function classRuns(stored: readonly StoredRecord[], fields: ClassFields): readonly MemoryRun[] {
  const newest = newestOf(stored, fields);
  return ofClasses(pastRuns(stored, complexFor(fields, newest)), classesOf(fields, newest));
}

/**
 * The memory to request for a job of this kind at the wanted risk, or at the smallest larger one that can be stated.
 * `stored`: past runs of its owner and name, of other kinds too; `runs`: its classRuns. null: no run shows its need.
 */
export function adviseMemory(
  stored: readonly StoredRecord[],
  fields: ClassFields,
  { risk, own = [] }: Wanted,
  runs = classRuns(stored, fields),
): MemoryPrediction | null {
  const newest = newestOf(stored, fields);
  const founded = predictionBy(runs, fields, newest, risk, OF_MEMORY);
  if (founded === null) return null;
  const alone = adviseAlone(own, founded.prediction);
  if (alone !== null) return predictionAlone(alone);
  const complex = complexFor(fields, newest);
  const like = own[0] ?? newest;
  const per = (like && requestOf(judgedBy(like, complex)))?.per ?? 'slot';
  const countedOnly = founded.basis.filter((run) => run.countedOnly).length;
  const { bytes, text } = roundRequest(founded.prediction.amount);
  return { ...founded.prediction, amount: Math.trunc(bytes), text, per, complex, countedOnly, alone };
}

/** A prediction from the job itself: one run states no risk. */
function predictionAlone(alone: Advice): MemoryPrediction {
  const { complex, request, totalBytes, slots, per, record, need, stoppedAt } = alone;
  return {
    amount: Math.trunc(totalBytes / slots),
    text: request.slice(complex.length + 1),
    ...{ risk: null, runs: 1, largest: need.bytes / slots, stoppedAt, mostlyStopped: false, sameProgram: false },
    ...{ complex, per, alone },
    countedOnly: needOf(record) === null ? 1 : 0,
  };
}

/** The elapsed time to request, as `adviseMemory` does for memory. */
function adviseTime(stored: readonly StoredRecord[], fields: ClassFields, { risk }: Wanted): TimePrediction | null {
  const newest = newestOf(stored, fields);
  const alike = ofClasses(pastTimes(stored), classesOf(fields, newest));
  const founded = predictionBy(alike, fields, newest, risk, OF_TIME);
  if (founded === null) return null;
  const { seconds, text } = roundTime(founded.prediction.amount);
  return { ...founded.prediction, amount: seconds, text, ...pastPredictions(alike, founded.prediction.risk, OF_TIME) };
}

/** All advice for a kind of job, and how such predictions have held. `stored`: as in `adviseMemory`. */
export function adviseClass(stored: readonly StoredRecord[], fields: ClassFields, wanted: Wanted): ClassAdvice {
  const runs = classRuns(stored, fields);
  const memory = adviseMemory(stored, fields, wanted, runs);
  return {
    memory: memory && { ...memory, ...pastPredictions(runs, memory.risk, OF_MEMORY) },
    time: adviseTime(stored, fields, wanted),
    slots: adviseSlots(runs, fields),
  };
}

/** The same as the least number of runs for a memory request. */
const LEAST_RUNS = 3;

/** Busy slots that exceed a whole number by less than this need no further slot. */
const BUSY_ENOUGH = 0.1;

/** Whether fewer slots would do: only for runs on one host with as many slots is it known how many were busy. */
function adviseSlots(runs: readonly MemoryRun[], { slots: requested }: ClassFields): SlotsAdvice | null {
  if (requested === null || requested < 2) return null;
  const busy = runs.flatMap(({ records: [job, ...others] }) => {
    const { cpu_seconds: cpu, slots, host_slots: here } = job;
    const active = activeSeconds(job) ?? 0;
    const isKnown = others.length === 0 && slots === requested && here === slots;
    return isKnown && cpu !== null && active > 0 ? [cpu / active] : [];
  });
  if (busy.length < LEAST_RUNS) return null;
  const busiest = busy.reduce((most, one) => Math.max(most, one));
  const enough = Math.max(1, Math.ceil(busiest - BUSY_ENOUGH));
  return enough < requested ? { requested, busiest, enough, runs: busy.length } : null;
}
