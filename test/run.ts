import { availableParallelism } from 'node:os';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../src/base/package-root';
import { downCell } from './cluster/cell';
import { stateDirOf } from './cluster/layout';
import { groupsNamed, testFiles, type Need, type TestFiles } from './runner/groups';
import { hasRoom } from './runner/room';
import { lineOf, summaryOf } from './runner/summary';
import { PROGRAM_VARIABLE, release } from './support/released';
import { endRunning, runTests, type Result } from './runner/test-process';

/** A cell uses half a processor, and so do unit tests on average, as many of them wait. */
const SEVERAL = availableParallelism() + 2;

/** Most test processes at once, by what they need. */
const WORKERS: Readonly<Record<Need, number>> = { processor: SEVERAL, cell: SEVERAL, machine: 1 };

/** The first cell has the number after this: another suite on the same machine starts elsewhere. */
const FIRST_CELL = Number(process.env.QMEMACCT_TEST_CELL ?? '0');

const cellOf = (worker: number): string => String(FIRST_CELL + worker);

let isInterrupted = false;

const LOGS = join(packageRoot(), 'dist', 'test-output');
/** The release that the tests start and install; its programs start in two thirds of the time of the checkout's. */
const RELEASE = join(packageRoot(), 'dist', 'test-release');

/** Runs the files, as many at once as there are workers; each worker has a cell of its own for files that want one. */
async function runAll(files: readonly TestFiles[], need: Need): Promise<readonly Result[]> {
  const waiting = files.filter((file) => file.need === need);
  const results: Result[] = [];
  const worker = async (number: number): Promise<void> => {
    for (;;) {
      // Tests that wait for a processor poll meanwhile, which takes even more of it.
      if (number > 1) await hasRoom(() => waiting.length === 0);
      const next = isInterrupted ? undefined : waiting.shift();
      if (next === undefined) return;
      const environment = { ...next.environment, QMEMACCT_TEST_CELL: cellOf(number) };
      const result = await runTests(next, environment, join(LOGS, `${next.name}.txt`));
      results.push(result);
      process.stdout.write(lineOf(result));
    }
  };
  await Promise.all(Array.from({ length: WORKERS[need] }, (_, index) => worker(index + 1)));
  return results;
}

/** At most so many failures may be due to a busy machine; more are a fault of the program. */
const MOST_AGAIN = 3;

/** Runs failed files once more, after all others. */
async function runAgain(first: Result): Promise<Result> {
  const { files } = first;
  const environment = { ...files.environment, QMEMACCT_TEST_CELL: cellOf(1) };
  const result = await runTests(files, environment, join(LOGS, `${files.name}.again.txt`));
  process.stdout.write(`again: ${lineOf(result)}`);
  return { ...result, firstOutput: first.output };
}

/** Takes down the cells of files that did not end. */
async function downCells(): Promise<void> {
  await Promise.all(Array.from({ length: WORKERS.cell }, (_, index) => downCell(stateDirOf(FIRST_CELL + index + 1))));
}

/** `node dist/test/run.js unit load cluster vm`: runs these groups of tests. */
async function main(names: readonly string[]): Promise<void> {
  const groups = groupsNamed(names);
  const files = testFiles(__dirname).filter(({ group }) => groups.includes(group));
  rmSync(RELEASE, { recursive: true, force: true });
  release(RELEASE);
  process.env[PROGRAM_VARIABLE] = RELEASE;
  const together = await Promise.all([runAll(files, 'cell'), runAll(files, 'processor')]);
  const results = [...together.flat(), ...(await runAll(files, 'machine'))];
  const areFew = results.filter(({ isGreen }) => !isGreen).length <= MOST_AGAIN;
  for (const [index, result] of results.entries())
    if (!result.isGreen && areFew && !isInterrupted) results[index] = await runAgain(result);
  await downCells();
  process.stdout.write(summaryOf(results));
  process.exitCode = results.every(({ isGreen }) => isGreen) ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    isInterrupted = true;
    endRunning();
    void downCells().finally(() => process.exit(1));
  });
void main(process.argv.slice(2));
