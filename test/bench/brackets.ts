import { cpus } from 'node:os';
import { BRACKET_CASES, type BracketCase } from '../burners/bracket-cases';
import {
  bracketsObstacle,
  cgroupObstacle,
  openBracketedRuns,
  widthOf,
  type BracketedRun,
  type BracketedRuns,
} from '../burners/bracketed';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { median } from './statistics';

/**
 * How far the sampler's peaks can be trusted: burners that know their own peak, each run many times; the bracket beside
 * what other tools say of the same runs.
 */

/** A figure this near the truth is called right. */
const RIGHT = 0.02;
const PLAIN_INTERVAL_MS = 1000;
const INTERVAL_MS = 1000;

interface Rival {
  readonly name: string;
  /** Bytes; null: not available. */
  readonly figure: (run: BracketedRun) => number | null;
}

const RIVALS: readonly Rival[] = [
  { name: 'sum of RSS at 1 Hz', figure: ({ plain }) => plain?.rssSum ?? null },
  { name: 'sum of VmHWM at 1 Hz', figure: ({ plain }) => plain?.hwmSum ?? null },
  { name: 'ru_maxrss', figure: ({ maxrssBytes }) => maxrssBytes },
  { name: 'cgroup peak', figure: ({ cgroupPeakBytes }) => cgroupPeakBytes },
];

/** By how much of the truth a figure is off; the truth is known to within its uncertainty. */
function errorOf(value: number, { truth: { rssSum, uncertainty } }: BracketedRun): number {
  if (value < rssSum) return value / rssSum - 1;
  return Math.max(0, value - rssSum - uncertainty) / rssSum;
}

function holds({ record: { peak_rss: rss }, truth }: BracketedRun): boolean {
  if (rss === null || rss.lower_bytes > truth.rssSum + truth.uncertainty) return false;
  return rss.upper_bytes === null || rss.upper_bytes >= truth.rssSum;
}

const percent = (share: number, decimals: number): string =>
  Number.isFinite(share) ? `${(share * 100).toFixed(decimals)} %` : '-';

/** "37 %, +12 %": how often it was right, and its median error. */
function judged({ figure }: Rival, runs: readonly BracketedRun[]): string {
  const errors = runs.flatMap((run) => {
    const value = figure(run);
    return value === null ? [] : [errorOf(value, run)];
  });
  if (errors.length === 0) return '-';
  const right = errors.filter((error) => Math.abs(error) <= RIGHT).length / errors.length;
  const error = median(errors);
  return `${percent(right, 0)}, ${error < 0 ? '' : '+'}${percent(error, 1)}`;
}

function widthsOf(runs: readonly BracketedRun[]): readonly number[] {
  return runs
    .map((run) => widthOf(run.record.peak_rss, run.truth.rssSum))
    .filter((width): width is number => width !== null);
}

function lineOf(name: string, runs: readonly BracketedRun[]): readonly string[] {
  const widths = widthsOf(runs);
  const exact = runs.filter(({ record }) => record.peak_rss?.exact === true).length;
  return [
    name,
    String(runs.length),
    String(runs.filter(holds).length),
    String(runs.length - widths.length),
    String(exact),
    widths.length === 0 ? '-' : percent(median(widths), 2),
    ...RIVALS.map((rival) => judged(rival, runs)),
  ];
}

const HEAD: readonly string[] = [
  'burner',
  'runs',
  'held',
  'open',
  'exact',
  'width',
  ...RIVALS.map(({ name }) => `${name}: right, error`),
];

async function runAll(
  runs: BracketedRuns,
  options: BenchOptions,
): Promise<ReadonlyMap<BracketCase, readonly BracketedRun[]>> {
  const each = Math.max(1, Math.ceil(options.runs / BRACKET_CASES.length));
  const outcomes = new Map<BracketCase, BracketedRun[]>(BRACKET_CASES.map((one) => [one, []]));
  // All burners in each round, so that a busy moment of the machine affects all alike.
  const waiting = Array.from({ length: each }, () => BRACKET_CASES).flat();
  const all = waiting.length;
  let done = 0;
  const lane = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const run = await runs.run({
        burner: one.burner,
        options: options.quick ? one.options : one.longer,
        intervalMs: INTERVAL_MS,
        firstLookMs: Math.random() * 20,
        group: true,
        rivals: { phaseMs: Math.random() * PLAIN_INTERVAL_MS },
        ...one.job,
      });
      outcomes.get(one)?.push(run);
      options.progress(`brackets: ${++done} of ${all} runs`);
    }
  };
  await Promise.all(Array.from({ length: 3 * cpus().length }, lane));
  return outcomes;
}

async function run(options: BenchOptions): Promise<readonly Section[]> {
  const title = `brackets of resident memory (rss_sum), interval ${INTERVAL_MS / 1000} s`;
  const obstacle = bracketsObstacle();
  if (obstacle !== null)
    return [{ title, rows: [{ what: 'truth inside the bracket', unit: '%', values: [], note: obstacle }] }];
  const runs = await openBracketedRuns();
  try {
    const outcomes = await runAll(runs, options);
    const every = [...outcomes.values()].flat();
    const ordinary = [...outcomes].filter(([one]) => one.ordinary === true).flatMap(([, done]) => done);
    const missed = (every.filter((each) => !holds(each)).length / every.length) * 100;
    const rows: Row[] = [
      {
        what: `truth outside the bracket, ${every.length} runs`,
        unit: '%',
        values: [missed],
        budget: 'truth outside the bracket',
      },
      {
        what: `median width, ${ordinary.length} runs of ordinary jobs`,
        unit: '%',
        values: [median(widthsOf(ordinary)) * 100],
        // Short runs hold little memory: the slack of the marks is a larger share of it.
        budget: options.quick ? undefined : 'width of the bracket',
      },
      {
        what: 'upper end open, all runs',
        unit: '%',
        values: [((every.length - widthsOf(every).length) / every.length) * 100],
      },
      {
        what: 'the same of address space (vmem_sum)',
        unit: '%',
        values: [(every.filter(({ record }) => record.peak_vmem?.proved !== true).length / every.length) * 100],
      },
    ];
    const noCgroup = cgroupObstacle();
    return [
      {
        title,
        rows,
        table: [
          HEAD,
          ...[...outcomes].map(([one, done]) => lineOf(`${one.name}${one.ordinary === true ? ' *' : ''}`, done)),
          lineOf('all', every),
        ],
        notes: [
          '* ordinary: one or two large programs, or several that are there together. Width: of the truth, closed ends only.',
          `Right: within ${RIGHT * 100} % of the truth; error: the median. A cgroup counts each page once, and page cache and`,
          'kernel memory, too: where pages are shared or read from files that is not what processes hold in sum.',
          ...(noCgroup === null ? [] : [`No cgroup peak: ${noCgroup}.`]),
        ],
      },
    ];
  } finally {
    await runs.close();
  }
}

export const bracketsBench: Bench = {
  name: 'brackets',
  about: 'peaks beside programs that know theirs; what plain samplers, ru_maxrss and cgroups say of the same runs',
  run,
};
