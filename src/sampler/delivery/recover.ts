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
import { nothingObserved } from '../job/observation';
import { withEnd } from '../job/two-accounts';
import { thisMachine } from '../peaks/slack';

/** An unreadable run directory that is younger than this may still be written by its prolog. */
const TORN_AGE_MS = 60_000;

/**
 * The directories of one run: its own, and, if the disk had no room there for the epilog's copies, another one for
 * these (hooks/epilog.sh).
 */
type Places = readonly RunDirectory[];

const firstOf = <T>(places: Places, read: (directory: RunDirectory) => T | null): T | null => {
  for (const directory of places) {
    const found = read(directory);
    if (found !== null) return found;
  }
  return null;
};

/** The record of a run whose sampler never ran, or died: from its last saved record and what the epilog copied. */
function orphanRecord(
  places: Places,
  run: RunDescription,
  stored: JobRecord | null,
  settings: Settings,
  nowMs: number,
): JobRecord {
  const copies = places.filter((directory) => directory.hasCopies());
  const copy = (name: 'config' | 'usage'): string | null =>
    firstOf(copies.length > 0 ? copies : places, (directory) => directory.copy(name));
  const ended = places.some((directory) => directory.finishedMs() !== null);
  const known: KnownOfRun = { sampled: stored !== null, ended, group: groupAtEnd(run, settings) };
  const plain = unsampledRecord(run, { config: copy('config'), usage: copy('usage') }, settings, nowMs, known);
  return stored === null ? plain : withEnd(stored, plain);
}

interface KnownOfRun {
  readonly sampled: boolean;
  /** The epilog ran. */
  readonly ended: boolean;
  readonly group: GroupAtEnd;
}

const NOTHING_KNOWN: KnownOfRun = { sampled: false, ended: false, group: NO_GROUP };

/** The record of a run that no sampler saw to its end, made from copies of its spool files and its control group. */
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
    setByMs: 0,
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
 * Finishes every run on this host that nobody looks after: the shepherd has gone, or the epilog has left its copies,
 * and no sampler holds the lock. Returns how many were finished.
 */
export function recoverOrphans(store: NodeStore, settings: Settings, nowMs = Date.now()): number {
  let finished = 0;
  const runs = new Map<string, RunDirectory[]>();
  for (const parent of new Set([settings.state_dir, settings.run_dir])) {
    // First of all: a run that an epilog leaves while we look here needs another flush.
    rmSync(join(parent, 'run', LEFT_MARK), { force: true });
    for (const directory of RunDirectory.list(parent))
      runs.set(directory.name, [...(runs.get(directory.name) ?? []), directory]);
  }
  for (const [name, places] of runs) {
    try {
      if (recoverOne(name, places, store, settings, nowMs)) finished++;
    } catch (error) {
      warn(`${places.map(({ path }) => path).join(', ')} could not be finished: ${reasonOf(error)}`);
    }
  }
  return finished;
}

function recoverOne(name: string, places: Places, store: NodeStore, settings: Settings, nowMs: number): boolean {
  if (!places.every((directory) => directory.isUnattended())) return false;
  const own = firstOf(places, ({ path }) => recordOrNull(readPrivateRecord(path)));
  const run = firstOf(places, (directory) => directory.description());
  const epilogLeftCopies = places.some((directory) => directory.hasCopies());
  if (own !== null && (run === null || epilogLeftCopies || !shepherdLives(run))) {
    // The record was saved while the job ran: only the copies show the job's end.
    const isUnfinished = own.status === 'lost' && epilogLeftCopies;
    const record = isUnfinished && run !== null ? orphanRecord(places, run, own, settings, nowMs) : own;
    store.finish(name, Date.parse(record.started_at ?? '') || nowMs, record, []);
    return removeTraces(name, places, settings);
  }
  if (run === null) {
    if (places.every((directory) => nowMs - directory.changedMs() > TORN_AGE_MS)) removeTraces(name, places, settings);
    return false;
  }
  if (shepherdLives(run) && !epilogLeftCopies) return false;
  const stored = store.job(name);
  if (stored?.finished !== true) {
    const record = orphanRecord(places, run, recordOrNull(stored?.record), settings, nowMs);
    store.finish(name, Date.parse(record.started_at ?? '') || nowMs, record, []);
  }
  return removeTraces(name, places, settings);
}

/**
 * Removes all that is left of a run; returns whether it has gone. The control group goes first: the run directory says
 * where to move the group's processes.
 */
function removeTraces(name: string, places: Places, settings: Settings): boolean {
  removeJobCgroup(
    name,
    firstOf(places, ({ path }) => readCgroupNote(path)),
  );
  removeLiveFile(settings, name);
  removeResumeState(settings, name);
  return places.map((directory) => directory.remove()).every(Boolean);
}
