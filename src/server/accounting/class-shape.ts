import {
  boolean,
  constant,
  described,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  string,
  type Shape,
  type ValueOf,
} from '../../base/shape';
import { PERS } from '../../gridengine/memory-request';
import { RECORD_SCHEMA } from '../../record/record';
import type { ClassObject } from '../../report/advice/class-screen';
import type { OutcomeObject, ReplayObject } from '../../report/advice/replay';
import type { Course } from '../../report/series/course';

/** Shape of the answer about a kind of job. */

const count = integer(0);
const bytes = number(0);
const many = <T>(item: Shape<T>): Shape<readonly T[]> => list(item, Infinity);

const PREDICTION = {
  complex: string,
  request: described(string, 'as qsub takes it'),
  risk: described(nullable(number(0, 1)), 'share of runs that would need more; null: too little is known'),
  runs: count,
  predictions: described(count, 'earlier runs for which as much was known as to state this risk'),
  failed: described(count, 'those of them that needed more'),
  undecided: described(count, 'beside them runs that were stopped at a limit below what was predicted'),
  mostly_stopped: described(boolean, 'whether most of the runs were stopped at a limit: then no risk is stated'),
  same_program: described(boolean, 'whether the runs are of the same script or command'),
};

const jobClass: Shape<ClassObject['class']> = object({
  owner: string,
  job_name: described(string, 'digits are one #: names that differ in them are of one kind'),
  slots: nullable(count),
  pe: nullable(string),
  project: nullable(string),
  queue: nullable(string),
});

const STOPPED_AT = 'the limit at which the run was stopped that needed most; null: it was not stopped';

const ADVICE = {
  class: jobClass,
  wanted_risk: number(0, 1),
  request: described(nullable(string), '"-l h_vmem=2.3G,h_rt=2:30:00"; null: nothing is known'),
  memory: nullable(
    object({
      ...PREDICTION,
      request_bytes: described(count, 'per slot, or per job where the complex is so consumed'),
      per: oneOf(PERS),
      largest_bytes: count,
      stopped_at_bytes: described(nullable(bytes), STOPPED_AT),
      runs_by_grid_engine_only: described(count, "runs of which only Grid Engine's figure is known"),
    }),
  ),
  time: nullable(
    object({
      ...PREDICTION,
      request_seconds: count,
      largest_seconds: number(0),
      stopped_at_seconds: described(nullable(number(0)), STOPPED_AT),
    }),
  ),
  slots: described(
    nullable(
      object({
        requested: count,
        busiest: described(number(0), 'the most slots that any of the runs kept busy, averaged over its time'),
        enough: count,
        runs: count,
      }),
    ),
    'fewer slots that would do; null: none would, or it is not known',
  ),
} satisfies { readonly [Name in keyof ClassObject]: Shape<ClassObject[Name]> };

const OUTCOME = {
  jobs: described(count, 'without the undecided ones, of which nothing else here is known either'),
  failed: described(count, 'jobs that would have needed more than their request'),
  undecided: described(count, 'jobs that were stopped at a limit below the request: whether it is enough is not known'),
  stated_risk: described(nullable(number(0, 1)), 'mean of the risks stated; null: none is'),
  unused_byte_seconds: number(0),
  used_byte_seconds: number(0),
};
const outcome: Shape<OutcomeObject> = object(OUTCOME);

const replay: Shape<ReplayObject> = object(
  {
    runs: count,
    advisable: described(count, 'runs before which there were enough others for any advice'),
    advice: many(object({ risk: number(0, 1), within: outcome, larger: outcome })),
    users: described(nullable(outcome), "the users' own requests"),
    rules: many(object({ name: string, ...OUTCOME })),
  },
  'what the advice would have done for each of these runs, knowing only those before it',
);

const run = object(
  {
    cluster: string,
    job_id: count,
    task_id: nullable(count),
    submitted_at: string,
    ended_at: string,
    seconds: number(0),
    needed_bytes: described(bytes, 'per slot (or per job), on the host that needed most'),
    requested_bytes: described(nullable(bytes), 'the same of the limit; null: none'),
    stopped: described(boolean, 'whether it was stopped at that limit: it needed more'),
  },
  'a run of which it is known what memory it needed',
);
export type ClassRun = ValueOf<typeof run>;

export const course: Shape<Course> = object(
  {
    runs: count,
    step_seconds: number(0),
    low_bytes: many(bytes),
    median_bytes: many(bytes),
    high_bytes: many(bytes),
    largest_bytes: many(bytes),
  },
  'memory of runs since the start of each: the lowest and highest tenth, median and largest at each step',
);

export const classAnswer = object({
  schema: constant(RECORD_SCHEMA),
  ...ADVICE,
  replay: nullable(replay),
  runs: described(many(run), 'in the order in which they ended'),
  course: described(nullable(course), 'of the latest runs'),
});
export type ClassAnswer = ValueOf<typeof classAnswer>;
