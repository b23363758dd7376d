import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { bootId } from '../../sources/proc/clock';
import { checkJson, integer, object, string, type ValueOf } from '../../base/shape';
import { SAVED_FOLLOWER, type SavedFollower } from './job-follower';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import { replaceFile } from '../../base/replace-file';
import { resumePath, runDirectoryName, type RunDescription } from './run-description';
import type { Settings } from '../../record/settings';

/** What a sampler process left of a job for its successor; `missed`: why some of it may not be known, null: it is all. */
export type ResumeState =
  { readonly state: SavedFollower; readonly missed: string | null } | { readonly state: null; readonly missed: string };

/**
 * What the node's service knows of its jobs, for the process that goes on after it: one file a job in `RUN_DIR/resume`
 * (0700), written every few seconds and at its end. Good for this boot only.
 */
const RESUME_FILE = object({
  boot: string,
  /** ms since the epoch. */
  at: integer(0),
  state: SAVED_FOLLOWER,
});

/** The listener remembers a minute (listener/history.ts). */
const REMEMBERED_MS = 45_000;

const directoryOf = (settings: Settings): string => join(settings.run_dir, 'resume');
const pathOf = (settings: Settings, run: RunDescription): string => resumePath(settings, runDirectoryName(run));

/** Never throws: without it a successor begins anew. */
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

/** null: nothing was left, in this boot. */
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

/** Names (run-directory.ts) of the runs that have one. */
export function resumableRuns(settings: Settings): ReadonlySet<string> {
  try {
    return new Set(
      readdirSync(directoryOf(settings))
        .filter((name) => name.endsWith('.json'))
        .map((name) => name.slice(0, -'.json'.length)),
    );
  } catch {
    return new Set();
  }
}
