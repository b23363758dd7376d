import { retireListener } from '../../src/sampler/listener/directory';
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteReader } from '../../src/accounting/sqlite/sqlite-store';
import { runningListener } from '../../src/sampler/listener/running';
import type { JobRecord } from '../../src/record/record';
import { bracketsObstacle } from '../burners/bracketed';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { compile } from './compile';
import { BENCH_GROUP, install, shells, type Installation } from './installation';
import { startShepherd } from './shepherd';

/**
 * How many jobs of a node with default settings have a proved peak. They come after pauses of any length, so that only
 * the installation keeps the listener alive.
 */

/** Nodes side by side, each with a listener and pauses of its own. */
const NODES = 4;
const LONGEST_PAUSE_MS = 75_000;
const QUICK_PAUSE_MS = 3000;
/** After a pause of this length a node counts as long at rest. */
const LONG_PAUSE_MS = 60_000;
const LONGEST_JOB_MS = 2000;
const STARTS_WITHIN_MS = 10_000;

interface ProvedRun {
  readonly pauseMs: number;
  readonly record: JobRecord | null;
}

/** A random pause: mostly short, sometimes more than a minute. */
function somePause(options: BenchOptions): number {
  return options.quick ? Math.random() * QUICK_PAUSE_MS : Math.random() ** 4 * LONGEST_PAUSE_MS;
}

async function startListener({ listener, runDirectory }: Installation): Promise<void> {
  const [file, ...words] = listener;
  spawnSync(file ?? '', words, { stdio: 'ignore' });
  const deadline = performance.now() + STARTS_WITHIN_MS;
  while (runningListener({ run_dir: runDirectory }) === null) {
    if (performance.now() > deadline) throw new Error('the listener did not start');
    await sleep(20);
  }
}

async function runJob(
  installation: Installation,
  helper: string,
  job: number,
  group: number,
): Promise<JobRecord | null> {
  const [shell = '/bin/sh'] = shells();
  const shepherd = startShepherd(helper, installation.spool(job, group));
  try {
    await shepherd.hook(installation.hook(shell, 'prolog', job));
    await shepherd.job(group, ['/bin/sleep', '3600']);
    await sleep(Math.random() * LONGEST_JOB_MS);
    await shepherd.end();
    await shepherd.hook(installation.hook(shell, 'epilog', job));
    await shepherd.drain();
    const reader = openSqliteReader(installation.accounting);
    try {
      return (await reader.job({ job_id: job })).records[0]?.record ?? null;
    } finally {
      await reader.close();
    }
  } finally {
    await shepherd.close();
  }
}

async function runNode(node: number, options: BenchOptions, done: (run: ProvedRun) => boolean): Promise<void> {
  const installation = install('job', 'lasting');
  try {
    const helper = compile('shepherd', installation.directory);
    await startListener(installation);
    let job = 910_000 + node * 10_000;
    let more = true;
    while (more) {
      const pauseMs = somePause(options);
      await sleep(pauseMs);
      more = done({ pauseMs, record: await runJob(installation, helper, ++job, BENCH_GROUP + node) });
    }
  } finally {
    await retireListener({ run_dir: installation.runDirectory });
  }
}

const isProved = ({ record }: ProvedRun): boolean => record?.peak_rss?.proved === true;

function share(what: string, runs: readonly ProvedRun[]): Row {
  const open = runs.filter((run) => !isProved(run)).length;
  return {
    what: `${what}, ${runs.length} jobs`,
    unit: '%',
    values: runs.length === 0 ? [] : [(open / runs.length) * 100],
    budget: 'jobs not proved',
    ...(runs.length === 0 ? { note: 'none of them' } : {}),
  };
}

function whyOpen(runs: readonly ProvedRun[]): readonly string[] {
  const open = runs.filter((run) => !isProved(run));
  return open.map(({ pauseMs, record }) => {
    const reasons = record === null ? 'no record' : (record.peak_rss?.open.join(', ') ?? 'no bracket');
    return `Not proved, after a pause of ${(pauseMs / 1000).toFixed(1)} s: ${reasons}.`;
  });
}

async function run(options: BenchOptions): Promise<readonly Section[]> {
  const title = 'peaks of resident memory that are not proved, default settings, a listener since the installation';
  const obstacle = bracketsObstacle();
  if (obstacle !== null) return [{ title, rows: [{ what: 'not proved', unit: '%', values: [], note: obstacle }] }];
  const runs: ProvedRun[] = [];
  let left = options.runs - NODES;
  const done = (run: ProvedRun): boolean => {
    runs.push(run);
    options.progress(`proved: ${runs.length} of ${options.runs} jobs`);
    return left-- > 0;
  };
  await Promise.all(Array.from({ length: NODES }, (_, node) => runNode(node, options, done)));
  const rows = [
    share('all', runs),
    share(
      `after a pause of more than ${LONG_PAUSE_MS / 1000} s`,
      runs.filter(({ pauseMs }) => pauseMs > LONG_PAUSE_MS),
    ),
  ];
  return [{ title, rows, notes: whyOpen(runs) }];
}

export const provedBench: Bench = {
  name: 'proved',
  about: 'how many jobs that come after pauses have a proved peak, with default settings',
  run,
};
