import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listNames } from '../../sources/files';
import { bootId } from '../../sources/proc/clock';
import { checkJson, integer, object, string, type ValueOf } from '../../base/shape';
import { SAVED_FOLLOWER, type SavedFollower } from './surroundings';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import { replaceFile } from '../../base/replace-file';
import { resumePath, runDirectoryName, type RunDescription } from './run-description';
import type { Settings } from '../../record/settings';

/** A job's state that a sampler left for its successor; `missed`: why something may be unknown, null: nothing is. */
export type ResumeState =
  { readonly state: SavedFollower; readonly missed: string | null } | { readonly state: null; readonly missed: string };

/**
 * What the node's service knows about a job, for the process that takes over from it: one file per job in
 * `RUN_DIR/resume` (0700), written at every save and when the service stops. Valid for this boot only.
 */
const RESUME_FILE = object({
  boot: string,
  /** ms since the epoch. */
  at: integer(0),
  state: SAVED_FOLLOWER,
});

/** A shorter gap loses no events: the listener remembers a minute (listener/history.ts). */
const REMEMBERED_MS = 45_000;

const directoryOf = (settings: Settings): string => join(settings.run_dir, 'resume');
const pathOf = (settings: Settings, run: RunDescription): string => resumePath(settings, runDirectoryName(run));

/** Never throws: without the file a successor begins anew. */
export function writeResumeState(settings: Settings, run: RunDescription, state: SavedFollower): void {
  const file: ValueOf<typeof RESUME_FILE> = { boot: bootId(), at: Date.now(), state };
  try {
    mkdirSync(directoryOf(settings), { recursive: true, mode: 0o700 });
    replaceFile(pathOf(settings, run), JSON.stringify(file), 0o600);
  } catch (error) {
    warn(`${pathOf(settings, run)}: ${reasonOf(error)}`);
  }
}

const unusable = (error: string): ResumeState => ({
  state: null,
  missed: `The state of an earlier sampler could not be used (${error}): the job is followed anew.`,
});

/** The state that a process hands over to its successor (SavedFollower as JSON). */
export function parseHandedState(text: string): ResumeState {
  const handed = checkJson(SAVED_FOLLOWER, text, 'the state that was handed over');
  return !handed.ok ? unusable(handed.error) : { state: handed.value, missed: null };
}

/** null: no state was left during this boot. */
export function readResumeState(settings: Settings, run: RunDescription, nowMs = Date.now()): ResumeState | null {
  let text: string;
  try {
    text = readFileSync(pathOf(settings, run), 'utf8');
  } catch {
    return null;
  }
  const file = checkJson(RESUME_FILE, text, 'its file');
  if (!file.ok) return unusable(file.error);
  const { boot, at, state } = file.value;
  if (boot !== bootId()) return null;
  const seconds = Math.max(0, Math.round((nowMs - at) / 1000));
  const missed = nowMs - at <= REMEMBERED_MS ? null : `This job was not sampled for about ${seconds} s.`;
  return { state, missed };
}

/** Names (run-directory.ts) of the runs that have a state file. */
export function resumableRuns(settings: Settings): ReadonlySet<string> {
  const names = listNames(directoryOf(settings)).filter((name) => name.endsWith('.json'));
  return new Set(names.map((name) => name.slice(0, -'.json'.length)));
}
