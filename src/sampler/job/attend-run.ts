import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import { JobFollower, type Surroundings } from './job-follower';
import { readResumeState, type ResumeState } from './resume-state';
import { removeResumeState, runDirectoryName, type RunDescription } from './run-description';
import type { RunDirectory } from './run-directory';

/** What a predecessor gives us directly; else the state is looked for that one has left in RUN_DIR/resume. */
interface Predecessor {
  readonly handed?: ResumeState | null;
  /** Its last record, asked for where there is no state that can be used; `left`: there is one of no use. */
  readonly record?: (left: boolean) => JobRecord | null;
}

/** Begins to follow a run, from where a predecessor has left it. */
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

/** Follows a run to its end and finishes it; one that another process goes on with is left as it is. */
export async function attendRun(follower: JobFollower, settings: Settings): Promise<'finished' | 'handed-over'> {
  const end = await follower.follow();
  if (end === 'handed-over') return end;
  await follower.finish(end);
  removeResumeState(settings, runDirectoryName(follower.run));
  return 'finished';
}
