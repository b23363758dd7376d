import {
  closeSync,
  constants,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { bootId } from '../../sources/proc/clock';
import { parseStat } from '../../sources/proc/stat';

/**
 * How hooks and sampler talk: one directory per run of a job, `STATE/run/JOB.TASK.BOOT.PID.START` (0700).
 *
 *   job       prolog     key=value lines, `version` first, `end=1` last: without the last line it is torn
 *   pid       sampler    key=value: pid, its start (clock ticks), boot id
 *   lock      sampler    flock held as long as the sampler lives; free: nobody looks after the job
 *   armed     FIFO       prolog waits here when `arm_wait_ms` is set; the sampler writes one line
 *   listening sampler    the kernel's events are heard from now on, or it is clear that they can't be: `run` waits for it
 *   stream    FIFO       `qmemacct run` listens here; the sampler writes each sample as a line of JSON
 *   finish    epilog     the job has ended: the sampler takes its last reading
 *   ack       FIFO       epilog waits here; the sampler writes one line when the summary is committed
 *   config, usage        epilog's copies of the spool files, when no sampler answered ("plain record");
 *   copied     epilog     these copies are complete
 *   cgroup     prolog    where the shepherd was before it got a cgroup for the job, or why it got none (job-cgroups.ts)
 *   record.json          the summary where node.db could not be used; ingested by the next sampler or `flush`
 *
 * Beside them stands `left` where an epilog had no room to start the flush that finishes what it left (listener/left-runs.ts).
 *
 * BOOT is the boot id's first 8 hex digits, PID and START name the shepherd: its child on the prolog's side and its
 * child on the epilog's side find the same directory without telling each other. Readers ignore keys that they don't
 * know; a key is never given a new meaning, so that neighbouring versions understand each other.
 */
export interface RunDescription {
  readonly version: number;
  readonly job: number;
  /** 0: not an array task. */
  readonly task: number;
  readonly spool: string;
  readonly shepherdPid: number;
  /** Clock ticks after boot. */
  readonly shepherdStart: number;
  readonly boot: string;
  /** Who the prolog ran as. */
  readonly hooks: 'root' | 'plain' | 'run';
  /** What the job's limits allowed: no sampler at all is "none", with the reason. */
  readonly memory: 'full' | 'small' | 'none';
  readonly reason: string;
  /** Seconds since boot when the prolog ran. */
  readonly uptime: number;
  /** Hard limit on address space that the hook itself was under, in KiB; null: none, or not told. */
  readonly addressSpaceKib: number | null;
  /** Seq and host of a `qrsh -inherit` task (`1.node02`), which is a record of its own; null: the job's master task. */
  readonly peTask: string | null;
  /** What tells the job's end: the epilog's file in the run directory, or `usage` in the spool directory. */
  readonly ends: 'epilog' | 'usage';
  /** `run --pid`: the processes are older than their watcher, and nobody's children of it. */
  readonly attached: boolean;
}

/** key=value lines; later keys win, lines without "=" are ignored. */
export function keyValues(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split('\n')) {
    const equals = line.indexOf('=');
    if (equals > 0) values.set(line.slice(0, equals), line.slice(equals + 1));
  }
  return values;
}

/** The `job` file's text as data; null when torn or of an unknown shape. */
export function parseRunDescription(text: string): RunDescription | null {
  const values = keyValues(text);
  const number = (key: string): number => Number(values.get(key) ?? Number.NaN);
  const hooks = values.get('hooks');
  const memory = values.get('memory');
  if (values.get('end') !== '1') return null;
  if (hooks !== 'root' && hooks !== 'plain' && hooks !== 'run') return null;
  if (memory !== 'full' && memory !== 'small' && memory !== 'none') return null;
  const description: RunDescription = {
    version: number('version'),
    job: number('job'),
    task: number('task'),
    spool: values.get('spool') ?? '',
    shepherdPid: number('shepherd_pid'),
    shepherdStart: number('shepherd_start'),
    boot: values.get('boot') ?? '',
    hooks,
    memory,
    reason: values.get('reason') ?? '',
    uptime: number('uptime'),
    addressSpaceKib: Number.parseInt(values.get('address_space_kib') ?? '', 10) || null,
    attached: values.get('attached') === '1',
    peTask: values.get('pe_task') || null,
    ends: values.get('ends') === 'usage' ? 'usage' : 'epilog',
  };
  const numbers = [description.job, description.task, description.shepherdPid, description.shepherdStart];
  return numbers.every((value) => Number.isSafeInteger(value) && value >= 0) ? description : null;
}

/** run_id of a record: boot id's first 8 digits, shepherd's pid, its start. */
export function runId(run: Pick<RunDescription, 'boot' | 'shepherdPid' | 'shepherdStart'>): string {
  return `${run.boot.slice(0, 8)}.${run.shepherdPid}.${run.shepherdStart}`;
}

export function runDirectoryName(run: RunDescription): string {
  return `${run.job}.${run.task}.${runId(run)}`;
}

/** Text of a `job` file. */
export function formatRunDescription(run: RunDescription): string {
  return [
    `version=${run.version}`,
    `job=${run.job}`,
    `task=${run.task}`,
    `spool=${run.spool}`,
    `shepherd_pid=${run.shepherdPid}`,
    `shepherd_start=${run.shepherdStart}`,
    `boot=${run.boot}`,
    `hooks=${run.hooks}`,
    `memory=${run.memory}`,
    `reason=${run.reason}`,
    `uptime=${run.uptime}`,
    `address_space_kib=${run.addressSpaceKib ?? ''}`,
    `attached=${run.attached ? 1 : 0}`,
    `pe_task=${run.peTask ?? ''}`,
    `ends=${run.ends}`,
    'end=1',
    '',
  ].join('\n');
}

/** The description in a run directory; null when missing or torn. */
export function readRunDescription(directory: string): RunDescription | null {
  try {
    return parseRunDescription(readFileSync(join(directory, 'job'), 'utf8'));
  } catch {
    return null;
  }
}

export const RUN_NAME = /^\d+\.\d+\.[0-9a-f]{8}\.\d+\.\d+$/;
export const LEFT_MARK = 'left';

/** Run directories under `STATE/run`, oldest first; empty when there are none or they can't be listed. */
export function runDirectories(stateDirectory: string): readonly string[] {
  const parent = join(stateDirectory, 'run');
  try {
    return readdirSync(parent)
      .filter((name) => RUN_NAME.test(name))
      .map((name) => join(parent, name))
      .sort();
  } catch {
    return [];
  }
}

/** Whether the process that `run` names as its shepherd still lives, in this boot. */
export function shepherdLives(run: RunDescription, procRoot = '/proc'): boolean {
  if (run.boot !== bootId(procRoot)) return false;
  return startTicksOf(run.shepherdPid, procRoot) === run.shepherdStart;
}

/** Start of a process in clock ticks after boot; null when there is none or only a zombie of it. */
export function startTicksOf(pid: number, procRoot = '/proc'): number | null {
  try {
    const text = readFileSync(`${procRoot}/${pid}/stat`);
    const stat = parseStat(text, text.length);
    return stat === null || stat.state === 'Z' || stat.state === 'X' ? null : stat.startTicks;
  } catch {
    return null;
  }
}

/** Writes the `pid` file of this process at once or not at all; `more`: further lines of it. */
export function writePidFile(directory: string, boot: string, more: Readonly<Record<string, string>> = {}): void {
  const start = startTicksOf(process.pid) ?? 0;
  const lines = Object.entries({ version: 1, pid: process.pid, start, boot, ...more, end: 1 });
  replaceFile(join(directory, 'pid'), lines.map(([key, value]) => `${key}=${value}\n`).join(''), 0o600);
}

/** The `pid` file of a process that lives; null: there is none, or it can't be read. */
export function livingPidFile(directory: string): ReadonlyMap<string, string> | null {
  try {
    const values = keyValues(readFileSync(join(directory, 'pid'), 'utf8'));
    const lives =
      values.get('boot') === bootId() && startTicksOf(Number(values.get('pid'))) === Number(values.get('start'));
    return lives ? values : null;
  } catch {
    return null;
  }
}

/** Writes a whole file under another name first, so that a reader sees the old or the new text. */
export function replaceFile(path: string, text: string, mode: number): void {
  const temporary = `${path}.${process.pid}.new`;
  writeFileSync(temporary, text, { mode, flag: 'w' });
  renameSync(temporary, path);
}

/** Writes one word into a FIFO that someone waits on; false when nobody does. */
export function answer(fifo: string, word: string): boolean {
  let fd: number;
  try {
    if (!statSync(fifo).isFIFO()) return false;
    fd = openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    writeSync(fd, `${word}\n`);
    return true;
  } catch {
    return false;
  } finally {
    closeSync(fd);
  }
}

export function removeRunDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
