import { codeOf } from '../../base/error-code';
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import { lockFile, makeFifo, tryLock } from '../../native/libc';
import { changedMs, listNames, readText } from '../../sources/files';
import { bootId } from '../../sources/proc/clock';
import { keyValues, writePidFile } from './pid-file';
import { formatRunDescription, parseRunDescription, runDirectoryName, type RunDescription } from './run-description';

/**
 * How hooks and sampler talk: one directory per run of a job, `STATE/run/JOB.TASK.BOOT.PID.START` (0700).
 *
 *   job       prolog     key=value lines, `version` first, `end=1` last: without the last line it is torn
 *   starting  prolog     pid of the sampler that it has just started; 0: none yet
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
 * A file `left` beside these directories: a job's limits kept its epilog from starting a flush (listener/left-runs.ts).
 *
 * BOOT is the boot id's first 8 hex digits, PID and START name the shepherd: prolog and epilog, both its children, can
 * each derive the directory's name. Readers ignore keys that they don't know; a key is never given a new meaning, so
 * that neighbouring versions understand each other.
 */
export class RunDirectory {
  readonly name: string;
  private lockFd: number | null = null;

  constructor(readonly path: string) {
    this.name = basename(path);
  }

  /** `DIRECTORY/run/NAME`; null: NAME is not the name of a run. */
  static named(directory: string, name: string): RunDirectory | null {
    return RUN_NAME.test(name) ? new RunDirectory(join(directory, 'run', name)) : null;
  }

  /** The run directories under `DIRECTORY/run`, by name; empty when there are none or they can't be listed. */
  static list(directory: string): readonly RunDirectory[] {
    const parent = join(directory, 'run');
    const names = listNames(parent).filter((name) => RUN_NAME.test(name));
    return names.map((name) => new RunDirectory(join(parent, name)));
  }

  /** Makes, in `DIRECTORY/run`, the directory of a run without a prolog. null: there is one. Throws if that fails. */
  static make(directory: string, run: RunDescription): RunDirectory | null {
    const parent = join(directory, 'run');
    const made = new RunDirectory(join(parent, runDirectoryName(run)));
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    try {
      mkdirSync(made.path, { mode: 0o700 });
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return null;
      throw error;
    }
    try {
      writeFileSync(made.file('job'), formatRunDescription(run), { mode: 0o600 });
      return made;
    } catch (error) {
      made.remove();
      throw error;
    }
  }

  /** runId() of its run. */
  get runId(): string {
    return this.name.split('.').slice(2).join('.');
  }

  /** null when missing or torn. */
  description(): RunDescription | null {
    const text = readText(this.file('job'));
    return text === null ? null : parseRunDescription(text);
  }

  exists(): boolean {
    return existsSync(this.path);
  }

  /** When it was last changed (ms since the epoch); now, if it has gone. */
  changedMs(): number {
    return changedMs(this.path) ?? Date.now();
  }

  /** Makes this process the one that looks after the run; false: another one does. Throws when there can be no lock. */
  lock(): boolean {
    this.lockFd ??= lockFile(this.file('lock'));
    return this.lockFd !== null;
  }

  /** Takes over the lock that a predecessor left as descriptor 3; false: there is none. */
  inheritLock(): boolean {
    try {
      fstatSync(3);
    } catch {
      return false;
    }
    this.lockFd = 3;
    return true;
  }

  /** The lock's descriptor, for a successor; null: not held. */
  get heldLock(): number | null {
    return this.lockFd;
  }

  unlock(): void {
    if (this.lockFd !== null) closeSync(this.lockFd);
    this.lockFd = null;
  }

  /** Whether no process looks after this run now. */
  isUnattended(): boolean {
    let lock: number;
    try {
      lock = openSync(this.file('lock'), 'r+');
    } catch (error) {
      return codeOf(error) === 'ENOENT';
    }
    try {
      return tryLock(lock);
    } finally {
      closeSync(lock);
    }
  }

  /**
   * Writes `pid`, and makes the FIFO `ack` so that the epilog need not; if that fails, the epilog makes it. If `pid`
   * can't be written, the epilog uses the prolog's `starting`.
   */
  announce(): void {
    try {
      writePidFile(this.path, bootId());
    } catch (error) {
      warn(`${this.file('pid')}: ${reasonOf(error)}`);
    }
    try {
      makeFifo(this.file('ack'), 0o600);
    } catch {
      // An epilog that came before us has made it.
    }
  }

  /** The kernel's events are heard from now on, or it is clear that they can't be: prolog and `run` wait for this. */
  armed(isRun: boolean): void {
    if (isRun) writeFileSync(this.file('listening'), '');
    // The FIFO is there only where the prolog waits.
    answer(this.file('armed'), 'armed');
  }

  /** Pid of the process that last looked after this run, alive or not; null: unknown. */
  samplerPid(): number | null {
    const pid = Number(keyValues(readText(this.file('pid')) ?? '').get('pid') ?? Number.NaN);
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
  }

  /**
   * When the epilog reported the job's end (ms since the epoch) or, because no sampler answered in time, left its
   * copies; null: not yet.
   */
  finishedMs(): number | null {
    return changedMs(this.file('finish')) ?? changedMs(this.file('copied'));
  }

  /** Tells the epilog that the summary is kept: on `disk`, or only in `memory`. */
  acknowledge(kept: 'disk' | 'memory'): void {
    answer(this.file('ack'), kept);
  }

  /** Copies the spool files, as the epilog does. Throws if that fails. */
  takeCopies(spool: string): void {
    for (const name of ['config', 'usage'])
      if (existsSync(join(spool, name))) copyFileSync(join(spool, name), this.file(name));
    writeFileSync(this.file('copied'), '1\n', { mode: 0o600 });
  }

  /** Whether there are complete copies of the spool files, which the epilog makes when no sampler answers. */
  hasCopies(): boolean {
    return existsSync(this.file('copied'));
  }

  copy(name: 'config' | 'usage'): string | null {
    return readText(this.file(name));
  }

  /** false: the directory can't be removed, which is logged; the next flush tries again. */
  remove(): boolean {
    try {
      rmSync(this.path, { recursive: true, force: true });
      return true;
    } catch (error) {
      warn(`${this.path} can't be removed: ${reasonOf(error)}`);
      return false;
    }
  }

  private file(name: string): string {
    return join(this.path, name);
  }
}

/** The last two numbers name the shepherd. */
export const RUN_NAME = /^\d+\.\d+\.[0-9a-f]{8}\.(\d+)\.(\d+)$/;
export const LEFT_MARK = 'left';

/** Writes one word into a FIFO if someone waits on it; never throws. */
function answer(fifo: string, word: string): void {
  let file: number | null = null;
  try {
    if (!statSync(fifo).isFIFO()) return;
    file = openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
    writeSync(file, `${word}\n`);
  } catch {
    // Nobody waits there (any more).
  } finally {
    if (file !== null) closeSync(file);
  }
}
