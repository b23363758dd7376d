import { LEAST_RUNS, RAISE, takenNeed, TIME_RAISE, type JobClass } from '../../advice/job-class';
import { jobClasses } from '../../advice/job-classes';
import type { Prior } from '../../advice/margins';
import { Predictor } from '../../advice/predictor';
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
import { clientOf, roundTime } from './next-time';
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
  /** The client that submits such jobs: that of the job itself, else of the newest run. */
  readonly client: string;
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
  readonly prediction: Omit<Prediction, 'sameProgram'>;
  readonly basis: readonly Run[];
  /** The narrowest class with enough runs; null: none, so all runs count. */
  readonly name: string | null;
}

/** Runs by the classes that they belong to, and what they predict. */
class RunsByClass<Run extends PastRun> {
  private readonly runs: ReadonlyMap<string, readonly Run[]>;
  /** Jobs of thousands of programs mostly share a class. */
  private readonly predictions = new Map<string, Founded<Run> | null>();

  constructor(
    runs: readonly Run[],
    private readonly learning: Learning,
  ) {
    const byClass = new Map<string, Run[]>();
    for (const run of runs)
      for (const name of run.classes) {
        const others = byClass.get(name);
        if (others === undefined) byClass.set(name, [run]);
        else others.push(run);
      }
    this.runs = byClass;
  }

  /** The runs that share a class with these, which are narrow to wide. */
  alike(classes: readonly string[]): readonly Run[] {
    return this.runs.get(classes.at(-1) ?? '') ?? [];
  }

  /** What to request at a risk for a job of these classes; null: there are no such runs. */
  prediction(classes: readonly string[], risk: number): Founded<Run> | null {
    const name = classes.find((one) => (this.runs.get(one)?.length ?? 0) >= LEAST_RUNS) ?? null;
    const key = JSON.stringify([risk, name ?? classes.at(-1), name === null]);
    let known = this.predictions.get(key);
    if (known === undefined) {
      const basis = name === null ? this.alike(classes) : (this.runs.get(name) ?? []);
      this.predictions.set(key, (known = predictionBy(basis, name, risk, this.learning)));
    }
    return known;
  }
}

function predictionBy<Run extends PastRun>(
  basis: readonly Run[],
  name: string | null,
  risk: number,
  { prior, raise }: Learning,
): Founded<Run> | null {
  const [first, ...others] = basis;
  if (first === undefined) return null;
  const jobClass = name === null ? null : learned(basis, name, new Predictor(prior, raise));
  const largest = basis.reduce((most, { needed, stoppedAt }) => Math.max(most, needed, stoppedAt ?? 0), 0);
  const takenOf = ({ needed, stoppedAt }: PastRun): number =>
    takenNeed({ needed: needed * HEADROOM, stoppedAt }, raise);
  const most = others.reduce((a, b) => (takenOf(b) > takenOf(a) ? b : a), first);
  // What was measured may be more than the raised limit that stopped the run, and then decides.
  const stoppedAt = most.stoppedAt !== null && takenOf(most) <= most.stoppedAt * raise ? most.stoppedAt : null;
  const request = jobClass?.request(risk) ?? null;
  const { amount, risk: stated, runs } = request ?? { amount: takenOf(most), risk: null, runs: basis.length };
  const mostlyStopped = jobClass?.isMostlyStopped ?? false;
  return { prediction: { amount, risk: stated, runs, largest, stoppedAt, mostlyStopped }, basis, name };
}

/** The class after all of its runs. */
function learned(runs: readonly PastRun[], name: string, predictor: Predictor): JobClass | null {
  const classes = [name];
  replay(bySubmission(runs.map((run) => ({ ...run, classes }))), [], predictor, []);
  return predictor.advisable(predictor.known(classes));
}

/** `alike`: the runs that share a class with the job. */
function pastPredictions(alike: readonly PastRun[], risk: number | null, { prior, raise }: Learning): PastPredictions {
  if (risk === null) return { predictions: 0, failed: 0, undecided: 0 };
  const [at] = replay(bySubmission(alike), [risk], new Predictor(prior, raise), []).advice;
  const { jobs: predictions = 0, failed = 0, undecided = 0 } = at?.within ?? {};
  return { predictions, failed, undecided };
}

function newestOf(stored: readonly StoredRecord[], jobName: string): JobRecord | null {
  const wanted = nameClass(jobName);
  return stored.reduce<JobRecord | null>((latest, { record }) => {
    const isLater = (record.ended_at ?? '') > (latest?.ended_at ?? '');
    return isLater && nameClass(record.job_name ?? '') === wanted ? record : latest;
  }, null);
}

/** The past runs of an owner's jobs of one name class; what is made of them is kept. */
export class PastKind {
  readonly newest: JobRecord | null;
  private readonly byComplex = new Map<string, RunsByClass<MemoryRun>>();
  private byTime: RunsByClass<PastRun> | null = null;

  constructor(
    private readonly stored: readonly StoredRecord[],
    jobName: string,
  ) {
    this.newest = newestOf(stored, jobName);
  }

  /** The complex that a job requests memory by. */
  complexOf({ complex }: Pick<ClassFields, 'complex'>): string {
    return complex ?? (this.newest === null ? H_VMEM : complexOf(this.newest));
  }

  memory(complex: string): RunsByClass<MemoryRun> {
    let known = this.byComplex.get(complex);
    if (known === undefined)
      this.byComplex.set(complex, (known = new RunsByClass(pastRuns(this.stored, complex), OF_MEMORY)));
    return known;
  }

  get times(): RunsByClass<PastRun> {
    return (this.byTime ??= new RunsByClass(pastTimes(this.stored), OF_TIME));
  }
}

/** Whether a class is of runs of one script or command. */
const isOfProgram = (name: string | null, fields: ClassFields, newest: JobRecord | null): boolean =>
  name !== null && !classesOf({ ...fields, programs: [] }, newest).includes(name);

/** The runs of a kind of job whose memory need is known. */
export function classRuns(past: PastKind, fields: ClassFields): readonly MemoryRun[] {
  return past.memory(past.complexOf(fields)).alike(classesOf(fields, past.newest));
}

/**
 * The memory to request for a job of this kind at the wanted risk, or at the smallest larger one that can be stated;
 * null: no run shows its need.
 */
export function adviseMemory(past: PastKind, fields: ClassFields, { risk, own = [] }: Wanted): MemoryPrediction | null {
  const { newest } = past;
  const complex = past.complexOf(fields);
  const founded = past.memory(complex).prediction(classesOf(fields, newest), risk);
  if (founded === null) return null;
  const sameProgram = isOfProgram(founded.name, fields, newest);
  const prediction = { ...founded.prediction, sameProgram };
  const alone = adviseAlone(own, prediction);
  if (alone !== null) return predictionAlone(alone);
  const like = own[0] ?? newest;
  const per = (like && requestOf(judgedBy(like, complex)))?.per ?? 'slot';
  const countedOnly = founded.basis.filter((run) => run.countedOnly).length;
  const { bytes, text } = roundRequest(prediction.amount);
  return { ...prediction, amount: Math.trunc(bytes), text, per, complex, countedOnly, alone };
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
function adviseTime({ times, newest }: PastKind, fields: ClassFields, { risk }: Wanted): TimePrediction | null {
  const classes = classesOf(fields, newest);
  const founded = times.prediction(classes, risk);
  if (founded === null) return null;
  const { prediction, name } = founded;
  const { seconds, text } = roundTime(prediction.amount);
  return {
    ...prediction,
    sameProgram: isOfProgram(name, fields, newest),
    amount: seconds,
    text,
    ...pastPredictions(times.alike(classes), prediction.risk, OF_TIME),
  };
}

/** All advice for a kind of job, and how such predictions have held. */
export function adviseClass(past: PastKind, fields: ClassFields, wanted: Wanted): ClassAdvice {
  const runs = classRuns(past, fields);
  const memory = adviseMemory(past, fields, wanted);
  const like = wanted.own?.[0] ?? past.newest;
  return {
    memory: memory && { ...memory, ...pastPredictions(runs, memory.risk, OF_MEMORY) },
    time: adviseTime(past, fields, wanted),
    slots: adviseSlots(runs, fields),
    client: clientOf(like === null ? [] : [like]),
  };
}

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
