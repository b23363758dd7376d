import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { tryLock } from '../../native/libc';
import { parseSpoolUsage } from '../../gridengine/spool-usage';
import { readPrivateRecord, keyOfRun } from './finish';
import { readCgroupNote, removeJobCgroup } from '../job/job-cgroups';
import { describeJob, undescribed } from '../job/job-description';
import { buildRecord } from '../job/job-record';
import { reasonOf, warn } from '../../base/log';
import type { NodeStore } from '../node-store/node-store';
import { recordOfJson } from '../../record/record';
import type { JobRecord } from '../../record/record';
import {
  LEFT_MARK,
  readRunDescription,
  removeRunDirectory,
  runDirectories,
  shepherdLives,
  type RunDescription,
} from '../job/run-directory';
import type { Settings } from '../../record/settings';
import { newPeaks } from '../peaks/peaks';
import { newSeries } from '../series/series';
import type { Observation } from '../job/job-sampler';
import { thisMachine } from '../peaks/this-machine';
import { NO_SUMS } from '../processes/totals';

/** A torn run directory may be one whose prolog is just writing it. */
const TORN_AGE_MS = 60_000;

/** An observation without samples: only `usage` speaks. */
function nothingSeen(): Observation {
  return {
    peaks: newPeaks(),
    series: newSeries(0),
    startMs: null,
    firstSampleMs: null,
    lastSampleMs: null,
    samples: 0,
    longestGapMs: 0,
    rssByteMs: 0,
    sums: NO_SUMS,
    maxProcesses: 0,
    maxThreads: 0,
    counts: { seen: 0, treeOnly: 0, groupOnly: 0 },
    lineage: null,
  };
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Nobody holds the lock of this run directory (or it has none). */
function unattended(directory: string): boolean {
  let lock: number;
  try {
    lock = openSync(join(directory, 'lock'), 'r+');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
  try {
    return tryLock(lock);
  } finally {
    closeSync(lock);
  }
}

/** The record of a run whose sampler never ran, or died: its last saved state and what the epilog copied. */
function orphanRecord(
  directory: string,
  run: RunDescription,
  stored: JobRecord | null,
  settings: Settings,
  nowMs: number,
): JobRecord {
  const config = readIfThere(join(directory, 'config'));
  const usage = readIfThere(join(directory, 'usage'));
  const plain = unsampledRecord(
    run,
    config,
    usage,
    settings,
    nowMs,
    stored !== null,
    readIfThere(join(directory, 'finish')) !== null,
  );
  return stored === null ? plain : mergeStored(stored, plain);
}

/** The record of a run that no sampler saw: what copies of its spool files tell. */
export function unsampledRecord(
  run: RunDescription,
  config: string | null,
  usageText: string | null,
  settings: Settings,
  nowMs: number,
  sampled = false,
  told = false,
): JobRecord {
  const usage = usageText === null ? null : parseSpoolUsage(usageText);
  const description =
    config === null
      ? undescribed(run.task, "Grid Engine's config file was gone when this record was made.")
      : describeJob(config, run, settings.memory_complexes);
  const epilogCame = told || usage !== null;
  return buildRecord({
    key: keyOfRun(run, description, settings),
    description,
    observation: nothingSeen(),
    usage,
    status: run.memory === 'none' ? 'unsampled' : epilogCame ? 'finished' : 'lost',
    trust: run.hooks === 'plain' ? 'self-reported' : 'usage',
    cost: null,
    intervalSeconds: settings.interval,
    notes: [unsampledReason(run, sampled)],
    nowMs,
    endedMs: null,
    maxRssBelongsToJob: true,
    precision: thisMachine(),
    addressSpaceLimit: Infinity,
    noSwap: false,
    footprint: null,
    metrics: {},
  });
}

function unsampledReason(run: RunDescription, sampled: boolean): string {
  if (sampled)
    return 'The sampler died before the job ended: what it had saved is shown, its last seconds are missing.';
  if (run.reason !== '') return `Not sampled: ${run.reason}.`;
  return 'Not sampled: the sampler did not start or died before its first saved sample.';
}

/** The sampler's last saved record, completed by what only the end of the job could tell. */
function mergeStored(stored: JobRecord, plain: JobRecord): JobRecord {
  const open = <T extends JobRecord['peak_rss']>(bracket: T): T =>
    bracket === null ? bracket : { ...bracket, open: [...new Set([...bracket.open, 'sampler-lost' as const])].sort() };
  const wallclock = plain.wallclock_seconds ?? stored.wallclock_seconds;
  const cpu = Math.max(stored.cpu_seconds ?? 0, plain.cpu_seconds ?? 0);
  const higher = (a: JobRecord['peak_rss'], b: JobRecord['peak_rss']): JobRecord['peak_rss'] =>
    open(a === null ? b : b === null || a.lower_bytes >= b.lower_bytes ? a : b);
  const peakRss = higher(stored.peak_rss, plain.peak_rss);
  const limit = stored.h_vmem?.limit_bytes ?? null;
  return {
    ...stored,
    status: plain.status === 'unsampled' ? 'finished' : plain.status,
    started_at: stored.started_at ?? plain.started_at,
    ended_at: plain.ended_at ?? stored.ended_at,
    exit_status: plain.exit_status,
    signal: plain.signal,
    wallclock_seconds: wallclock,
    cpu_seconds: cpu,
    cpu_efficiency: wallclock !== null && wallclock > 0 ? cpu / (wallclock * (stored.host_slots ?? 1)) : null,
    memory_efficiency: peakRss === null || limit === null || limit <= 0 ? null : peakRss.lower_bytes / limit,
    peak_rss: peakRss,
    peak_rss_swap: higher(stored.peak_rss_swap, plain.peak_rss_swap),
    peak_vmem: open(stored.peak_vmem),
    peak_process_vmem: open(stored.peak_process_vmem),
    peak_footprint: open(stored.peak_footprint),
    notes: [...stored.notes, ...plain.notes],
    revision: plain.revision,
  };
}

/** Our own sampler's record; one that was damaged counts as none. */
function parseOwn(text: string | null | undefined): JobRecord | null {
  const record = typeof text === 'string' ? recordOfJson(text) : null;
  return record?.ok === true ? record.value : null;
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
  for (const directory of runDirectories(stateDirectory)) {
    try {
      if (recoverOne(directory, store, settings, nowMs)) finished++;
    } catch (error) {
      warn(`${directory} could not be finished: ${reasonOf(error)}`);
    }
  }
  return finished;
}

function recoverOne(directory: string, store: NodeStore, settings: Settings, nowMs: number): boolean {
  if (!unattended(directory)) return false;
  const name = basename(directory);
  const own = parseOwn(readPrivateRecord(directory));
  const run = readRunDescription(directory);
  const epilogLeftCopies = readIfThere(join(directory, 'copied')) !== null;
  if (own !== null && (run === null || epilogLeftCopies || !shepherdLives(run))) {
    store.finish(name, Date.parse(own.started_at ?? '') || nowMs, own, []);
    removeTraces(directory);
    return true;
  }
  if (run === null) {
    const age = nowMs - directoryTime(directory);
    if (age > TORN_AGE_MS) removeTraces(directory);
    return false;
  }
  if (shepherdLives(run) && !epilogLeftCopies) return false;
  const stored = store.job(name);
  if (stored?.finished !== true) {
    const record = orphanRecord(directory, run, parseOwn(stored?.record), settings, nowMs);
    store.finish(name, Date.parse(record.started_at ?? '') || nowMs, record, []);
  }
  removeTraces(directory);
  return true;
}

/** The group first: as long as there is a run directory, it says where the group's processes came from. */
function removeTraces(directory: string): void {
  removeJobCgroup(basename(directory), readCgroupNote(directory));
  removeRunDirectory(directory);
}

function directoryTime(directory: string): number {
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return fstatSync(fd).mtimeMs;
  } finally {
    closeSync(fd);
  }
}
