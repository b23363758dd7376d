import { list, map, nullable, number, object, text, type ValueOf } from '../../base/shape';
import { recordShape, type JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import type { DescriptorBudget } from '../../sources/proc/process-files';
import type { Destination } from '../delivery/destination';
import type { Upkeep } from '../node-store/storage';
import type { MachineScan } from '../processes/machine-scan';
import type { Connect } from './hear-kernel';
import { SAVED_SAMPLER } from './job-sampler';
import type { CpuMeter, Throttle } from './pace';

/** What a sampler process provides to each of its jobs; the scopes `job` and `node` differ in nothing else. */
export interface Surroundings {
  readonly settings: Settings;
  readonly scope: Settings['scope'];
  /** Why the defaults stand in for the site's own settings; null: they don't. */
  readonly settingsProblem: string | null;
  /** Where records go by the site's present configuration; throws if that can't be used. */
  readonly destination: () => Destination;
  readonly upkeep: Upkeep;
  /** RLIMIT_FSIZE in bytes. */
  readonly fileSizeLimit: number;
  readonly descriptors: DescriptorBudget;
  readonly machine: MachineScan;
  readonly connect: Connect;
  /** The job is read at whole intervals after this moment (ms), together with others; left out: after its own start. */
  readonly phaseMs?: number;
  /** CPU time spent on reading this job. */
  readonly meter: CpuMeter;
  readonly throttle: Throttle;
  readonly saveEveryMs: number;
  /** CPU seconds of `meter` after which the job must go on in another process. */
  readonly spendable: number;
  /** Number of jobs that share this process's memory. */
  readonly jobs: () => number;
  /** Called at each save with the state for a successor; null: there will be no successor. */
  readonly keepState: ((state: SavedFollower) => void) | null;
}

/** What an earlier sampler process of the job left. */
export interface Predecessor {
  /** Its complete state; null: no usable state. */
  readonly resumed: SavedFollower | null;
  /** Why some of what happened before or since may be unknown; null: all is known. */
  readonly missed: string | null;
  /** Record so far of a sampler that left no usable state: the predecessor itself, or one before it. */
  readonly earlier: JobRecord | null;
}

/** State of a job for a successor process. */
export const SAVED_FOLLOWER = object({
  sampler: SAVED_SAMPLER,
  clock: number(),
  cpuSeconds: number(0),
  intervalMs: number(1),
  notes: list(text(4096), 10_000),
  metrics: map(number(), { key: /^\S+$/, what: 'metric', most: 10_000 }),
  /** Record of a sampler whose state was lost; its figures are not in the fields above. */
  earlier: nullable(recordShape),
});
export type SavedFollower = ValueOf<typeof SAVED_FOLLOWER>;
