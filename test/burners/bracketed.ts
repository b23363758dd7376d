import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseSpoolUsage, type SpoolUsage } from '../../src/gridengine/spool-usage';
import { sharesAddressSpace } from '../../src/native/libc';
import { KernelHearing } from '../../src/sampler/job/hear-kernel';
import { undescribed } from '../../src/sampler/job/job-description';
import { buildRecord } from '../../src/sampler/job/job-record';
import { JobSampler } from '../../src/sampler/job/job-sampler';
import { connectListener, type ListenerHandlers, type ListenerLink } from '../../src/sampler/listener/client';
import type { Bracket, JobRecord, RecordStatus } from '../../src/record/record';
import { startTicksOf } from '../../src/sampler/job/pid-file';
import { loadSettings, type Settings } from '../../src/record/settings';
import { thisMachine } from '../../src/sampler/peaks/slack';
import { nextTick } from '../../src/sampler/job/pace';
import { wallClockOfTicks } from '../../src/sources/proc/clock';
import { ProcessFiles } from '../../src/sources/proc/process-files';
import { namesSwapArea } from '../../src/sources/proc/swap';
import { burner, burnersObstacle, readTruth, type Burner, type Truth } from './build';
import { samplePlainly, type PlainFigures } from './plain-sampler';
import { noKernelEvents } from '../support/kernel-events';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';

/** One run of a burner under a sampler. */
export interface BurnerJob {
  readonly burner: Burner;
  readonly options: readonly string[];
  readonly intervalMs: number;
  /** From the first fork to the sampler's first reading, in ms. */
  readonly firstLookMs?: number;
  /** The job's processes carry a group of their own, as below Grid Engine. */
  readonly group?: boolean;
  /** They run as this user, with this limit on the address space (bytes). */
  readonly user?: { readonly uid: number; readonly addressSpace: number };
  /** The job ends with its first process, even if others live on; false: with its last one. */
  readonly endsWithFirst?: boolean;
  /** Kernel events are received only from this long after the first fork, by a listener that has no earlier ones. */
  readonly heardAfterMs?: number;
  /** Measure also with a plain sampler of this phase and with a memory cgroup. */
  readonly rivals?: { readonly phaseMs: number };
}

/** A running job's record, and when its last sweep began (ms since the epoch). */
export interface Midway {
  readonly settledMs: number;
  readonly record: JobRecord;
}

export interface BracketedRun {
  readonly truth: Truth;
  readonly record: JobRecord;
  readonly midway: readonly Midway[];
  readonly maxrssBytes: number;
  readonly plain: PlainFigures | null;
  /** null: not asked for, or no cgroup could be made. */
  readonly cgroupPeakBytes: number | null;
}

export interface BracketedRuns {
  run(job: BurnerJob): Promise<BracketedRun>;
  close(): Promise<void>;
}

interface Usage {
  readonly status: number;
  readonly maxrss_kib: number;
  readonly minflt: number;
  readonly utime: number;
  readonly stime: number;
}

const READY_WITHIN_MS = 60_000;
const SETTLED_WITHIN_MS = 30_000;
const FIRST_GROUP = 1_999_800_000;
const MEMORY_CGROUPS = '/sys/fs/cgroup/memory';

/** Why upper bounds can't be proved here; null: they can. */
export function bracketsObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'not root';
  return noKernelEvents('/proc/1/ns/net') ?? burnersObstacle();
}

/** Why the kernel's own peak of a cgroup can't be had here; null: it can. */
export function cgroupObstacle(): string | null {
  return existsSync(join(MEMORY_CGROUPS, 'memory.max_usage_in_bytes')) ? null : 'no memory controller of cgroup v1';
}

/** Width of the bracket as a share of the truth; null: the upper bound is open. */
export function widthOf(bracket: Bracket | null, truth: number): number | null {
  if (bracket === null) return null;
  const { lower_bytes: lower, upper_bytes: upper } = bracket;
  return upper === null ? null : (upper - lower) / truth;
}

interface Node {
  readonly path: string;
  readonly settings: Settings;
}

/** Tries until a listener answers: on a busy machine one try may be too short. */
const reach =
  ({ path, settings }: Node) =>
  (handlers: ListenerHandlers): Promise<ListenerLink> =>
    until(() => connectListener(path, settings, handlers), 'a listener');

function settingsIn(directory: string): Node {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'qmemacct.toml');
  writeFileSync(path, `run_dir = ${JSON.stringify(join(directory, 'run'))}\nlistener_linger = 0\n`);
  return { path, settings: loadSettings(path) };
}

/** A memory cgroup for one run. */
function newCgroup(name: string): { readonly path: string; readonly take: () => number | null } | null {
  const path = join(MEMORY_CGROUPS, name);
  try {
    mkdirSync(path);
  } catch {
    return null;
  }
  return {
    path,
    take: () => {
      const peak = Number(readFileSync(join(path, 'memory.max_usage_in_bytes'), 'latin1'));
      try {
        rmdirSync(path);
      } catch {
        // A process in it is still exiting: an empty directory stays.
      }
      return Number.isFinite(peak) ? peak : null;
    },
  };
}

function usageOf({ status, maxrss_kib, minflt, utime, stime }: Usage): SpoolUsage {
  return parseSpoolUsage(
    [
      `exit_status=${status}`,
      'signal=0',
      `ru_utime=${utime}`,
      `ru_stime=${stime}`,
      `ru_maxrss=${maxrss_kib}`,
      `ru_minflt=${minflt}`,
      '',
    ].join('\n'),
  );
}

function recordOf(
  sampler: JobSampler,
  job: BurnerJob,
  number: number,
  status: RecordStatus,
  usage: SpoolUsage | null,
): JobRecord {
  const nowMs = Date.now();
  return buildRecord({
    key: { cluster: 'c', job_id: number, task_id: null, pe_task_id: null, host: 'h', run_id: `0.${number}.0` },
    description: undescribed(0, ''),
    observation: sampler.settled(),
    usage,
    status,
    trust: 'root',
    cost: null,
    intervalSeconds: job.intervalMs / 1000,
    notes: [],
    nowMs,
    setByMs: 0,
    endedMs: status === 'running' ? null : nowMs,
    precision: thisMachine(),
    // Root could lift the limit again.
    addressSpaceLimit: job.user?.addressSpace ?? Infinity,
    footprint: null,
    noSwap: !namesSwapArea(readFileSync('/proc/swaps', 'latin1')),
    metrics: {},
  });
}

/** Whether the promise is fulfilled within `ms`. */
async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs burners one by one or many at a time, each below a shepherd of its own, with the product's sampler and listener;
 * the samplers share this process. Throws when a burner fails.
 */
export async function openBracketedRuns(): Promise<BracketedRuns> {
  const directory = temporaryDirectory(0o755);
  const shared = settingsIn(join(directory, 'shared'));
  // Keeps the listener alive between the runs.
  const keeper = await reach(shared)({ take: () => undefined, lost: () => undefined });
  if (keeper.hello.events !== null || keeper.hello.records !== null) {
    keeper.close();
    throw new Error(`the listener hears nothing: ${keeper.hello.events ?? keeper.hello.records ?? ''}`);
  }
  let numbers = 0;

  const truths = join(directory, 'truths');
  mkdirSync(truths);
  chmodSync(truths, 0o777);

  async function run(job: BurnerJob): Promise<BracketedRun> {
    const number = ++numbers;
    const truthFile = join(truths, String(number));
    const group = job.group === true ? FIRST_GROUP + number : null;
    const cgroup = job.rivals === undefined ? null : newCgroup(`qmemacct-test.${process.pid}.${number}`);
    const shepherd = spawn(
      burner('launch'),
      [
        ...(group === null ? [] : [`--group=${group}`]),
        ...(job.user === undefined ? [] : [`--uid=${job.user.uid}`, `--as=${job.user.addressSpace}`]),
        ...(cgroup === null ? [] : [`--cgroup=${cgroup.path}`]),
        ...(job.endsWithFirst === true ? ['--whole=0'] : []),
        '--',
        burner(job.burner),
        ...job.options,
        `--truth=${truthFile}`,
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const gone = once(shepherd, 'close');
    const lines = createInterface({ input: shepherd.stdout })[Symbol.asyncIterator]();
    const nextLine = async <T>(what: string): Promise<T> => {
      const line = await lines.next();
      if (line.done === true) throw new Error(`${job.burner} ${job.options.join(' ')}: no ${what} from its shepherd`);
      return JSON.parse(line.value) as T;
    };
    const ancestor = shepherd.pid ?? 0;
    const sampler = new JobSampler(
      {
        procRoot: '/proc',
        shepherdPid: ancestor,
        group,
        uid: () => job.user?.uid ?? 0,
        notBefore: startTicksOf(ancestor) ?? 0,
        precision: thisMachine(),
        sharesAddressSpace,
      },
      { left: 64 },
      10,
    );
    let hearing: KernelHearing | null = null;
    const hear = async (): Promise<void> => {
      const node = job.heardAfterMs === undefined ? shared : settingsIn(join(directory, `late-${number}`));
      hearing = new KernelHearing(ancestor, reach(node), sampler, {
        stirred: () => undefined,
        node: () => undefined,
      });
      if (!(await within(hearing.ready, READY_WITHIN_MS)) || (await hearing.ready) !== null)
        throw new Error(`events are not heard: ${(await hearing.ready) ?? 'no answer'}`);
    };
    try {
      if (job.heardAfterMs === undefined) await hear();
      shepherd.stdin.end('\n');
      const { pid } = await nextLine<{ readonly pid: number }>('pid');
      const plain = job.rivals === undefined ? null : samplePlainly(pid, job.rivals.phaseMs);
      const ended = nextLine<Usage>('usage');
      const late = job.heardAfterMs === undefined ? null : sleep(job.heardAfterMs).then(hear);
      const over = job.endsWithFirst === true ? ended : ended.then(() => allOver(truthFile));
      const midway = await follow(sampler, () => hearing, pid, job, number, over);
      await late;
      const usage = await ended;
      const figures = plain?.stop() ?? null;
      if (usage.status !== 0) throw new Error(`${job.burner} ended with ${usage.status}`);
      const record = recordOf(sampler, job, number, 'finished', usageOf(usage));
      await gone;
      const [truth, ...more] = readTruth(truthFile);
      if (truth === undefined || more.length > 0) throw new Error(`${job.burner} wrote no truth, or several`);
      const cgroupPeakBytes = cgroup?.take() ?? null;
      return { truth, record, midway, maxrssBytes: usage.maxrss_kib * 1024, plain: figures, cgroupPeakBytes };
    } finally {
      (hearing as KernelHearing | null)?.close();
      sampler.close();
      if (shepherd.exitCode === null) shepherd.kill('SIGKILL');
    }
  }

  return {
    run,
    close: async () => {
      keeper.close();
      await waitForEnd(shared.settings);
    },
  };
}

const isOver = (pid: number): boolean => /^(|Z|X)$/.test(new ProcessFiles(pid, { left: 0 }).stat()?.state ?? '');

/** Waits until all processes of the truth have ended, those that left the burner's tree included. */
async function allOver(truthFile: string): Promise<void> {
  const [truth] = readTruth(truthFile);
  for (const { pid } of truth?.processes ?? []) await until(() => isOver(pid));
}

/** Waits for the end of the listener, which removes its socket. */
async function waitForEnd(settings: Settings): Promise<void> {
  const socket = join(settings.run_dir, 'listener', 'socket');
  await until(() => !existsSync(socket));
}

/** The sampler's loop: a reading at each of its ticks and one at the end, each settled by the kernel's events. */
async function follow(
  sampler: JobSampler,
  hearing: () => KernelHearing | null,
  pid: number,
  job: BurnerJob,
  number: number,
  ended: Promise<unknown>,
): Promise<readonly Midway[]> {
  const startTicks = startTicksOf(pid) ?? 0;
  const startMs = wallClockOfTicks(startTicks);
  const midway: Midway[] = [];
  const look = async (last: boolean): Promise<void> => {
    const settledMs = Date.now();
    const heard = hearing();
    heard?.afterTick(sampler.tick(settledMs, last));
    await heard?.finish(SETTLED_WITHIN_MS);
    if (!last) midway.push({ settledMs, record: recordOf(sampler, job, number, 'running', null) });
  };
  const first = await within(ended, job.firstLookMs ?? 0);
  sampler.start(pid, startMs);
  if (!first) await look(false);
  for (;;) {
    const age = Date.now() - startMs;
    if (await within(ended, nextTick(age, job.intervalMs) - age)) break;
    await look(false);
  }
  await look(true);
  return midway;
}
