import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { tryLock } from '../native/libc';
import { parseSpoolUsage } from '../gridengine/spool-usage';
import { readPrivateRecord, keyOfRun } from './finish';
import { readCgroupNote, removeJobCgroup } from './job-cgroups';
import { describeJob, undescribed } from './job-description';
import { buildRecord } from './job-record';
import { reasonOf, warn } from './log';
import type { NodeStore } from './node-store';
import { parseRecord } from './parse-record';
import type { JobRecord } from './record';
import { userName } from './owner-name';
import {
  LEFT_MARK,
  parseRunDescription,
  readRunDescription,
  removeRunDirectory,
  runDirectories,
  shepherdLives,
  type RunDescription,
} from './run-directory';
import type { Settings } from './settings';
import { newPeaks } from './peaks';
import { newSeries } from './series';
import type { Observation } from './job-sampler';
import { thisMachine } from './this-machine';
import { NO_SUMS } from './totals';
import { basename } from 'node:path';

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

function unsampledRecord(
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

function parseStored(text: string | undefined): JobRecord | null {
  return text === undefined ? null : (JSON.parse(text) as JobRecord);
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
  removeQuietly(join(stateDirectory, 'run', LEFT_MARK));
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
    const record = orphanRecord(directory, run, parseStored(stored?.record), settings, nowMs);
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

/** The sampler's own file; one that was damaged counts as none. */
function parseOwn(text: string | null): JobRecord | null {
  if (text === null) return null;
  try {
    const record = parseRecord(JSON.parse(text));
    return 'error' in record ? null : record;
  } catch {
    return null;
  }
}

function directoryTime(directory: string): number {
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return fstatSync(fd).mtimeMs;
  } finally {
    closeSync(fd);
  }
}

const MOST_HANDED_BYTES = 64 * 1024;
/** Files one user may have waiting; what is beyond it stays for the next pass. */
const MOST_FILES_PER_USER = 2000;

/**
 * Takes in what unprivileged hooks left in `STATE/outbox` (1733): one JSON file per record, believed only as the word of
 * its owner. Links, FIFOs, other people's names and oversized files are removed and told.
 */
export function ingestHandedRecords(settings: Settings, store: NodeStore): number {
  const outbox = join(settings.state_dir, 'outbox');
  let names: readonly string[];
  try {
    names = readdirSync(outbox);
  } catch {
    return 0;
  }
  const perUser = new Map<number, number>();
  let taken = 0;
  for (const name of names) {
    const path = join(outbox, name);
    if (name.endsWith('.new') && !isOld(path)) continue;
    const file = readHanded(path);
    if (typeof file === 'string') {
      warn(`${path}: ${file}; removed`);
      removeQuietly(path);
      continue;
    }
    const count = (perUser.get(file.uid) ?? 0) + 1;
    perUser.set(file.uid, count);
    if (count > MOST_FILES_PER_USER) continue;
    const record = parseHanded(file.text, settings);
    const refusal = typeof record === 'string' ? record : whyRefused(record, userName(file.uid), store);
    if (refusal !== null || typeof record === 'string') warn(`${path}: ${refusal ?? ''}; removed`);
    else {
      const startedMs = Date.parse(record.started_at ?? '') || 0;
      store.finish(`handed.${name}`, startedMs, asHanded(record, userName(file.uid)), []);
      taken++;
    }
    removeQuietly(path);
  }
  return taken;
}

/** A user's word is taken for jobs of that user on this host that root's own hooks know nothing of. */
function whyRefused(record: JobRecord, owner: string, store: NodeStore): string | null {
  if (record.owner !== null && record.owner !== owner) return `speaks for "${record.owner}", is of ${owner}`;
  const run = `${record.job_id}.${record.task_id ?? 0}.${record.run_id}`;
  if (store.job(run) !== null) return `speaks of job ${record.job_id}, which root's hooks account`;
  return null;
}

const shortName = (host: string): string => (host.split('.')[0] ?? '').toLowerCase();

/** The record as what it is: the owner's word, about this host. */
function asHanded(record: JobRecord, owner: string): JobRecord {
  const host = shortName(record.host) === shortName(hostname()) ? record.host : hostname();
  return { ...record, owner, host, trust: 'self-reported' };
}

/** What an unprivileged epilog left when no sampler had run: the `job` lines, then copies of `config` and `usage`. */
function recordOfCopies(text: string, settings: Settings): JobRecord | string {
  const config = text.indexOf('\n==config==\n');
  const usage = text.indexOf('\n==usage==\n');
  if (config < 0 || usage < config) return 'neither a record nor copies of spool files';
  const run = parseRunDescription(`${text.slice(0, config)}\nend=1\n`);
  if (run === null) return 'unusable job description';
  return unsampledRecord(run, text.slice(config + 12, usage), text.slice(usage + 11), settings, Date.now());
}

function parseHanded(text: string, settings: Settings): JobRecord | string {
  if (text.startsWith('version=')) return recordOfCopies(text, settings);
  try {
    const record = parseRecord(JSON.parse(text));
    return 'error' in record ? record.error : record;
  } catch {
    return 'not JSON';
  }
}

function readHanded(path: string): { readonly uid: number; readonly text: string } | string {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return `can't be opened (${reasonOf(error)})`;
  }
  try {
    const status = fstatSync(fd);
    if (!status.isFile() || status.nlink !== 1) return 'not an ordinary file';
    if (status.size > MOST_HANDED_BYTES) return 'larger than 64 KiB';
    const bytes = Buffer.alloc(MOST_HANDED_BYTES);
    return { uid: status.uid, text: bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0)) };
  } finally {
    closeSync(fd);
  }
}

/** Left half-written by a hook that was ended: by now nobody will finish it. */
function isOld(path: string): boolean {
  try {
    return Date.now() - lstatSync(path).mtimeMs > 86_400_000;
  } catch {
    return false;
  }
}

function removeQuietly(path: string): void {
  try {
    if (lstatSync(path).isDirectory()) rmdirSync(path);
    else unlinkSync(path);
  } catch {
    // A directory that holds something, or gone already: nothing that this pass can do.
  }
}
