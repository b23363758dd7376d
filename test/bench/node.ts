import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { servicePid } from '../../src/sampler/service/service-lock';
import { keyValues } from '../../src/sampler/job/pid-file';
import { burner } from '../burners/build';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { compile } from './compile';
import { BENCH_GROUP, install, shells, type Installation } from './installation';
import { cpuMs, memoryCost } from './process-cost';
import { compilerObstacle } from './reading-cost';
import { runNameOf, startShepherd, type Shepherd } from './shepherd';
import { sum } from './statistics';
import { until } from '../support/until';

/** The cost of the service of the node scope, beside one sampler for each of the same jobs. */

const COUNTS = [1, 16, 64] as const;
const PROCESSES = 8;
const BURNER_MIB = 2;
const SETTLE_MS = 15_000;
const SHORT_JOB_MS = 300;
const AT_ONCE = 4;

type Scope = 'job' | 'node';

interface Ground {
  readonly installation: Installation;
  readonly helper: string;
  nextJob: number;
}

interface Running {
  readonly job: number;
  readonly shepherd: Shepherd;
}

/** What a job's processes do; computing ones run at a lower priority than the hooks, since they may outnumber the cores. */
const KINDS = {
  sleeping: () => `${burner('steady')} --mib=${BURNER_MIB} --hold=86400000`,
  computing: () => `nice -n 19 ${burner('cpu')} --seconds=86400000`,
} as const;
type Kind = keyof typeof KINDS;

const command = (kind: Kind): string =>
  `i=1; while [ $i -lt ${PROCESSES} ]; do ${KINDS[kind]()} & i=$((i+1)); done; wait`;

const shell = (): string => shells()[0] ?? '/bin/sh';

async function startJob({ installation, helper, nextJob: job }: Ground, words: readonly string[]): Promise<Running> {
  const group = BENCH_GROUP + (job % 1000);
  const shepherd = startShepherd(helper, installation.spool(job, group));
  const prolog = await shepherd.hook(installation.hook(shell(), 'prolog', job));
  if (prolog.status !== 0) throw new Error(`the prolog left with status ${prolog.status}`);
  await shepherd.job(group, words);
  return { job, shepherd };
}

async function endJob({ installation }: Ground, { job, shepherd }: Running): Promise<void> {
  await shepherd.end();
  await shepherd.hook(installation.hook(shell(), 'epilog', job));
  await shepherd.drain();
  await shepherd.close();
}

function samplerOf({ installation }: Ground, { job, shepherd }: Running): number | null {
  try {
    const values = keyValues(
      readFileSync(join(installation.stateDirectory, 'run', runNameOf(job, shepherd), 'pid'), 'utf8'),
    );
    return values.get('end') === '1' ? Number(values.get('pid')) : null;
  } catch {
    return null;
  }
}

async function startService(installation: Installation): Promise<ChildProcess> {
  const [program = '', ...rest] = installation.service;
  const child = spawn(program, rest, { stdio: 'ignore' });
  await until(() => servicePid({ run_dir: installation.runDirectory }), 'the service');
  return child;
}

async function endService(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

interface Cost {
  readonly percent: number;
  readonly pss: number;
  readonly rss: number;
  readonly processes: number;
}

/** A number of jobs of eight processes, watched for a while. */
async function watched(scope: Scope, count: number, options: BenchOptions, kind: Kind = 'sleeping'): Promise<Cost> {
  const installation = install(scope);
  const release = await installation.keepListener();
  let service: ChildProcess | null = null;
  const running: Running[] = [];
  try {
    const ground: Ground = { installation, helper: compile('shepherd', installation.directory), nextJob: 920_001 };
    if (scope === 'node') service = await startService(installation);
    const words = ['/bin/sh', '-c', command(kind)];
    for (let index = 0; index < count; index++, ground.nextJob++) {
      options.progress(`node: ${scope} scope, job ${index + 1} of ${count}`);
      running.push(await startJob(ground, words));
    }
    const samplers = await until(() => {
      const pids = running.map((job) => samplerOf(ground, job));
      return pids.every((pid) => pid !== null) ? new Set(pids) : null;
    }, 'the samplers');
    await sleep(SETTLE_MS);
    const windowMs = options.quick ? 10_000 : 30_000;
    const total = (): number => sum([...samplers].map(cpuMs));
    const begin = performance.now();
    const before = total();
    await sleep(windowMs);
    const percent = ((total() - before) / (performance.now() - begin)) * 100;
    const memory = [...samplers].map(memoryCost);
    const cost = {
      percent,
      pss: sum(memory.map(({ pss }) => pss)),
      rss: sum(memory.map(({ rss }) => rss)),
      processes: samplers.size,
    };
    options.progress(`node: ${scope} scope, the end of ${count} jobs`);
    for (const job of running.splice(0)) await endJob(ground, job);
    return cost;
  } finally {
    await Promise.all(running.map(({ shepherd }) => shepherd.close()));
    if (service !== null) await endService(service);
    release();
  }
}

interface Throughput {
  readonly cpuPerJobMs: number;
  readonly jobsPerSecond: number;
  readonly holdMs: number;
}

/** Jobs of a third of a second, some at once: CPU time of hooks, sampler and delivery for each, and how many a second. */
async function shortJobs(scope: Scope, jobs: number, options: BenchOptions): Promise<Throughput> {
  const installation = install(scope);
  const release = await installation.keepListener();
  let service: ChildProcess | null = null;
  try {
    const ground: Ground = { installation, helper: compile('shepherd', installation.directory), nextJob: 930_001 };
    if (scope === 'node') {
      service = await startService(installation);
      // The first readings load most of the code.
      const first = await startJob(ground, ['/bin/sleep', '86400']);
      await sleep(5000);
      await endJob(ground, first);
      await sleep(5000);
      ground.nextJob++;
    }
    const pid = service?.pid ?? null;
    const before = pid === null ? 0 : cpuMs(pid);
    let cpu = 0;
    let held = 0;
    let started = 0;
    const begin = performance.now();
    const worker = async (): Promise<void> => {
      while (started < jobs) {
        started++;
        options.progress(`node: ${scope} scope, short job ${started} of ${jobs}`);
        const job = ground.nextJob++;
        const group = BENCH_GROUP + (job % 1000);
        const shepherd = startShepherd(ground.helper, installation.spool(job, group));
        const prolog = await shepherd.hook(installation.hook(shell(), 'prolog', job));
        await shepherd.job(group, ['/bin/sleep', '86400']);
        await sleep(SHORT_JOB_MS);
        await shepherd.end();
        const epilog = await shepherd.hook(installation.hook(shell(), 'epilog', job));
        held += prolog.ms + epilog.ms;
        const drained = await shepherd.drain();
        cpu += prolog.cpu + epilog.cpu + drained.cpu;
        await shepherd.close();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const elapsed = performance.now() - begin;
    // The last delivery also belongs to these jobs.
    if (pid !== null) {
      await sleep(20_000);
      cpu += cpuMs(pid) - before;
    }
    return { cpuPerJobMs: cpu / jobs, jobsPerSecond: (jobs * 1000) / elapsed, holdMs: held / jobs };
  } finally {
    if (service !== null) await endService(service);
    release();
  }
}

async function run(options: BenchOptions): Promise<readonly Section[]> {
  const obstacle = process.getuid?.() === 0 ? compilerObstacle() : 'not root, as the service is';
  if (obstacle !== null) return [{ title: 'node', rows: [], notes: [`skipped: ${obstacle}`] }];
  const rows: Row[] = [];
  for (const count of options.quick ? COUNTS.slice(0, 2) : COUNTS) {
    const node = await watched('node', count, options);
    const job = await watched('job', count, options);
    rows.push(
      {
        what: `${count} job${count === 1 ? '' : 's'}: CPU of one core, the service`,
        unit: '%',
        values: [node.percent],
        budget: count === 64 ? 'CPU of the service' : undefined,
      },
      {
        what: `  ${job.processes} sampler${job.processes === 1 ? '' : 's'} of the job scope`,
        unit: '%',
        values: [job.percent],
        note: `${(job.percent / node.percent).toFixed(1)} x the service`,
      },
      {
        what: '  PSS, the service',
        unit: 'MiB',
        values: [node.pss],
        note: `RSS ${node.rss.toFixed(1)} MiB`,
        budget: count === 64 ? 'PSS of the service' : undefined,
      },
      { what: `  PSS, ${job.processes} of the job scope`, unit: 'MiB', values: [job.pss] },
    );
  }
  const busy = options.quick ? null : await watched('node', 64, options, 'computing');
  const jobs = options.quick ? 40 : 200;
  const node = await shortJobs('node', jobs, options);
  const job = await shortJobs('job', Math.min(jobs, 60), options);
  return [
    { title: `jobs of ${PROCESSES} processes asleep with ${BURNER_MIB} MiB each, at 1 Hz`, rows },
    {
      title: `64 jobs of ${PROCESSES} processes that compute, at 1 Hz`,
      rows: [
        {
          what: 'CPU of one core, the service',
          unit: '%',
          values: busy === null ? [] : [busy.percent],
          budget: 'CPU of the service, busy node',
          ...(busy === null ? { note: 'not with --quick' } : {}),
        },
      ],
    },
    {
      title: `short jobs (${SHORT_JOB_MS} ms), ${AT_ONCE} at once: hooks, sampling and delivery`,
      rows: [
        { what: 'CPU per job, node scope', unit: 'ms', values: [node.cpuPerJobMs], budget: 'CPU per job, node scope' },
        { what: 'CPU per job, job scope', unit: 'ms', values: [job.cpuPerJobMs] },
        { what: 'jobs, node scope', unit: 'jobs/s', values: [node.jobsPerSecond] },
        { what: 'jobs, job scope', unit: 'jobs/s', values: [job.jobsPerSecond] },
        { what: 'slot held by both hooks, node scope', unit: 'ms', values: [node.holdMs] },
        { what: 'slot held by both hooks, job scope', unit: 'ms', values: [job.holdMs] },
      ],
      notes: ['The budget counts our processes only; the two shells of each hook are in these figures, too.'],
    },
  ];
}

export const nodeBench: Bench = { name: 'node', about: 'the service of the node scope, beside a sampler per job', run };
