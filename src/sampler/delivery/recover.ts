import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseSpoolUsage } from '../../gridengine/spool-usage';
import { readPrivateRecord, keyOfRun } from './finish';
import { groupAtEnd, NO_GROUP, type GroupAtEnd } from '../figures/cgroup';
import { readCgroupNote, removeJobCgroup } from '../job/job-cgroups';
import { RequestRules } from '../../record/request-rules';
import { describeJob, undescribed } from '../job/job-description';
import { buildRecord } from '../job/job-record';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import { removeLiveFile } from '../node-store/live-records';
import type { NodeStore } from '../node-store/node-store';
import { recordOrNull, type JobRecord } from '../../record/record';
import { removeResumeState, shepherdLives, type RunDescription } from '../job/run-description';
import { LEFT_MARK, RunDirectory } from '../job/run-directory';
import type { Settings } from '../../record/settings';
import { nothingObserved } from '../job/job-sampler';
import { withEnd } from '../job/two-accounts';
import { thisMachine } from '../peaks/slack';

/** A torn run directory may be one whose prolog is just writing it. */
const TORN_AGE_MS = 60_000;

/** The record of a run whose sampler never ran, or died: its last saved state and what the epilog copied. */
function orphanRecord(
  directory: RunDirectory,
  run: RunDescription,
  stored: JobRecord | null,
  settings: Settings,
  nowMs: number,
): JobRecord {
  const plain = unsampledRecord(
    run,
    { config: directory.copy('config'), usage: directory.copy('usage') },
    settings,
    nowMs,
    { sampled: stored !== null, ended: directory.finishedMs() !== null, group: groupAtEnd(run, settings) },
  );
  return stored === null ? plain : withEnd(stored, plain);
}

interface KnownOfRun {
  readonly sampled: boolean;
  /** The epilog came. */
  readonly ended: boolean;
  readonly group: GroupAtEnd;
}

const NOTHING_KNOWN: KnownOfRun = { sampled: false, ended: false, group: NO_GROUP };

/** The record of a run that no sampler saw to its end: what copies of its spool files say, and its control group. */
export function unsampledRecord(
  run: RunDescription,
  { config, usage: usageText }: { readonly config: string | null; readonly usage: string | null },
  settings: Settings,
  nowMs: number,
  { sampled, ended, group }: KnownOfRun = NOTHING_KNOWN,
): JobRecord {
  const usage = usageText === null ? null : parseSpoolUsage(usageText);
  const description =
    config === null
      ? undescribed(run.task, "Grid Engine's config file was gone when this record was made.")
      : describeJob(config, run, new RequestRules(settings));
  const epilogCame = ended || usage !== null;
  return buildRecord({
    key: keyOfRun(run, description, settings),
    description,
    observation: nothingObserved(),
    usage,
    status: run.memory === 'none' ? 'unsampled' : epilogCame ? 'finished' : 'lost',
    trust: run.hooks === 'plain' ? 'self-reported' : 'usage',
    cost: null,
    intervalSeconds: settings.interval,
    notes: [unsampledReason(run, sampled), ...group.notes],
    nowMs,
    endedMs: null,
    precision: thisMachine(),
    addressSpaceLimit: Infinity,
    noSwap: false,
    footprint: group.footprint,
    metrics: group.metrics,
  });
}

function unsampledReason(run: RunDescription, sampled: boolean): string {
  if (sampled)
    return 'The sampler died before the job ended: what it had saved is shown, its last seconds are missing.';
  if (run.reason !== '') return `Not sampled: ${run.reason}.`;
  return 'Not sampled: the sampler did not start or died before its first saved sample.';
}

/**
 * Finishes every run on this host that nobody looks after: the shepherd has gone, or the epilog has left its copies, and
 * no sampler holds the lock. Returns how many were finished.
 */
export function recoverOrphans(
  stateDirectory: string,
  store: NodeStore,
  settings: Settings,
  nowMs = Date.now(),
): number {
  let finished = 0;
  // First: a run that is left while we look here wants another look.
  rmSync(join(stateDirectory, 'run', LEFT_MARK), { force: true });
  for (const directory of RunDirectory.list(stateDirectory)) {
    try {
      if (recoverOne(directory, store, settings, nowMs)) finished++;
    } catch (error) {
      warn(`${directory.path} could not be finished: ${reasonOf(error)}`);
    }
  }
  return finished;
}

function recoverOne(directory: RunDirectory, store: NodeStore, settings: Settings, nowMs: number): boolean {
  if (!directory.isUnattended()) return false;
  const { name } = directory;
  const own = recordOrNull(readPrivateRecord(directory.path));
  const run = directory.description();
  const epilogLeftCopies = directory.hasCopies();
  if (own !== null && (run === null || epilogLeftCopies || !shepherdLives(run))) {
    store.finish(name, Date.parse(own.started_at ?? '') || nowMs, own, []);
    removeTraces(directory, settings);
    return true;
  }
  if (run === null) {
    if (nowMs - directory.changedMs() > TORN_AGE_MS) removeTraces(directory, settings);
    return false;
  }
  if (shepherdLives(run) && !epilogLeftCopies) return false;
  const stored = store.job(name);
  if (stored?.finished !== true) {
    const record = orphanRecord(directory, run, recordOrNull(stored?.record), settings, nowMs);
    store.finish(name, Date.parse(record.started_at ?? '') || nowMs, record, []);
  }
  removeTraces(directory, settings);
  return true;
}

/** The group first: as long as there is a run directory, it says where the group's processes came from. */
function removeTraces(directory: RunDirectory, settings: Settings): void {
  removeJobCgroup(directory.name, readCgroupNote(directory.path));
  removeLiveFile(settings, directory.name);
  removeResumeState(settings, directory.name);
  directory.remove();
}
