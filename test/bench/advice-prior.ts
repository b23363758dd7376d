import { ratiosTo, type Need } from '../../src/advice/job-class';
import { GROUPS, PRIOR_SHARES, RISKS, type Prior } from '../../src/advice/margins';
import { Predictor, type Known } from '../../src/advice/predictor';

const LEAST_SCORES = 20;
/** Scores taken of each trace, so that a long one does not outweigh the others. */
const PER_TRACE = 200;

/** Scores by risk and group, smallest first. */
export type Scores = readonly (readonly (readonly number[])[])[];

export const NO_PRIOR: Prior = RISKS.map(() => []);

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;

/** A prior from the scores of several traces, each with the same weight. */
export function makePrior(traces: readonly Scores[]): Prior {
  return RISKS.map((_, risk) =>
    Array.from({ length: GROUPS }, (_unused, group) => {
      const scores = traces.flatMap((trace) => evenly(trace[risk]?.[group] ?? [])).sort((a, b) => a - b);
      return scores.length < LEAST_SCORES ? [] : tail(scores);
    }),
  );
}

/** Keeps the scores of all classes together. */
export class ScoreKeeper extends Predictor {
  private readonly kept = RISKS.map(() => Array.from({ length: GROUPS }, (): number[] => []));

  constructor() {
    super(NO_PRIOR);
  }

  override learn(known: readonly Known[], need: Need): void {
    for (const { then } of known.filter((one) => one.then.runs > 0))
      for (const [risk, ratio] of ratiosTo(then, need).entries()) this.kept[risk]?.[then.group]?.push(Math.log(ratio));
    super.learn(known, need);
  }

  get scores(): Scores {
    return this.kept.map((groups) => groups.map((scores) => scores.toSorted((a, b) => a - b)));
  }
}

function evenly(sorted: readonly number[]): readonly number[] {
  const count = Math.min(PER_TRACE, sorted.length);
  return Array.from({ length: count }, (_, index) => at(sorted, (index + 0.5) / count));
}

function tail(sorted: readonly number[]): readonly number[] {
  let below = 0;
  return PRIOR_SHARES.map((share) => {
    const score = at(sorted, below + share / 2);
    below += share;
    return Math.round(score * 1000) / 1000;
  });
}

/** The last rows of each risk, from the first one that differs from those of the next smaller risk. */
function ownRows(prior: Prior): Prior {
  return prior.map((rows, risk) => {
    const first = rows.findIndex((row, group) => row.join() !== prior[risk - 1]?.[group]?.join());
    return first < 0 ? [] : rows.slice(first);
  });
}

/** The text of src/advice/prior.ts. */
export function priorSource(memory: Prior, time: Prior): string {
  const groups = (rows: readonly (readonly number[])[]): string =>
    rows.map((row) => `    [${row.join(', ')}],`).join('\n');
  const rowsOf = (prior: Prior): string =>
    ownRows(prior)
      .map((rows) => `  [\n${groups(rows)}\n  ],`)
      .join('\n');
  return `import type { Prior } from './margins';

// From nine public traces (qiita, mgnify, four of cctools, three of WfInstances; 81,220 jobs), each with the same weight:
// made by \`npm run bench -- advice --trace FILE --keep DIRECTORY\`.

export const MEMORY_PRIOR: Prior = [
${rowsOf(memory)}
];

/** Of elapsed times. */
export const TIME_PRIOR: Prior = [
${rowsOf(time)}
];
`;
}
