import { groupBy } from '../../src/base/group-by';
import type { Result } from './test-process';

const LONGEST_SHOWN = 10;

const minutes = (seconds: number): string =>
  seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;

const lasted = ({ began, ended }: Result): number => ended - began;

/** One line about files that have ended; their whole output if they failed. */
export function lineOf(result: Result): string {
  const { files, isGreen, tests, output } = result;
  const line = `${isGreen ? '✔' : '✖'} ${files.name}: ${tests} tests, ${minutes(lasted(result))}\n`;
  return isGreen ? line : `${line}${output}`;
}

/** Each group's duration, the longest files, what was skipped and why, and what failed. */
export function summaryOf(results: readonly Result[]): string {
  const groups = [...groupBy(results, ({ files }) => files.group)].map(([group, of]) => {
    const wall = Math.max(...of.map(({ ended }) => ended)) - Math.min(...of.map(({ began }) => began));
    const sum = of.reduce((seconds, result) => seconds + lasted(result), 0);
    const tests = of.reduce((count, result) => count + result.tests, 0);
    return `${group}: ${of.reduce((count, { files }) => count + files.paths.length, 0)} files, ${tests} tests in ${minutes(wall)} (one after the other ${minutes(sum)})`;
  });
  const longest = [...results].sort((a, b) => lasted(b) - lasted(a)).slice(0, LONGEST_SHOWN);
  const skipped = results.flatMap(({ files, output }) =>
    [...output.matchAll(/^\s*﹣ (.*) \([\d.]+ms\) # (.*)$/gm)].map(
      ([, test = '', reason = '']) => `skipped: ${files.name}: ${test}: ${reason}`,
    ),
  );
  const failed = results.filter(({ isGreen }) => !isGreen);
  const unsteady = results.filter(({ isGreen, firstOutput }) => isGreen && firstOutput !== undefined);
  const lines = [
    '',
    ...groups,
    'the longest files:',
    ...longest.map((result) => `  ${minutes(lasted(result)).padStart(13)}  ${result.files.name}`),
    ...skipped,
    ...failed.map(({ files, output }) => `FAILED: ${files.name}\n${failuresIn(output)}`),
    ...unsteady.map(({ files, firstOutput = '' }) => `FAILED ONCE: ${files.name}\n${failuresIn(firstOutput)}`),
    verdict(failed.length, unsteady.length),
  ];
  return `${lines.join('\n')}\n`;
}

function verdict(failed: number, unsteady: number): string {
  if (failed > 0) return `${failed} failed`;
  return unsteady > 0 ? `green, but ${unsteady} only at the second time` : 'all green';
}

/** The spec reporter's section about the tests that failed. */
function failuresIn(output: string): string {
  const at = output.lastIndexOf('✖ failing tests:');
  return at === -1 ? output.slice(-2000) : output.slice(at);
}
