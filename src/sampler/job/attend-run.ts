import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import { JobFollower, type Surroundings } from './job-follower';
import { readResumeState, type ResumeState } from './resume-state';
import { removeResumeState, runDirectoryName, type RunDescription } from './run-description';
import type { RunDirectory } from './run-directory';

/** What a predecessor left. Without `handed`, its state is looked for in RUN_DIR/resume. */
interface Predecessor {
  readonly handed?: ResumeState | null;
  /** Gets its last record; called if there is no usable state. `left`: there is a state, but an unusable one. */
  readonly record?: (left: boolean) => JobRecord | null;
}

/** Begins to follow a run, from where a predecessor left off, if there was one. */
export function takeUpRun(
  run: RunDescription,
  directory: RunDirectory | null,
  surroundings: Surroundings,
  { handed = null, record = () => null }: Predecessor,
): JobFollower {
  const left = handed ?? readResumeState(surroundings.settings, run);
  const resumed = left?.state ?? null;
  const earlier = resumed === null ? record(left !== null) : resumed.earlier;
  return new JobFollower(run, directory, surroundings, { resumed, missed: left?.missed ?? null, earlier });
}

/** Follows a run to its end and finishes it; a run that another process takes over is left unfinished. */
export async function attendRun(follower: JobFollower, settings: Settings): Promise<'finished' | 'handed-over'> {
  const end = await follower.follow();
  if (end === 'handed-over') return end;
  await follower.finish(end);
  removeResumeState(settings, runDirectoryName(follower.run));
  return 'finished';
}
