import { join } from 'node:path';
import { warn } from '../../base/log';
import { reasonOf } from '../../base/user-error';
import type { JobRecord } from '../../record/record';
import { JobFollower } from './job-follower';
import type { Surroundings } from './surroundings';
import { readResumeState, type ResumeState } from './resume-state';
import { runDirectoryName, type RunDescription } from './run-description';
import type { RunDirectory } from './run-directory';

/** The record so far of a run in node.db, which ours will replace there; null: none that can be read. */
function earlierRecord(name: string, { upkeep, settings }: Surroundings): JobRecord | null {
  try {
    return upkeep.store.open().recordSoFar(name);
  } catch (error) {
    warn(`${join(settings.state_dir, 'node.db')}: ${reasonOf(error)}; the record so far of ${name} is left out`);
    return null;
  }
}

/**
 * Begins to follow a run, from where a predecessor left off, if there was one. `handed`: what that has handed over; else
 * its state is looked for in RUN_DIR/resume.
 */
export function takeUpRun(
  run: RunDescription,
  directory: RunDirectory | null,
  surroundings: Surroundings,
  handed: ResumeState | null = null,
): JobFollower {
  const left = handed ?? readResumeState(surroundings.settings, run);
  const resumed = left?.state ?? null;
  // A sampler that a prolog has started is the job's first one: opening node.db can wait.
  const mayHaveRecord = left !== null || surroundings.scope === 'node';
  const record = mayHaveRecord && resumed === null ? earlierRecord(runDirectoryName(run), surroundings) : null;
  const earlier = resumed?.earlier ?? record;
  return new JobFollower(run, directory, surroundings, { resumed, missed: left?.missed ?? null, earlier });
}
