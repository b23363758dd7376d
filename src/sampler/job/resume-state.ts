import { mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bootId } from '../../sources/proc/clock';
import type { SavedFollower } from './job-follower';
import { reasonOf, warn } from '../../base/log';
import { replaceFile } from '../../base/replace-file';
import { runDirectoryName, type RunDescription } from './run-description';
import type { Settings } from '../../record/settings';

/**
 * What the node's service knows of its jobs, for the process that goes on after it: one file a job in `RUN_DIR/resume`
 * (0700), written every few seconds and at its end. Good for this boot and this version only.
 */
interface ResumeState {
  readonly state: SavedFollower;
  /** Why what happened meanwhile may not be known; left out: the listener still remembers it. */
  readonly missed?: string;
}

interface ResumeFile {
  readonly version: string;
  readonly boot: string;
  /** ms since the epoch. */
  readonly at: number;
  readonly state: SavedFollower;
}

const VERSION = '1';
/** The listener remembers a minute (listener/history.ts). */
const REMEMBERED_MS = 45_000;

const directoryOf = (settings: Settings): string => join(settings.run_dir, 'resume');
const pathOf = (settings: Settings, run: RunDescription): string =>
  join(directoryOf(settings), `${runDirectoryName(run)}.json`);

/** Never throws: without it a successor begins anew. */
export function writeResumeState(settings: Settings, run: RunDescription, state: SavedFollower): void {
  const file: ResumeFile = { version: VERSION, boot: bootId(), at: Date.now(), state };
  try {
    mkdirSync(directoryOf(settings), { recursive: true, mode: 0o700 });
    replaceFile(pathOf(settings, run), JSON.stringify(file), 0o600);
  } catch (error) {
    warn(`${pathOf(settings, run)}: ${reasonOf(error)}`);
  }
}

/** null: there is none that can be used. */
export function readResumeState(settings: Settings, run: RunDescription, nowMs = Date.now()): ResumeState | null {
  let file: ResumeFile | null;
  try {
    file = JSON.parse(readFileSync(pathOf(settings, run), 'utf8')) as ResumeFile | null;
  } catch {
    return null;
  }
  if (file?.version !== VERSION || file.boot !== bootId()) return null;
  const seconds = Math.max(0, Math.round((nowMs - file.at) / 1000));
  return nowMs - file.at <= REMEMBERED_MS
    ? { state: file.state }
    : { state: file.state, missed: `Nobody looked after this job for about ${seconds} s.` };
}

export function removeResumeState(settings: Settings, run: RunDescription): void {
  rmSync(pathOf(settings, run), { force: true });
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
