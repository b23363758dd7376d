import { replayShape } from '../../advice/replay';
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
import { courseShape } from '../../report/series/course';

/** Shape of the answer about a kind of job. */

const count = integer(0);
const bytes = number(0);

const PREDICTION = {
  complex: string,
  request: described(string, 'as qsub takes it'),
  risk: described(nullable(number(0, 1)), 'share of runs that would need more; null: too little is known'),
  runs: count,
  predictions: described(count, 'earlier runs for which this risk could be stated before they began'),
  failed: described(count, 'runs among these that needed more'),
  undecided: described(count, 'further runs, which were stopped at a limit below what was predicted'),
  mostly_stopped: described(boolean, 'whether most of the runs were stopped at a limit: then no risk is stated'),
  same_program: described(boolean, 'whether the runs are of the same script or command'),
};

const jobClass: Shape<ClassObject['class']> = object({
  owner: string,
  job_name: described(string, 'with # for digits: names that differ only in digits are of one kind'),
  slots: nullable(count),
  pe: nullable(string),
  project: nullable(string),
  queue: nullable(string),
});

const STOPPED_AT = 'the limit that stopped the run that needed most; null: it was not stopped';

const ADVICE = {
  class: jobClass,
  wanted_risk: number(0, 1),
  request: described(nullable(string), '"-l h_vmem=2.3G,h_rt=2:30:00"; null: nothing is known'),
  memory: nullable(
    object({
      ...PREDICTION,
      request_bytes: described(count, 'per slot, or per job if the complex is consumed so'),
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
  client: described(string, 'the client that submits such jobs: "qsub", "qrsh" ...'),
} satisfies { readonly [Name in keyof ClassObject]: Shape<ClassObject[Name]> };

const run = object(
  {
    cluster: string,
    job_id: count,
    task_id: nullable(count),
    submitted_at: string,
    ended_at: string,
    seconds: number(0),
    needed_bytes: described(bytes, 'per slot (or per job), on the host that needed most'),
    requested_bytes: described(nullable(bytes), 'the limit, per slot (or per job), on that host; null: none'),
    stopped: described(boolean, 'whether the run was stopped at that limit: it needed more'),
  },
  'a run whose memory need is known',
);
export type ClassRun = ValueOf<typeof run>;

export const classAnswer = object({
  schema: constant(RECORD_SCHEMA),
  ...ADVICE,
  replay: nullable(replayShape),
  runs: described(list(run), 'runs in the order in which they ended'),
  course: described(nullable(courseShape), 'memory over time of the latest runs'),
});
export type ClassAnswer = ValueOf<typeof classAnswer>;
