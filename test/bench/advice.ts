import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ManyRuns } from '../../src/advice/many-runs';
import { Predictor } from '../../src/advice/predictor';
import { MEMORY_PRIOR } from '../../src/advice/prior';
import { bySubmission, replay, Tally, type Outcome, type PastRun, type ReplayAnswer } from '../../src/advice/replay';
import { readTraceFile } from '../../src/advice/trace-file';
import type { Prior } from '../../src/advice/margins';
import { groupBy } from '../../src/base/group-by';
import { makePrior, NO_PRIOR, priorSource, ScoreKeeper, type Scores } from './advice-prior';
import type { Bench, BenchOptions, Section } from './bench';

const RISKS = [0.01, 0.02, 0.05] as const;
const WASTE_BUDGETS = ['waste at 1 %', 'waste at 2 %', 'waste at 5 %'] as const;
const MILLION = 1_000_000;

/** Runs in the order in which they were submitted. */
type Traces = ReadonlyMap<string, readonly PastRun[]>;

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const share = (part: number, of: number): string => (of === 0 ? '-' : `${((100 * part) / of).toFixed(2)} %`);

const waste = (outcome: Outcome): number => outcome.unused_byte_seconds / outcome.used_byte_seconds;

function cell(outcome: Outcome): string {
  const { jobs, failed } = outcome;
  return jobs === 0 ? '-' : `${share(failed, jobs)}, ${waste(outcome).toFixed(2)}`;
}

/** Replays each trace with a prior from the other traces only. */
function heldOut(traces: Traces): ReadonlyMap<string, ReplayAnswer> {
  const scores = new Map([...traces].map(([name, runs]) => [name, playedScores(runs)] as const));
  return new Map(
    [...traces].map(([name, runs]) => {
      const others = [...scores].flatMap(([other, known]) => (other === name ? [] : [known]));
      return [name, replay(runs, RISKS, new Predictor(makePrior(others)))] as const;
    }),
  );
}

/** The run with its elapsed time in place of memory. */
const timeOf = (run: PastRun): readonly PastRun[] =>
  run.seconds > 0 ? [{ ...run, needed: run.seconds, requested: null }] : [];

function playedScores(runs: readonly PastRun[]): Scores {
  const keeper = new ScoreKeeper();
  replay(runs, [], keeper);
  return keeper.scores;
}

function risksSection(answers: ReadonlyMap<string, ReplayAnswer>): Section {
  const rows = RISKS.flatMap((risk, index) => {
    const outcomes = [...answers.values()].flatMap(({ advice }) => advice[index]?.within ?? []);
    const failed = outcomes.map((outcome) => (100 * outcome.failed) / outcome.jobs);
    const stated = 100 * risk;
    return [
      {
        what: `failed over a stated ${stated} %, mean`,
        unit: 'x' as const,
        values: [mean(failed) / stated],
        budget: 'failures over those stated' as const,
        note: `${mean(failed).toFixed(2)} %`,
      },
      {
        what: `traces of ${failed.length} above twice the stated ${stated} %`,
        unit: '%' as const,
        values: [(100 * failed.filter((percent) => percent > 2 * stated).length) / failed.length],
        budget: 'traces above twice the stated risk' as const,
      },
      {
        what: `waste at ${stated} %, mean`,
        unit: 'x' as const,
        values: [mean(outcomes.map(waste))],
        budget: WASTE_BUDGETS[index],
      },
    ];
  });
  const table = [
    ['trace', 'jobs', ...RISKS.map((risk) => `${100 * risk} %`), 'at a larger risk', 'largest of 30 + 20 %', "users'"],
    ...[...answers].map(([name, { advisable, advice, rules, users }]) => [
      name,
      String(advisable),
      ...advice.map(({ within }) => cell(within)),
      advice.map(({ larger }) => larger.jobs).join(', '),
      rules.flatMap((rule) => (rule.name.includes('30') ? cell(rule) : [])).join(),
      users === null ? '-' : cell(users),
    ]),
  ];
  return {
    title: 'Advice replayed: failed, and memory-hours wasted over used; the prior made from the other traces',
    rows,
    table,
    notes: [
      'Jobs of classes with fewer than 3 runs get no advice; those predicted at a larger risk only are counted apart.',
    ],
  };
}

function timeSection(answers: ReadonlyMap<string, ReplayAnswer>): Section {
  const rows = RISKS.map((risk, index) => {
    const outcomes = [...answers.values()].flatMap(({ advice }) => advice[index]?.within ?? []);
    const failed = outcomes.flatMap((outcome) => (outcome.jobs === 0 ? [] : [(100 * outcome.failed) / outcome.jobs]));
    return { what: `ran longer at a stated ${100 * risk} %, mean`, unit: '%' as const, values: [mean(failed)] };
  });
  return { title: 'The same of elapsed times', rows };
}

/** A trace names only programs: the class of all its runs stands for the class of one owner. */
const CLASSES: readonly (readonly [string, (run: PastRun) => readonly string[]])[] = [
  ['by program', ({ classes }) => classes],
  ['by program, else all runs', ({ classes }) => [...classes, 'all']],
  ['all runs alike', () => ['all']],
];

function classesSection(traces: Traces): Section {
  const table = CLASSES.map(([name, classesOf]) => {
    const changed = [...traces].map(([trace, runs]) => {
      return [trace, runs.map((run) => ({ ...run, classes: classesOf(run) }))] as const;
    });
    const answers = [...heldOut(new Map(changed)).values()];
    const cells = RISKS.map((_risk, index) => {
      const outcomes = answers.flatMap(({ advice }) => advice[index]?.within ?? []);
      const failed = mean(outcomes.map((outcome) => (100 * outcome.failed) / outcome.jobs));
      return `${failed.toFixed(2)} %, ${mean(outcomes.map(waste)).toFixed(2)}`;
    });
    return [name, String(answers.reduce((jobs, { advisable }) => jobs + advisable, 0)), ...cells];
  });
  return {
    title: 'Other classes: failed and wasted, means over the traces',
    rows: [],
    table: [['classes', 'jobs', ...RISKS.map((risk) => `${100 * risk} %`)], ...table],
  };
}

/** Numbers of a class's last runs from which advice is made. */
const LAST_RUNS = [150, 250, 400] as const;
/** One run in this many is predicted, since each needs a predictor of its own. */
const EVERY = 9;

/** Outcomes of advice from the last `most` runs before each run that has more than LAST_RUNS[0] before it. */
function lastRunsOutcomes(runs: readonly PastRun[], most: number): readonly Outcome[] {
  const tallies = RISKS.map((risk) => ({ risk, tally: new Tally() }));
  for (const ofClass of groupBy(runs, ({ classes }) => classes.at(-1)).values()) {
    const byEnd = ofClass.toSorted((a, b) => a.end - b.end);
    for (const run of ofClass.filter((_run, index) => index % EVERY === 0)) {
      const ended = byEnd.findLastIndex(({ end }) => end <= run.submit) + 1;
      if (ended <= LAST_RUNS[0]) continue;
      const predictor = new Predictor(MEMORY_PRIOR);
      replay(bySubmission(byEnd.slice(Math.max(0, ended - most), ended)), [], predictor, []);
      const jobClass = predictor.advisable(predictor.known(run.classes));
      for (const { risk, tally } of tallies) {
        const request = jobClass?.request(risk) ?? null;
        if (request !== null && request.risk <= risk) tally.add(run, request.amount, request.risk);
      }
    }
  }
  return tallies.map(({ tally }) => tally.outcome());
}

function lastRunsSection(traces: Traces): Section {
  const table = LAST_RUNS.map((most) => {
    const outcomes = [...traces.values()].map((runs) => lastRunsOutcomes(runs, most));
    const known = RISKS.map((_risk, index) =>
      outcomes.flatMap((ofTrace) => ofTrace[index] ?? []).filter(({ jobs }) => jobs > 0),
    );
    const cells = known.map((some) => {
      const failed = mean(some.map((outcome) => (100 * outcome.failed) / outcome.jobs));
      return `${failed.toFixed(2)} %, ${mean(some.map(waste)).toFixed(3)}`;
    });
    return [String(most), String(known[0]?.reduce((all, { jobs }) => all + jobs, 0) ?? 0), ...cells];
  });
  return {
    title: `Advice from the last runs of a class: failed and wasted, one run of ${EVERY}, means over the traces`,
    rows: [],
    table: [['runs', 'jobs', ...RISKS.map((risk) => `${100 * risk} %`)], ...table],
  };
}

/** Repeats the traces, as other classes at later times, until there are `jobs` runs. */
function many(traces: Traces, jobs: number): ManyRuns {
  const all = [...traces.values()].flat();
  const runs = new ManyRuns();
  for (let index = 0; index < jobs; index++) {
    const run = all[index % all.length] as PastRun;
    const round = Math.floor(index / all.length);
    const later = round * 1e9;
    const classes = [`${round} ${run.classes.join()}`];
    runs.add({ ...run, submit: run.submit + later, end: run.end + later, classes });
  }
  return runs;
}

function speedSection(traces: Traces, jobs: number): Section {
  const runs = many(traces, jobs);
  const from = performance.now();
  replay(runs.bySubmission(), RISKS, new Predictor(NO_PRIOR));
  const ms = performance.now() - from;
  return {
    title: `${jobs.toLocaleString('en')} jobs replayed`,
    rows: [
      {
        what: 'time of a million',
        unit: 's',
        values: [(ms / 1000 / jobs) * MILLION],
        budget: 'replay of a million jobs',
      },
      {
        what: 'memory of the process',
        unit: 'MiB',
        values: [process.memoryUsage().rss / 2 ** 20],
        budget: 'memory of a replay',
      },
    ],
  };
}

export const adviceBench: Bench = {
  name: 'advice',
  about: 'stated against realised risk over traces of jobs (--trace FILE), and the speed of a replay',
  async run({ trace, keep, jobs, quick }: BenchOptions): Promise<readonly Section[]> {
    if (trace === null) return [{ title: 'Advice', rows: [], notes: ['not run: name a file of jobs by --trace FILE'] }];
    const read = await readTraceFile(trace);
    if (!read.ok) throw new Error(read.error);
    const memory = new Map([...read.value].map(([name, runs]) => [name, [...runs.bySubmission()]] as const));
    const time = new Map([...memory].map(([name, runs]) => [name, runs.flatMap(timeOf)] as const));
    const priorOf = (traces: Traces): Prior => makePrior([...traces.values()].map(playedScores));
    if (keep !== null) writeFileSync(join(keep, 'prior.ts'), priorSource(priorOf(memory), priorOf(time)));
    return [
      risksSection(heldOut(memory)),
      timeSection(heldOut(time)),
      classesSection(memory),
      lastRunsSection(memory),
      speedSection(memory, jobs ?? (quick ? MILLION / 10 : MILLION)),
    ];
  },
};
