import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import { followJob, type JobFollower, type SavedFollower, type Surroundings } from './job-follower';
import { readResumeState, removeResumeState } from './resume-state';
import type { RunDescription } from './run-description';
import type { RunDirectory } from './run-directory';

/** What a predecessor gives us directly; else the state is looked for that one has left in RUN_DIR/resume. */
interface Predecessor {
  readonly state?: SavedFollower | null;
  /** Its last record, asked for where there is no state. */
  readonly record?: () => JobRecord | null;
}

/** Begins to follow a run, from where a predecessor has left it. */
export function takeUpRun(
  run: RunDescription,
  directory: RunDirectory | null,
  surroundings: Surroundings,
  { state = null, record = () => null }: Predecessor,
): JobFollower {
  const left = state === null ? readResumeState(surroundings.settings, run) : { state };
  return followJob(run, directory, surroundings, {
    resumed: left?.state ?? null,
    ...(left?.missed === undefined ? {} : { missed: left.missed }),
    earlier: left === null ? record() : null,
  });
}

/** Follows a run to its end and finishes it; one that another process goes on with is left as it is. */
export async function attendRun(
  follower: JobFollower,
  settings: Settings,
): Promise<'finished' | 'handed-over' | 'stopped'> {
  const end = await follower.follow();
  if (end === 'stopped' || end === 'handed-over') return end;
  await follower.finish(end);
  removeResumeState(settings, follower.run);
  return 'finished';
}
