import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readTruth, type BurnerProgram, type Truth } from '../burners/build';
import type { Cell } from './cell';
import { burnerCommand } from './site';

/** A `qrsh -inherit` task of a tightly integrated job. */
export interface TightTask {
  /** The host of the job's script, or the second one of the job. */
  readonly on: 'master' | 'other';
  readonly burner: BurnerProgram;
  readonly options: Readonly<Record<string, number | string>>;
  /** ms after the job's start; default 0. */
  readonly afterMs?: number;
}

/**
 * The script of a job that starts these tasks, runs `master` itself meanwhile, and waits for all of them.
 * Each task's burner leaves its truth in the user's home: see taskTruths().
 */
export function tightScript(name: string, tasks: readonly TightTask[], master = 'true'): string {
  return [...openingLines(), ...tasks.map((task) => `${taskCommand(name, task)} &`), `{ ${master}; }`, 'wait', ''].join(
    '\n',
  );
}

/** The first lines of a script with tasks: its hosts become $1 and $2. */
export function openingLines(): readonly string[] {
  return [`set -- $(cut -d' ' -f1 <"$PE_HOSTFILE")`];
}

/** Starts one task, and ends with it. */
export function taskCommand(name: string, { on, burner, options, afterMs = 0 }: TightTask): string {
  // The task's own shell knows its spool directory, whose last part is the pe task id.
  const truth = `${name}.\${SGE_TASK_ID}.\${SGE_JOB_SPOOL_DIR##*/}.truth`;
  const wait = afterMs > 0 ? `sleep ${afterMs / 1000} && ` : '';
  return `(${wait}exec qrsh -inherit -nostdin $${on === 'master' ? 1 : 2} '${burnerCommand(burner, truth, options)}')`;
}

/** Truths by pe task id (`1.ge1`) of the tasks started under this name; for an array job, of one of its tasks. */
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
