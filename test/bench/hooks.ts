import { cpus } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressSpaceNeeded } from '../../src/cli/install/hook-conf';
import type { JobRecord } from '../../src/record/record';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { compile } from './compile';
import { BENCH_GROUP, install, shells, type Installation } from './installation';
import { runNameOf, startShepherd, type HookRun, type Shepherd } from './shepherd';
import { sum } from './statistics';

/**
 * The cost of a release's hooks for a job: each run is one job under a new shepherd, from prolog to delivery. An empty
 * hook, started the same way just before, shows the cost of the shepherd's fork, `env -i` and the shell.
 */

const { small, full } = addressSpaceNeeded();
const SMALL_MODE_BYTES = ((small + full) / 2) * 1024 * 1024;
/** Long enough for the sampler to be up before the epilog comes. */
const JOB_MS = 600;
const SHORT_JOB_MS = 50;
/** By then the sampler has opened node.db; the epilog of a shorter job waits for that. */
const LONG_JOB_MS = 6000;
const SLEEPER = ['/bin/sleep', '86400'] as const;

interface Variant {
  readonly shell: string;
  readonly mode: 'full' | 'small';
}

interface JobRun {
  readonly emptyMs: readonly number[];
  readonly prologOverMs: number;
  readonly epilogOverMs: number;
  /** CPU time of prolog, sampler, epilog and delivery. */
  readonly cpuMs: number;
  readonly foregroundCpuMs: number;
  readonly firstSampleMs: number | null;
  readonly deliveredMs: number;
}

interface Ground {
  readonly installation: Installation;
  readonly helper: string;
  nextJob: number;
}

function recordOf(ground: Ground, shepherd: Shepherd, job: number): JobRecord | null {
  const run = runNameOf(job, shepherd);
  const store = ground.installation.nodeStore();
  try {
    const stored = store.job(run);
    return stored === null ? null : (JSON.parse(stored.record) as JobRecord);
  } finally {
    store.close();
  }
}

function firstSampleAfter(record: JobRecord | null, sinceMs: number): number | null {
  if (record?.started_at == null || record.unobserved_start_seconds === null) return null;
  return Date.parse(record.started_at) + record.unobserved_start_seconds * 1000 - sinceMs;
}

function checked(run: HookRun, name: string): HookRun {
  if (run.status !== 0) throw new Error(`${name} left with status ${run.status}`);
  return run;
}

/** One job from prolog to delivery. */
async function runJob(ground: Ground, variant: Variant, jobMs: number): Promise<JobRun> {
  const { installation, helper } = ground;
  const job = ground.nextJob++;
  const shepherd = startShepherd(helper, installation.spool(job));
  const hook = async (name: 'prolog' | 'epilog' | 'empty'): Promise<HookRun> =>
    checked(await shepherd.hook(installation.hook(variant.shell, name, job)), name);
  try {
    if (variant.mode === 'small') await shepherd.limit(SMALL_MODE_BYTES);
    const before = await hook('empty');
    const prolog = await hook('prolog');
    await shepherd.job(BENCH_GROUP, SLEEPER);
    await sleep(jobMs);
    await shepherd.end();
    const between = await hook('empty');
    const epilog = await hook('epilog');
    const drained = await shepherd.drain();
    const record = recordOf(ground, shepherd, job);
    if (record === null || (record.sampler !== null && record.sampler.mode !== variant.mode))
      throw new Error(`job ${job} was not sampled in the ${variant.mode} mode`);
    const foregroundCpuMs = prolog.cpu + epilog.cpu;
    return {
      emptyMs: [before.ms, between.ms],
      prologOverMs: prolog.ms - before.ms,
      epilogOverMs: epilog.ms - between.ms,
      cpuMs: foregroundCpuMs + drained.cpu,
      foregroundCpuMs,
      firstSampleMs: firstSampleAfter(record, prolog.at),
      deliveredMs: drained.ms,
    };
  } finally {
    await shepherd.close();
  }
}

/** Elapsed time of a prolog that waits until the sampler is armed, minus that of an empty hook. */
async function timeToArmed(ground: Ground, variant: Variant): Promise<number> {
  const { installation, helper } = ground;
  const job = ground.nextJob++;
  const shepherd = startShepherd(helper, installation.spool(job));
  try {
    if (variant.mode === 'small') await shepherd.limit(SMALL_MODE_BYTES);
    const empty = await shepherd.hook(installation.hook(variant.shell, 'empty', job));
    const prolog = checked(await shepherd.hook(installation.waitingProlog(variant.shell, job)), 'prolog');
    await shepherd.job(BENCH_GROUP, SLEEPER);
    await sleep(SHORT_JOB_MS);
    await shepherd.end();
    checked(await shepherd.hook(installation.hook(variant.shell, 'epilog', job)), 'epilog');
    await shepherd.drain();
    return prolog.ms - empty.ms;
  } finally {
    await shepherd.close();
  }
}

const nameOf = ({ shell, mode }: Variant): string => `${mode} mode, sh = ${basename(shell)}`;

function variants(): readonly Variant[] {
  const known = shells();
  const all: readonly Variant[] = known.flatMap((shell) => [
    { shell, mode: 'full' as const },
    { shell, mode: 'small' as const },
  ]);
  // The shell makes no difference to what it starts: the small mode is measured under one of them.
  return all.filter(({ shell, mode }) => mode === 'full' || shell === known[0]);
}

interface Measured {
  readonly variant: Variant;
  readonly runs: JobRun[];
  readonly shortJobs: JobRun[];
  readonly longJobs: JobRun[];
  /** ms from the start of the prolog until the sampler is armed. */
  readonly armed: number[];
}

function section({ variant, runs, shortJobs, longJobs, armed }: Measured): Section {
  const of = (pick: (run: JobRun) => number): readonly number[] => runs.map(pick);
  const rows: readonly Row[] = [
    { what: 'empty hook', unit: 'ms', values: runs.flatMap((run) => run.emptyMs) },
    { what: 'prolog over it', unit: 'ms', values: of((run) => run.prologOverMs), budget: 'prolog over an empty hook' },
    { what: 'epilog over it', unit: 'ms', values: of((run) => run.epilogOverMs), budget: 'epilog over an empty hook' },
    {
      what: `  job of ${SHORT_JOB_MS} ms`,
      unit: 'ms',
      values: shortJobs.map((run) => run.epilogOverMs),
      note: 'the sampler is still starting',
    },
    {
      what: `  job of ${LONG_JOB_MS / 1000} s`,
      unit: 'ms',
      values: longJobs.map((run) => run.epilogOverMs),
      budget: 'epilog over an empty hook',
      note: 'node.db is already open',
    },
    { what: 'epilog to delivered', unit: 'ms', values: of((run) => run.deliveredMs), note: 'in the background' },
    {
      what: 'CPU of start + finish + delivery',
      unit: 'ms',
      values: of((run) => run.cpuMs),
      budget: 'CPU per job, job scope',
    },
    { what: '  of it the hooks themselves', unit: 'ms', values: of((run) => run.foregroundCpuMs) },
    {
      what: "prolog's start to first sample",
      unit: 'ms',
      values: runs.flatMap(({ firstSampleMs }) => firstSampleMs ?? []),
    },
    { what: "prolog's start to armed (arm_wait)", unit: 'ms', values: armed },
  ];
  return { title: `hooks, ${nameOf(variant)}: job of ${JOB_MS} ms, arm_wait 0`, rows };
}

/** Many jobs at once: how many a node completes. */
async function throughput(ground: Ground, variant: Variant, count: number): Promise<Section> {
  const atOnce = cpus().length * 2;
  const finished: JobRun[] = [];
  let left = count;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) finished.push(await runJob(ground, variant, 1));
    }),
  );
  const seconds = (performance.now() - begin) / 1000;
  return {
    title: `hooks, ${count} jobs of 1 ms, ${atOnce} at once (${nameOf(variant)})`,
    rows: [
      { what: 'jobs from prolog to delivery', unit: 'jobs/s', values: [count / seconds] },
      {
        what: 'CPU per job',
        unit: 'ms',
        values: [sum(finished.map((run) => run.cpuMs)) / count],
        budget: 'CPU per job, job scope',
      },
    ],
  };
}

async function run(options: BenchOptions): Promise<readonly Section[]> {
  if (process.getuid?.() !== 0)
    return [
      { title: 'hooks', rows: [], notes: ['skipped: not root, and hooks under root@ are what the budgets are for'] },
    ];
  const installation = install();
  const release = await installation.keepListener();
  try {
    const ground: Ground = { installation, helper: compile('shepherd', installation.directory), nextJob: 900_001 };
    const all = variants().map((variant): Measured => ({ variant, runs: [], shortJobs: [], longJobs: [], armed: [] }));
    // The very first job creates node.db and the accounting DB.
    for (const { variant } of all) await runJob(ground, variant, JOB_MS);
    for (let index = 0; index < options.runs; index++) {
      options.progress(`hooks: run ${index + 1} of ${options.runs}`);
      for (const { variant, runs, shortJobs, longJobs, armed } of all) {
        runs.push(await runJob(ground, variant, JOB_MS));
        if (index % 20 === 0) longJobs.push(await runJob(ground, variant, LONG_JOB_MS));
        if (index % 5 !== 0) continue;
        shortJobs.push(await runJob(ground, variant, SHORT_JOB_MS));
        armed.push(await timeToArmed(ground, variant));
      }
    }
    const sections = all.map(section);
    const [first] = all;
    if (first) {
      options.progress('hooks: many jobs at once');
      sections.push(await throughput(ground, first.variant, options.quick ? 16 : 64));
    }
    const store = installation.nodeStore();
    const undelivered = store.outbox(1_000_000).length;
    store.close();
    const jobs = ground.nextJob - 900_001;
    sections.push({
      title: 'hooks, all jobs of this run',
      rows: [
        { what: 'finished', unit: 'jobs', values: [jobs] },
        { what: 'left undelivered', unit: 'jobs', values: [undelivered], budget: 'jobs left undelivered' },
      ],
      notes: ['The listener of the node runs all the time; what it costs: bench sources.'],
    });
    return sections;
  } finally {
    release();
  }
}

export const hooksBench: Bench = { name: 'hooks', about: 'what prolog and epilog cost a job', run };
