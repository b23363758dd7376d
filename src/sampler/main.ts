import { spawn } from 'node:child_process';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFifo, resourceLimit, Rlimit, sharesAddressSpace, tryLock } from '../native/libc';
import { bootId, uptimeSeconds, wallClockOfTicks } from '../sources/proc/clock';
import { readText } from '../sources/files';
import { openProcess } from '../sources/proc/process-files';
import { parseAddressSpaceLimit } from '../sources/proc/limits';
import { realUid } from '../sources/proc/status';
import { namesSwapArea } from '../sources/proc/swap';
import {
  describeJob,
  readJobPid,
  readUsage,
  trustedSpoolFile,
  undescribed,
  type JobDescription,
} from './job-description';
import { sampleJob, type JobSampler } from './job-sampler';
import { buildRecord } from './job-record';
import { keyOfRun } from './finish';
import { jobFigures, type JobFigures } from './figures/job-figures';
import { removeJobCgroup, readCgroupNote } from './job-cgroups';
import { hearKernel, NO_HEARING, type KernelHearing } from './hear-kernel';
import { leaveJob } from './leave-job';
import { writeLiveFile, removeLiveFile } from './live';
import { reasonOf, warn } from './log';
import { ownerOfSpool } from './owner-name';
import type { JobRecord, RecordStatus } from './record';
import { openSampleStream, type SampleStream } from './sample-stream';
import {
  answer,
  parseRunDescription,
  removeRunDirectory,
  runDirectoryName,
  writePidFile,
  type RunDescription,
} from './run-directory';
import { DEFAULT_SETTINGS, loadSettings, type Settings } from './settings';
import { newStretch } from './stretch';
import { thisMachine } from './this-machine';
import { chooseStorage, type Storage } from './storage';
import { nextTick } from './ticks';

/**
 * The sampler: one detached process per job, started by the prolog as
 *
 *   node main.js SETTINGS RUN-DIRECTORY KEY=VALUE...      the keys of run-directory.ts; RUN-DIRECTORY "-": none
 *
 * It ends when the epilog has said so, or when the shepherd has gone. A process that takes over from another one
 * (CPU limit) gets `--resume` as last argument, the predecessor's state on standard input and its lock as descriptor 3.
 */

const SAVE_EVERY_MS = 5000;
/** Before the job's first process is there, the tree is looked at this often. */
const WAIT_FOR_START_MS = 20;
const WAIT_LONGER_MS = 250;
/** After the shepherd has gone, its job's processes may go on for a while; they are followed this long. */
const AFTER_SHEPHERD_MS = 30_000;
/** Kept descriptors leave room for node.db, pipes and the deliverer. */
const SPARE_DESCRIPTORS = 48;
/** Opening node.db takes milliseconds that the epilog need not wait for; the shortest jobs never come to it. */
const PREPARE_AFTER_MS = 300;
const SPEND_OF_CPU_LIMIT = 0.5;
/** The epilog waits meanwhile. */
const EVENTS_WITHIN_MS = 1000;
const NODE_WITHIN_MS = 200;

interface Sampling {
  readonly run: RunDescription;
  readonly directory: string | null;
  readonly settings: Settings;
  readonly storage: Storage;
  readonly sampler: JobSampler;
  readonly lock: number | null;
  readonly notes: Set<string>;
  readonly stream: SampleStream;
  description: JobDescription;
  readonly hearing: KernelHearing;
  readonly figures: JobFigures;
  rootUid: number | null;
  rootPid: number | null;
  /** Of the job's processes, in bytes; null: not read yet. */
  addressSpaceLimit: number | null;
  noSwap: boolean;
  intervalMs: number;
  priorCpuSeconds: number;
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function describe(run: RunDescription, settings: Settings): JobDescription {
  const text = trustedSpoolFile(run.spool, 'config');
  return text === null
    ? undescribed(run.task, "Grid Engine's config file could not be read.")
    : describeJob(text, run, settings.memory_complexes, trustedSpoolFile(run.spool, 'pe_hostfile'));
}

function recordOf(state: Sampling, status: RecordStatus, endedMs: number | null, nowMs: number): JobRecord {
  const { run, settings, sampler } = state;
  const observation = sampler.settled();
  const sampled = observation.samples > 0;
  const lived = (observation.lineage?.totals.processes ?? 0) > 0;
  const notes = [...state.notes, ...state.figures.notes()];
  if (run.hooks === 'plain')
    notes.push(
      "The hooks ran as the job's owner: these figures are the owner's own word, and other users' processes were not seen.",
    );
  if (run.memory === 'small')
    notes.push('The address space limit could not be lifted for the sampler: it ran in its small mode.');
  const record = buildRecord({
    key: keyOfRun(run, state.description, settings),
    description: state.description,
    observation,
    usage: status === 'running' ? null : readUsage(run.spool),
    status,
    trust: run.hooks !== 'root' ? 'self-reported' : sampled || lived ? 'root' : 'usage',
    cost: {
      cpu_seconds: Math.round((state.priorCpuSeconds + cpuSeconds()) * 1000) / 1000,
      max_rss_bytes: process.resourceUsage().maxRSS * 1024,
      mode: run.memory === 'small' ? 'small' : 'full',
    },
    intervalSeconds: state.intervalMs / 1000,
    notes,
    nowMs,
    endedMs,
    maxRssBelongsToJob: true,
    precision: thisMachine(),
    addressSpaceLimit: state.addressSpaceLimit ?? Infinity,
    noSwap: state.noSwap,
    footprint: state.figures.footprint(!sampler.alive()),
    metrics: state.figures.metrics(),
  });
  return record.owner === null ? { ...record, owner: ownerOfSpool(run.spool) } : record;
}

/** End of the job to the millisecond where the epilog's word and the whole seconds of `usage` agree. */
function endOfJob(run: RunDescription, toldMs: number): number | null {
  const end = readUsage(run.spool)?.endTimeMs ?? null;
  return end === null ? null : Math.min(Math.max(toldMs, end), end + 999);
}

function findRoot(state: Sampling, nowMs: number): boolean {
  const { run, sampler } = state;
  const pid = readJobPid(run.spool);
  if (pid === null) return false;
  const files = openProcess(pid, { left: 0 });
  const stat = files.stat();
  if (stat === null || (!run.attached && stat.startTicks < run.shepherdStart)) return false;
  sampler.start(pid, wallClockOfTicks(stat.startTicks, uptimeSeconds(), nowMs));
  state.rootUid = files.status(realUid);
  state.rootPid = pid;
  return true;
}

/**
 * The limit holds for every program of the job as soon as its first process has executed one; root could lift it again.
 */
function readAddressSpaceLimit(state: Sampling): void {
  if (state.addressSpaceLimit !== null || state.rootPid === null) return;
  const stat = openProcess(state.rootPid, { left: 0 }).stat();
  if (stat === null || stat.forkedNoExec) return;
  if (state.rootUid === 0) state.addressSpaceLimit = Infinity;
  else state.addressSpaceLimit = parseAddressSpaceLimit(readText(`/proc/${state.rootPid}/limits`) ?? '');
}

const swapPossible = (): boolean => namesSwapArea(readText('/proc/swaps') ?? '');

/** Sleeps until `untilMs` or until `wake` is called. */
function sleeper(): { readonly sleep: (ms: number) => Promise<void>; readonly wake: () => void } {
  let pending: (() => void) | null = null;
  return {
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(done, Math.max(0, ms));
        function done(): void {
          clearTimeout(timer);
          pending = null;
          resolve();
        }
        pending = done;
      }),
    wake: () => pending?.(),
  };
}

async function follow(
  state: Sampling,
): Promise<{ readonly status: RecordStatus; readonly toldMs: number } | 'handed-over'> {
  const { run, directory, settings, sampler } = state;
  const finishFile = directory === null ? join(run.spool, 'usage') : join(directory, 'finish');
  const { sleep, wake } = sleeper();
  for (const path of [directory, run.spool])
    if (path !== null) {
      try {
        watch(path, { persistent: false }, wake).on('error', () => undefined);
      } catch {
        // No more inotify instances: the ticks look for themselves.
      }
    }
  const shepherd = openProcess(run.shepherdPid, { left: 1 });
  const cpuLimit = resourceLimit(Rlimit.CPU).soft;
  const begun = Date.now();
  let started = sampler.observation().startMs !== null;
  if (started) {
    // A successor of another sampler: the job's first process may have gone.
    state.rootPid = readJobPid(run.spool);
    if (state.rootPid !== null) state.figures.started(state.rootPid);
  }
  let lastSave = begun;
  let lastScan = begun;
  let shepherdGoneMs: number | null = null;
  const stretch = newStretch(settings.interval * 1000, settings.cpu_budget_percent);
  let due = begun;
  let prepared = false;

  for (;;) {
    const now = Date.now();
    const told = existsSync(finishFile);
    const parent = shepherd.stat();
    const shepherdAlive = parent !== null && parent.startTicks === run.shepherdStart && parent.state !== 'Z';
    if (!shepherdAlive) shepherdGoneMs ??= now;
    if (!started && findRoot(state, now)) {
      started = true;
      if (state.rootPid !== null) state.figures.started(state.rootPid);
    }
    // A wake-up for another file in the spool directory is no reason for another sample.
    if (started && (told || now >= due)) {
      const scan = told || now - lastScan >= settings.scan_interval * 1000;
      if (scan) lastScan = now;
      readAddressSpaceLimit(state);
      const readings = sampler.tick(now, scan);
      state.hearing.afterTick(readings);
      const seen = sampler.observation();
      state.stream(readings, seen);
      state.figures.look(now, readings, seen.sums.cpu, state.hearing.link());
      state.intervalMs = stretch.afterTick(cpuSeconds() * 1000);
      if (state.intervalMs > settings.interval * 1000)
        state.notes.add(
          `The sampling interval was stretched to keep the sampler under ${settings.cpu_budget_percent} % of a core.`,
        );
    }
    if (told) return { status: 'finished', toldMs: now };
    if (shepherdGoneMs !== null && (!sampler.alive() || now - shepherdGoneMs > AFTER_SHEPHERD_MS))
      return { status: 'lost', toldMs: shepherdGoneMs };

    const spent = cpuSeconds() > Math.min(cpuLimit * SPEND_OF_CPU_LIMIT, cpuLimit - 0.5);
    if (spent || now - lastSave >= SAVE_EVERY_MS) {
      lastSave = now;
      state.noSwap &&= !swapPossible();
      const record = recordOf(state, 'running', null, now);
      state.storage.saveProgress(record, sampler.takeSamples(), state.figures.takeSeries());
      writeLiveFile(settings, run, record, state.rootUid);
      if (spent) {
        handOver(state);
        return 'handed-over';
      }
    }
    if (!prepared && started && now - begun > PREPARE_AFTER_MS) {
      prepared = true;
      state.storage.prepare();
    }
    const startMs = sampler.observation().startMs;
    const after = Date.now();
    const wait = !started
      ? after - begun < 2000
        ? WAIT_FOR_START_MS
        : WAIT_LONGER_MS
      : nextTick(after - (startMs ?? begun), state.intervalMs) - (after - (startMs ?? begun));
    if (started && now < due) {
      await sleep(due - after);
      continue;
    }
    due = after + wait;
    await sleep(wait);
  }
}

/** A fresh process goes on: CPU limits count for each process alone. */
function handOver(state: Sampling): void {
  const saved = {
    sampler: state.sampler.save(),
    cpuSeconds: state.priorCpuSeconds + cpuSeconds(),
    intervalMs: state.intervalMs,
    notes: [...state.notes],
  };
  const child = spawn(
    process.execPath,
    [...process.execArgv, __filename, ...process.argv.slice(2).filter((word) => word !== '--resume'), '--resume'],
    {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', state.lock ?? 'ignore'],
    },
  );
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(JSON.stringify(saved));
  child.unref();
}

interface Resumed {
  readonly sampler: unknown;
  readonly cpuSeconds: number;
  readonly intervalMs: number;
  readonly notes: readonly string[];
}

/** A slip in the configuration must not cost a site its records: the defaults do, and the record says so. */
function usableSettings(
  path: string,
  directory: string | null,
): { readonly settings: Settings; readonly problem: string | null } {
  try {
    return { settings: loadSettings(path), problem: null };
  } catch (error) {
    warn(reasonOf(error));
    // STATE/run/KEY and STATE/plain/KEY.
    const state = directory === null ? {} : { state_dir: dirname(dirname(directory)) };
    return { settings: { ...DEFAULT_SETTINGS, ...state }, problem: `Defaults were used: ${reasonOf(error)}.` };
  }
}

/** The FIFO for our word to the epilog, so that it need not make one; if that fails, it does. */
function prepareAnswer(directory: string): void {
  try {
    makeFifo(join(directory, 'ack'), 0o600);
  } catch {
    // An epilog that came before us has made it.
  }
}

function takeLock(directory: string, resumed: boolean): number | null {
  if (resumed) {
    try {
      fstatSync(3);
      return 3;
    } catch {
      return null;
    }
  }
  const lock = openSync(join(directory, 'lock'), 'a', 0o600);
  if (tryLock(lock)) return lock;
  closeSync(lock);
  return null;
}

async function main(): Promise<void> {
  const [settingsPath = '', directoryArgument = '-', ...rest] = process.argv.slice(2);
  const resume = rest.at(-1) === '--resume';
  const run = parseRunDescription([...rest, 'end=1'].join('\n'));
  if (run === null) throw new Error('sampler started with an unusable job description');
  process.umask(0o077);
  process.chdir('/');
  // A file size limit must come back as an error of the write, not as a signal.
  process.on('SIGXFSZ', () => undefined);

  const directory = directoryArgument === '-' ? null : directoryArgument;
  const { settings, problem } = usableSettings(settingsPath, directory);
  const resumed = resume ? (JSON.parse(readFileSync(0, 'utf8')) as Resumed) : null;
  let lock: number | null = null;
  if (directory !== null) {
    lock = takeLock(directory, resumed !== null);
    if (lock === null) return;
    if (resumed === null) leaveJob();
    writePidFile(directory, bootId());
    if (resumed === null) prepareAnswer(directory);
  } else if (resumed === null) leaveJob();

  const description = describe(run, settings);
  const descriptors = resourceLimit(Rlimit.NOFILE).soft;
  const sampler = sampleJob(
    {
      procRoot: '/proc',
      rootPid: null,
      shepherdPid: run.shepherdPid,
      group: description.group,
      notBefore: run.attached ? 0 : run.shepherdStart,
      precision: thisMachine(),
      sharesAddressSpace: sharesAddressSpace,
      eventsTell: false,
    },
    { left: Math.max(0, Math.min(descriptors, 4096) - SPARE_DESCRIPTORS) },
    settings.processes_per_sample,
    resumed?.sampler ?? null,
  );
  const figures = jobFigures(run, settings);
  const groupProblem = directory === null ? null : (readCgroupNote(directory)?.problem ?? null);
  const state: Sampling = {
    run,
    directory,
    settings,
    sampler,
    lock,
    description,
    storage: chooseStorage({
      run,
      directory,
      settings,
      fileSizeLimit: resourceLimit(Rlimit.FSIZE).soft,
      startedMs: () => sampler.observation().startMs ?? Date.now(),
      deliver: problem === null,
    }),
    notes: new Set([
      ...(resumed?.notes ?? []),
      ...(problem === null ? [] : [problem]),
      ...(groupProblem === null ? [] : [`No cgroup of the job's own: ${groupProblem}.`]),
    ]),
    hearing:
      settings.listener && run.hooks !== 'plain'
        ? hearKernel(settingsPath, settings, run.shepherdPid, sampler, (reply) => figures.node(reply))
        : NO_HEARING,
    figures,
    stream: openSampleStream(directory),
    rootUid: null,
    rootPid: null,
    addressSpaceLimit: null,
    noSwap: !swapPossible(),
    intervalMs: resumed?.intervalMs ?? settings.interval * 1000,
    priorCpuSeconds: resumed?.cpuSeconds ?? 0,
  };
  process.on('SIGTERM', () => {
    // The machine goes down, or an admin ends us: what is known is kept for whoever finishes this run.
    try {
      state.storage.saveProgress(recordOf(state, 'running', null, Date.now()), sampler.takeSamples());
    } finally {
      process.exit(0);
    }
  });
  void state.hearing.ready.then((silence) => {
    if (silence !== null && settings.listener && run.hooks === 'root') state.notes.add(`No proved peaks: ${silence}.`);
    if (directory === null || resumed !== null) return;
    if (run.hooks === 'run') writeFileSync(join(directory, 'listening'), '');
    // The FIFO is there only where the prolog waits.
    answer(join(directory, 'armed'), 'armed');
  });

  const end = await follow(state);
  if (end === 'handed-over') return;
  await Promise.all([
    state.hearing.finish(EVENTS_WITHIN_MS),
    state.figures.finish(state.hearing.link(), NODE_WITHIN_MS),
  ]);
  state.noSwap &&= !swapPossible();
  const record = recordOf(
    state,
    end.status,
    endOfJob(run, end.toldMs) ?? (end.status === 'lost' ? end.toldMs : null),
    Date.now(),
  );
  const kept = state.storage.finish(record, sampler.takeSamples(), state.figures.takeSeries());
  if (directory !== null) answer(join(directory, 'ack'), kept);
  sampler.close();
  state.hearing.close();
  state.figures.close();
  if (run.hooks === 'root')
    removeJobCgroup(runDirectoryName(run), directory === null ? null : readCgroupNote(directory));
  removeLiveFile(settings, run);
  await state.storage.afterwards(() => {
    if (directory !== null && !state.storage.keepsDirectory()) removeRunDirectory(directory);
  });
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    warn(`sampler ${basename(process.argv[3] ?? '')}: ${reasonOf(error)}`);
    process.exit(1);
  },
);
