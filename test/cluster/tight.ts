import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readTruth, type BurnerProgram, type Truth } from '../burners/build';
import type { Cell } from './cell';
import { burnerCommand } from './site';

/** A `qrsh -inherit` task of a tightly integrated job: a burner on a host of the job. */
export interface TightTask {
  readonly host: string;
  readonly burner: BurnerProgram;
  readonly options: Readonly<Record<string, number>>;
  /** ms after the job's start; default 0. */
  readonly afterMs?: number;
}

/**
 * The script of a job that starts these tasks at the same time, runs `master` itself meanwhile, and waits for all.
 * Each burner leaves its truth in the user's home: taskTruths(cell, user, name) finds it.
 */
export function tightScript(name: string, tasks: readonly TightTask[], master = 'true'): string {
  return [...tasks.map((task) => `${taskCommand(name, task)} &`), `{ ${master}; }`, 'wait', ''].join('\n');
}

/** Starts one task from within a job's script, and ends with it. */
export function taskCommand(name: string, { host, burner, options, afterMs = 0 }: TightTask): string {
  // The task's own shell knows its spool directory, whose last part is the pe task id.
  const truth = `${name}.\${SGE_TASK_ID}.\${SGE_JOB_SPOOL_DIR##*/}.truth`;
  const command = burnerCommand(burner, truth, options).replaceAll("'", String.raw`'\''`);
  const wait = afterMs > 0 ? `sleep ${afterMs / 1000} && ` : '';
  return `(${wait}exec qrsh -inherit -nostdin ${host} '${command}')`;
}

/** Truths by pe task id (`1.ge1`) of the burners that tightScript() started under this name; of one array task. */
export function taskTruths(cell: Cell, user: string, name: string, task = 'undefined'): Map<string, Truth> {
  const home = cell.layout.home(user);
  const prefix = `${name}.${task}.`;
  const files = readdirSync(home).filter((file) => file.startsWith(prefix) && file.endsWith('.truth'));
  return new Map(
    files.flatMap((file) =>
      readTruth(join(home, file)).map((truth): [string, Truth] => [file.slice(prefix.length, -'.truth'.length), truth]),
    ),
  );
}
