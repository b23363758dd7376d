import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Bench, BenchOptions, Section } from './bench';
import { adviceBench } from './advice';
import { atRiskBench } from './at-risk';
import { bracketsBench } from './brackets';
import { cellBench } from './cell';
import { deliveryBench } from './delivery';
import { exportBench } from './export';
import { historyBench, postgresBench } from './history';
import { hooksBench } from './hooks';
import { importBench } from './import';
import { jsvBench } from './jsv';
import { liveBench } from './live';
import { nodeBench } from './node';
import { provedBench } from './proved';
import { samplerBench } from './sampler';
import { serveBench } from './serve';
import { sourcesBench } from './sources';
import { tasksBench } from './tasks';
import { webBench } from './web';
import { busyNote, describeMachine, thisMachine } from './machine';
import { median } from './statistics';
import { budgetSection, formatSection, verdict } from './table';
import { removeTemporaryDirectories } from '../support/temporary-directory';
import { BUDGETS } from './budgets';

/**
 * Benchmarks beside their budgets:
 *
 *   npm run bench -- [NAME...] [--runs N] [--jobs N] [--weeks N] [--keep DIRECTORY] [--trace FILE] [--db PATH] [--quick] [--json FILE]
 *
 * Exit status: 0 measured, whatever the verdicts; 1 a benchmark failed; 2 usage.
 */

const BENCHES: readonly Bench[] = [
  hooksBench,
  jsvBench,
  samplerBench,
  nodeBench,
  sourcesBench,
  bracketsBench,
  provedBench,
  liveBench,
  serveBench,
  webBench,
  deliveryBench,
  cellBench,
  historyBench,
  postgresBench,
  importBench,
  exportBench,
  tasksBench,
  adviceBench,
  atRiskBench,
];

function usage(): string {
  const names = BENCHES.map(({ name, about }) => `  ${name.padEnd(10)} ${about}`);
  return [
    'usage: bench [NAME...] [--runs N] [--jobs N] [--weeks N] [--keep DIRECTORY] [--trace FILE] [--db PATH] [--quick] [--json FILE]',
    ...names,
  ].join('\n');
}

function progressLine(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

function asJson(sections: readonly Section[]): unknown {
  return sections.map(({ title, rows, table, notes }) => ({
    title,
    ...(table === undefined ? {} : { table }),
    notes: notes ?? [],
    rows: rows.map((row) => ({
      ...row,
      at_most: row.budget === undefined ? null : BUDGETS[row.budget].most,
      median: row.values.length > 0 ? median(row.values) : null,
      verdict: verdict(row),
    })),
  }));
}

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      runs: { type: 'string' },
      jobs: { type: 'string' },
      weeks: { type: 'string' },
      keep: { type: 'string' },
      trace: { type: 'string' },
      db: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(usage());
    return 0;
  }
  const runs = Number(values.runs ?? (values.quick ? 20 : 200));
  if (!Number.isInteger(runs) || runs < 1) throw new TypeError('--runs takes a number of at least 1');
  const jobs = values.jobs === undefined ? null : Number(values.jobs);
  if (jobs !== null && (!Number.isInteger(jobs) || jobs < 1000))
    throw new TypeError('--jobs takes a number of at least 1000');
  const weeks = values.weeks === undefined ? null : Number(values.weeks);
  if (weeks !== null && (!Number.isInteger(weeks) || weeks < 1))
    throw new TypeError('--weeks takes a number of at least 1');
  const unknown = positionals.filter((name) => !BENCHES.some((bench) => bench.name === name));
  if (unknown.length > 0) throw new TypeError(`no benchmark is called ${unknown.join(', ')}`);
  const chosen = BENCHES.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

  const machine = thisMachine();
  console.log(describeMachine(machine));
  const busy = busyNote(machine);
  if (busy !== null) console.log(busy);
  const options: BenchOptions = {
    runs,
    jobs,
    weeks,
    keep: values.keep ?? null,
    trace: values.trace ?? null,
    db: values.db ?? null,
    quick: values.quick,
    progress: progressLine,
  };
  const measured: Section[] = [];
  let failed = false;
  for (const bench of chosen) {
    try {
      const sections = await bench.run(options);
      progressLine('');
      measured.push(...sections);
      for (const section of sections) console.log(`\n${formatSection(section)}`);
    } catch (error) {
      progressLine('');
      failed = true;
      console.error(`\n${bench.name} failed: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      removeTemporaryDirectories();
    }
  }
  const budgets = budgetSection(measured);
  if (budgets.table !== undefined) console.log(`\n${formatSection(budgets)}`);
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ machine, sections: asJson(measured) }, null, 2)}\n`);
  return failed ? 1 : 0;
}

/** Ends the processes that this one started: a signal to its pid alone would not end them. */
function endChildren(): void {
  for (const task of readdirSync('/proc/self/task')) {
    const children = readFileSync(`/proc/self/task/${task}/children`, 'utf8').match(/\d+/g) ?? [];
    for (const child of children) process.kill(Number(child), 'SIGTERM');
  }
}

// Shepherds end their processes when this one ends; 'exit' removes the directories.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    try {
      endChildren();
    } finally {
      process.exit(1);
    }
  });

main(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status;
  },
  (error: unknown) => {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage()}`);
    process.exitCode = 2;
  },
);
