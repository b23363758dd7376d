import { RAISE, takenNeed, TIME_RAISE } from '../../advice/job-class';
import { jobClasses } from '../../advice/job-classes';
import type { Prior } from '../../advice/margins';
import { isAdvisable, Predictor } from '../../advice/predictor';
import { MEMORY_PRIOR, TIME_PRIOR } from '../../advice/prior';
import { bySubmission, replay, type PastRun } from '../../advice/replay';
import { H_VMEM } from '../../gridengine/memory-complex';
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
  readonly project: string | null;
  readonly queue: string | null;
  /** As `programsOf`. */
  readonly programs: readonly string[];
  /** null: that of the newest run. */
  readonly cluster: string | null;
  /** What it requests memory by; null: that of the newest run. */
  readonly complex: string | null;
}

/** What to request of one thing, and on what that rests. Bytes per slot (per job where so consumed), or seconds. */
export interface Prediction {
  readonly amount: number;
  /** The share of runs that would need more; null: too few runs, or too different ones, to state any. */
  readonly risk: number | null;
  readonly runs: number;
  /** The most that any of those runs needed. */
  readonly largest: number;
  /** The limit at which the run was stopped that is taken to need most; null: it was not stopped. */
  readonly stoppedAt: number | null;
  /** Most of the runs were stopped at a limit: then no risk is stated. */
  readonly mostlyStopped: boolean;
  /** The runs are of the same script or command. */
  readonly sameProgram: boolean;
}

/**
 * Earlier runs of the same kind for which as much was known as to state this risk, those of them that needed more, and
 * beside them those that were stopped at a limit below what was predicted.
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
  /** How many of the runs are known by Grid Engine's own figure alone. */
  readonly countedOnly: number;
  /** The advice on the job itself, where that calls for more than past runs predict. */
  readonly alone: Advice | null;
}

interface TimePrediction extends Prediction, PastPredictions {
  /** "2:30:00" */
  readonly text: string;
}

/** Of fewer slots a job would not fail, but take longer: no risk is stated. */
interface SlotsAdvice {
  readonly requested: number;
  /** The most that any of the runs kept busy, in the mean over its time. */
  readonly busiest: number;
  /** As many as the busiest run needed. */
  readonly enough: number;
  readonly runs: number;
}

/** What to request for a kind of job; null: no run of it says. */
export interface ClassAdvice {
  readonly memory: (MemoryPrediction & PastPredictions) | null;
  readonly time: TimePrediction | null;
  /** null, too, where it needs the slots that it requests. */
  readonly slots: SlotsAdvice | null;
}

/** What is asked of past runs: a risk, and no less than the job itself calls for. */
export interface Wanted {
  readonly risk: number;
  /** The job's records. */
  readonly own?: readonly JobRecord[];
}

/** From narrow to wide. */
function classesOf(fields: ClassFields, newest: JobRecord | null): readonly string[] {
  const { jobName: job_name, slots, project, queue } = fields;
  const cluster = fields.cluster ?? newest?.cluster ?? '';
  const known = { size: slots !== null, place: project !== null && queue !== null };
  return jobClasses({ ...fields, cluster, job_name }, fields.programs, known);
}

const ofClasses = <Run extends PastRun>(runs: readonly Run[], classes: readonly string[]): readonly Run[] =>
  runs.filter((run) => run.classes.some((name) => classes.includes(name)));

/** What runs of a kind are held against. */
interface Learning {
  readonly prior: Prior;
  /** By how much a limit is raised that a run was stopped at. */
  readonly raise: number;
}

const OF_MEMORY: Learning = { prior: MEMORY_PRIOR, raise: RAISE };
const OF_TIME: Learning = { prior: TIME_PRIOR, raise: TIME_RAISE };

/** A prediction, and the runs that it rests on. */
interface Founded<Run> {
  readonly prediction: Prediction;
  readonly basis: readonly Run[];
}

/** `alike`: runs of the classes that these fields name. */
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
  // Of no other class of these runs anything is asked.
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
  // What was measured may decide beside a lower limit that it was stopped at.
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

/** The runs of a kind of job of which it is known what memory they needed. `stored`: as in `adviseMemory`. */
export function classRuns(stored: readonly StoredRecord[], fields: ClassFields): readonly MemoryRun[] {
  const newest = newestOf(stored, fields);
  return ofClasses(pastRuns(stored, complexFor(fields, newest)), classesOf(fields, newest));
}

/**
 * The memory to request for a job of this kind at the risk that is wanted, or at the smallest larger one that can be
 * stated. `stored`: past runs of its owner and name, of other kinds too; `runs`: its classRuns. null: none of them says.
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

/** It rests on one run, of which nothing follows for others. */
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

/** The same of its elapsed time. */
function adviseTime(stored: readonly StoredRecord[], fields: ClassFields, { risk }: Wanted): TimePrediction | null {
  const newest = newestOf(stored, fields);
  const alike = ofClasses(pastTimes(stored), classesOf(fields, newest));
  const founded = predictionBy(alike, fields, newest, risk, OF_TIME);
  if (founded === null) return null;
  const { seconds, text } = roundTime(founded.prediction.amount);
  return { ...founded.prediction, amount: seconds, text, ...pastPredictions(alike, founded.prediction.risk, OF_TIME) };
}

/** All that is advised, and how such predictions have held. `stored`: as in `adviseMemory`. */
export function adviseClass(stored: readonly StoredRecord[], fields: ClassFields, wanted: Wanted): ClassAdvice {
  const runs = classRuns(stored, fields);
  const memory = adviseMemory(stored, fields, wanted, runs);
  return {
    memory: memory && { ...memory, ...pastPredictions(runs, memory.risk, OF_MEMORY) },
    time: adviseTime(stored, fields, wanted),
    slots: adviseSlots(runs, fields),
  };
}

/** As few as for a request of memory. */
const LEAST_RUNS = 3;

/** A thread that waits a little still has a slot of its own. */
const BUSY_ENOUGH = 0.1;

/** Whether fewer slots would do: of runs on one host with the same number of slots it is known how many were busy. */
function adviseSlots(runs: readonly MemoryRun[], { slots: requested }: ClassFields): SlotsAdvice | null {
  if (requested === null || requested < 2) return null;
  const busy = runs.flatMap(({ records: [job, ...others] }) => {
    const { cpu_seconds: cpu, wallclock_seconds: elapsed, slots, host_slots: here } = job;
    const isKnown = others.length === 0 && slots === requested && here === slots;
    return isKnown && cpu !== null && elapsed !== null && elapsed > 0 ? [cpu / elapsed] : [];
  });
  if (busy.length < LEAST_RUNS) return null;
  const busiest = busy.reduce((most, one) => Math.max(most, one));
  const enough = Math.max(1, Math.ceil(busiest - BUSY_ENOUGH));
  return enough < requested ? { requested, busiest, enough, runs: busy.length } : null;
}
