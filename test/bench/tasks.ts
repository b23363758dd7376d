import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatCount } from '../../src/report/format/units';
import { COMMAND } from '../support/qmemacct';
import { temporaryDirectory } from '../support/temporary-directory';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { childrenCpuMs } from './process-cost';
import { tail } from './statistics';
import { fillArrays, FIRST_ARRAY, OWNER, type Arrays } from './task-store';

/** The cost of array jobs on screens and as JSON and CSV: CPU time of whole commands, from Node's start on. */

const RUNS = 7;
const QUICK_RUNS = 3;
const WHOLE: Arrays = { jobs: 1, tasks: 50_000 };
const PARTS: Arrays = { jobs: 25, tasks: 2000 };

const LISTS = [
  ['owner', OWNER, '--since', '7d'],
  ['jobs', '--since', '7d'],
];
const ARRAY = ['job', String(FIRST_ARRAY)];
const SCREENS = [...LISTS, ARRAY, [...ARRAY, '--tasks', '--worst', '20'], [...ARRAY, '--failed']];

function measure(words: readonly string[], config: string, runs: number, isScreen: boolean): Row {
  const values: number[] = [];
  for (let turn = 0; turn < runs; turn++) {
    const before = childrenCpuMs(process.pid);
    const { status } = spawnSync(process.execPath, [COMMAND, ...words, '--config', config], { stdio: 'ignore' });
    if (status !== 0) throw new Error(`${words.join(' ')}: status ${status ?? 'none'}`);
    values.push(childrenCpuMs(process.pid) - before);
  }
  const budget = isScreen ? { budget: 'screen of 50,000 tasks' as const } : {};
  return { what: words.join(' '), unit: 'ms', values, note: tail(values), ...budget };
}

async function measureStore(arrays: Arrays, { quick, progress }: BenchOptions): Promise<Section> {
  const directory = temporaryDirectory();
  const store = await fillArrays(directory, 'accounting.db', arrays, progress);
  const config = join(directory, 'qmemacct.toml');
  writeFileSync(config, `accounting = "${store}"\nserve_socket = "${join(directory, 'none.sock')}"\n`);
  const runs = quick ? QUICK_RUNS : RUNS;
  const screens = arrays.jobs === 1 ? SCREENS : LISTS;
  const formats = (arrays.jobs === 1 ? [LISTS[0] ?? [], ARRAY] : []).flatMap((words) => [
    [...words, '--json'],
    [...words, '--csv'],
  ]);
  const rowOf =
    (isScreen: boolean) =>
    (words: readonly string[]): Row => {
      progress(`tasks: ${words.join(' ')}`);
      return measure(words, config, runs, isScreen);
    };
  const title = `tasks: ${formatCount(arrays.jobs)} × ${formatCount(arrays.tasks)} tasks, CPU of a command`;
  return { title, rows: [...screens.map(rowOf(true)), ...formats.map(rowOf(false))] };
}

async function runBench(options: BenchOptions): Promise<readonly Section[]> {
  return [await measureStore(WHOLE, options), await measureStore(PARTS, options)];
}

export const tasksBench: Bench = {
  name: 'tasks',
  about: 'screens, JSON and CSV of an array of 50,000 tasks, and of 25 arrays of 2,000',
  run: runBench,
};
