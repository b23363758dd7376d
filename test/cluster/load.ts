import type { Cell } from './cell';
import { client } from './kind';
import { slotsPerHost } from './setup';
import { PATIENCE_MS, until } from '../support/until';

/** How many qsub run at the same time; more would only wait for each other. */
const submitters = 4;
/** A qsub takes some 30 ms; the machine may be slow. */
const msPerJob = 500;
const tasksPerArray = 100;

export interface LoadOptions {
  /** Default gealice. */
  readonly user?: string;
  /** Arguments of every qsub. */
  readonly args?: readonly string[];
  /** What every task does; default: sleep for ten minutes. */
  readonly script?: string;
}

/** Submits single jobs in a hurry, named `one.1`, `one.2` ...; returns their numbers, in any order. */
export async function submitSingles(cell: Cell, count: number, options: LoadOptions = {}): Promise<string[]> {
  const { user = 'gealice', args = [], script = 'sleep 600' } = options;
  // One shell on the master for all jobs: entering the host and becoming the user takes as long as a qsub.
  const qsub = [client('qsub'), '-terse', '-o', '/dev/null', '-j', 'y', ...args].map(shellQuoted).join(' ');
  const one = `printf '%s\\n' "$SCRIPT" | ${qsub} -N "one.$1"`;
  const all = `seq ${count} | xargs -P ${submitters} -I NUMBER sh -c ${shellQuoted(one)} sh NUMBER`;
  const output = await cell.check(cell.master, all, {
    user,
    env: { SCRIPT: script },
    timeoutMs: PATIENCE_MS + count * msPerJob,
  });
  const jobs = output.split('\n').filter((line) => /^\d+$/.test(line));
  if (jobs.length !== count) throw new Error(`${jobs.length} of ${count} jobs were submitted:\n${output}`);
  return jobs;
}

/** Submits `count` tasks as single jobs (every fifth) and arrays; returns the job numbers. */
export async function submitLoad(cell: Cell, count: number, options: LoadOptions = {}): Promise<string[]> {
  const { user = 'gealice', args = [], script = 'sleep 600' } = options;
  const singles = Math.ceil(count / 5);
  const arrays: string[] = [];
  for (let left = count - singles; left > 0; left -= tasksPerArray) {
    const range = ['-t', `1-${Math.min(left, tasksPerArray)}`, '-N', `many.${arrays.length + 1}`];
    arrays.push(await cell.submit(user, [...range, '-o', '/dev/null', '-j', 'y', ...args], script));
  }
  return [...arrays, ...(await submitSingles(cell, singles, options))];
}

/** Fills all slots of the cell with `running` tasks, and leaves `pending` more waiting. See emptyCell(). */
export async function fillCell(
  cell: Cell,
  running: number,
  pending: number,
  options: LoadOptions = {},
): Promise<string[]> {
  const perHost = running / cell.execHosts.length;
  if (!Number.isInteger(perHost)) throw new Error(`${running} slots on ${cell.execHosts.length} hosts`);
  await cell.setQueue({ slots: String(perHost) });
  const jobs = await submitLoad(cell, running + pending, options);
  await waitForTasks(cell, ({ running: now }) => now === running);
  return jobs;
}

/** Deletes every job of the cell and gives the queue its usual slots. */
export async function emptyCell(cell: Cell): Promise<void> {
  await cell.qdel(['-u', '*']);
  await waitForTasks(cell, ({ all }) => all === 0);
  await cell.setQueue({ slots: String(slotsPerHost) });
}

interface TaskCounts {
  readonly running: number;
  readonly all: number;
}

/** Returns when the cell's tasks are as wanted. */
async function waitForTasks(cell: Cell, wanted: (counts: TaskCounts) => boolean): Promise<void> {
  let counts: TaskCounts = { running: 0, all: 0 };
  await until(
    async () => {
      const tasks = await cell.tasks();
      counts = { running: tasks.filter(({ state }) => state === 'r').length, all: tasks.length };
      return wanted(counts) ? true : null;
    },
    () => `the wanted number of tasks; now ${counts.running} of ${counts.all} run`,
    500,
  );
}

function shellQuoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
