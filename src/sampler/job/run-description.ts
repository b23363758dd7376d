import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../record/settings';
import { bootId } from '../../sources/proc/clock';
import { keyValues, startTicksOf } from './pid-file';

/** What the prolog says about one run of a job. */
export interface RunDescription {
  readonly job: number;
  /** 0: not an array task. */
  readonly task: number;
  readonly spool: string;
  readonly shepherdPid: number;
  /** Clock ticks after boot. */
  readonly shepherdStart: number;
  readonly boot: string;
  /** Who started the sampler: a prolog as root, a prolog as the job's owner ("plain"), or `qmemacct run`. */
  readonly hooks: 'root' | 'plain' | 'run';
  /** Sampler that the job's limits allow; "none": no sampler, for `reason`. */
  readonly memory: 'full' | 'small' | 'none';
  readonly reason: string;
  /** Hard limit on address space that the hook itself was under, in KiB; null: none, or unknown. */
  readonly addressSpaceKib: number | null;
  /** Seq and host of a `qrsh -inherit` task (`1.node02`), which has its own record; null: the job's master task. */
  readonly peTask: string | null;
  /** What marks the job's end: the epilog's file in the run directory, or `usage` in the spool directory. */
  readonly ends: 'epilog' | 'usage';
  /** `run --pid`: the processes are older than `qmemacct run`, and not its children. */
  readonly attached: boolean;
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
    job: number('job'),
    task: number('task'),
    spool: values.get('spool') ?? '',
    shepherdPid: number('shepherd_pid'),
    shepherdStart: number('shepherd_start'),
    boot: values.get('boot') ?? '',
    hooks,
    memory,
    reason: values.get('reason') ?? '',
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

/** State file of a run, for the process that takes it over; `run`: the name of its run directory. */
export const resumePath = ({ run_dir: directory }: Settings, run: string): string =>
  join(directory, 'resume', `${run}.json`);

export function removeResumeState(settings: Settings, run: string): void {
  rmSync(resumePath(settings, run), { force: true });
}

/** Text of a `job` file. */
export function formatRunDescription(run: RunDescription): string {
  return [
    'version=1',
    `job=${run.job}`,
    `task=${run.task}`,
    `spool=${run.spool}`,
    `shepherd_pid=${run.shepherdPid}`,
    `shepherd_start=${run.shepherdStart}`,
    `boot=${run.boot}`,
    `hooks=${run.hooks}`,
    `memory=${run.memory}`,
    `reason=${run.reason}`,
    `address_space_kib=${run.addressSpaceKib ?? ''}`,
    `attached=${run.attached ? 1 : 0}`,
    `pe_task=${run.peTask ?? ''}`,
    `ends=${run.ends}`,
    'end=1',
    '',
  ].join('\n');
}

/** Whether the process that `run` names as its shepherd still lives, in this boot. */
export function shepherdLives(run: RunDescription, procRoot = '/proc'): boolean {
  if (run.boot !== bootId(procRoot)) return false;
  return startTicksOf(run.shepherdPid, procRoot) === run.shepherdStart;
}
