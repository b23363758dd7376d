import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readTruth, type BurnerProgram, type Truth } from '../burners/build';
import type { Cell } from './cell';
import { burnerCommand } from './site';

/** A `qrsh -inherit` task of a tightly integrated job. */
export interface TightTask {
  /** The host of the job's script, or the job's second host. */
  readonly on: 'master' | 'other';
  readonly burner: BurnerProgram;
  readonly options: Readonly<Record<string, number | string>>;
  /** ms after the job's start; default 0. */
  readonly afterMs?: number;
}

/**
 * The script of a job that starts these tasks, runs the command `master` itself meanwhile, and waits for all of them.
 * Each task's burner writes its truth to the user's home: see taskTruths().
 */
export function tightScript(name: string, tasks: readonly TightTask[], master = 'true'): string {
  return [...openingLines(), ...tasks.map((task) => `${taskCommand(name, task)} &`), `{ ${master}; }`, 'wait', ''].join(
    '\n',
  );
}

/** The first lines of a script with tasks: the job's hosts become $1 and $2. */
export function openingLines(): readonly string[] {
  return [`set -- $(cut -d' ' -f1 <"$PE_HOSTFILE")`];
}

/** Shell command that starts one task, and ends with it. */
export function taskCommand(name: string, { on, burner, options, afterMs = 0 }: TightTask): string {
  // Expanded by the task's own shell: the last part of its spool directory is the PE task id.
  const truth = `${name}.\${SGE_TASK_ID}.\${SGE_JOB_SPOOL_DIR##*/}.truth`;
  const wait = afterMs > 0 ? `sleep ${afterMs / 1000} && ` : '';
  return `(${wait}exec qrsh -inherit -nostdin $${on === 'master' ? 1 : 2} '${burnerCommand(burner, truth, options)}')`;
}

/** Truths by PE task id (`1.ge1`) of the tasks started under this name; of an array job, of one array task. */
export function taskTruths(cell: Cell, user: string, name: string, arrayTask = 'undefined'): Map<string, Truth> {
  const home = cell.layout.home(user);
  const [prefix, suffix] = [`${name}.${arrayTask}.`, '.truth'];
  const truths = new Map<string, Truth>();
  for (const file of readdirSync(home)) {
    if (!file.startsWith(prefix) || !file.endsWith(suffix)) continue;
    const [truth] = readTruth(join(home, file));
    if (truth !== undefined) truths.set(file.slice(prefix.length, -suffix.length), truth);
  }
  return truths;
}
