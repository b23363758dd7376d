import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobRecord } from '../../src/record/record';
import { keyValues } from '../../src/sampler/job/pid-file';
import { burner } from '../burners/build';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { compile } from './compile';
import { BENCH_GROUP, install, shells, type Installation } from './installation';
import { nodeDbSection } from './node-db';
import { cpuMs, memoryCost, pidsOfGroup, type MemoryCost } from './process-cost';
import { compilerObstacle, readingCost } from './reading-cost';
import { measureRivals } from './rivals';
import { runNameOf, startShepherd, type Shepherd } from './shepherd';
import { until } from '../support/until';

/** The cost of a sampler while a job runs, started by the real prolog, in both modes at once, beside other tools. */

const COUNTS = [1, 20, 200] as const;
const BUDGETS_OF = {
  1: { cpu: undefined, memory: 'private memory, 20 processes' },
  20: { cpu: 'sampler, 20 processes', memory: 'private memory, 20 processes' },
  200: { cpu: 'sampler, 200 processes', memory: 'private memory, 200 processes' },
} as const satisfies Readonly<Record<(typeof COUNTS)[number], object>>;
const SMALL_MODE_BYTES = 300 * 1024 * 1024;
const MODES = ['full', 'small'] as const;
type Mode = (typeof MODES)[number];

const BURNER_MIB = 2;
/** By then the dense first ticks are over and node.db is open: these are costs of the start, which `hooks` measures. */
const SETTLE_MS = 8000;

interface Watched {
  readonly mode: Mode;
  readonly job: number;
  readonly shepherd: Shepherd;
  readonly jobPids: readonly number[];
  readonly samplerPid: number;
  readonly startedMs: number;
}

interface Cost {
  readonly mode: Mode;
  readonly percent: number;
  readonly memory: MemoryCost;
  besidePercent: number;
  record: JobRecord | null;
}

function samplerPid(installation: Installation, job: number, shepherd: Shepherd): number | null {
  try {
    const text = readFileSync(join(installation.stateDirectory, 'run', runNameOf(job, shepherd), 'pid'), 'utf8');
    const values = keyValues(text);
    return values.get('end') === '1' ? Number(values.get('pid')) : null;
  } catch {
    return null;
  }
}

/** A shell that with its children makes `count` processes, which sleep and hold memory. */
function jobCommand(count: number): readonly string[] {
  const steady = `${burner('steady')} --mib=${BURNER_MIB} --hold=86400000`;
  if (count === 1) return steady.split(' ');
  return ['/bin/sh', '-c', `i=1; while [ $i -lt ${count} ]; do ${steady} & i=$((i+1)); done; wait`];
}

async function startJob(
  installation: Installation,
  helper: string,
  job: number,
  mode: Mode,
  count: number,
): Promise<Watched> {
  const shepherd = startShepherd(helper, installation.spool(job));
  try {
    const [shell = '/bin/sh'] = shells();
    if (mode === 'small') await shepherd.limit(SMALL_MODE_BYTES);
    const prolog = await shepherd.hook(installation.hook(shell, 'prolog', job));
    if (prolog.status !== 0) throw new Error(`the prolog left with status ${prolog.status}`);
    const startedMs = performance.now();
    const group = await shepherd.job(BENCH_GROUP, jobCommand(count));
    const jobPids = await until(() => {
      const pids = pidsOfGroup(group);
      return pids.length >= count ? pids : null;
    }, `a job of ${count} processes`);
    const pid = await until(() => samplerPid(installation, job, shepherd), 'the sampler');
    return { mode, job, shepherd, jobPids, samplerPid: pid, startedMs };
  } catch (error) {
    await shepherd.close();
    throw error;
  }
}

async function finishJob(installation: Installation, { job, shepherd }: Watched): Promise<JobRecord | null> {
  const [shell = '/bin/sh'] = shells();
  await shepherd.end();
  await shepherd.hook(installation.hook(shell, 'epilog', job));
  await shepherd.drain();
  const store = installation.nodeStore();
  try {
    const stored = store.job(runNameOf(job, shepherd));
    return stored === null ? null : (JSON.parse(stored.record) as JobRecord);
  } finally {
    store.close();
  }
}

function costRows(cost: Cost, count: (typeof COUNTS)[number]): readonly Row[] {
  const budgets = BUDGETS_OF[count];
  const full = cost.mode === 'full';
  const rows: Row[] = [
    {
      what: `CPU of one core, ${cost.mode} mode`,
      unit: '%',
      values: [cost.percent],
      // The small mode is shown beside it.
      budget: full ? budgets.cpu : undefined,
    },
  ];
  const own = cost.record?.sampler ?? null;
  if (own !== null)
    rows.push({
      what: '  its whole life, by its own record',
      unit: 'ms',
      values: [own.cpu_seconds * 1000],
      note: `${cost.record?.samples ?? 0} samples, largest RSS ${(own.max_rss_bytes / 2 ** 20).toFixed(1)} MiB`,
    });
  rows.push(
    { what: '  RSS', unit: 'MiB', values: [cost.memory.rss], budget: full ? 'RSS of a sampler' : undefined },
    { what: '  PSS', unit: 'MiB', values: [cost.memory.pss] },
    {
      what: '  private dirty',
      unit: 'MiB',
      values: [cost.memory.privateDirty],
      budget: full ? budgets.memory : undefined,
    },
  );
  return rows;
}

async function measure(
  installation: Installation,
  helper: string,
  firstJob: number,
  count: (typeof COUNTS)[number],
  options: BenchOptions,
): Promise<readonly Section[]> {
  const windowMs = options.quick ? 10_000 : 30_000;
  const processes = count === 1 ? '1 process' : `${count} processes`;
  const watched: Watched[] = [];
  const sections: Section[] = [];
  try {
    options.progress(`sampler: ${processes}`);
    for (const [index, mode] of MODES.entries())
      watched.push(await startJob(installation, helper, firstJob + index, mode, count));
    const youngest = Math.max(...watched.map(({ startedMs }) => startedMs));
    await sleep(Math.max(0, youngest + SETTLE_MS - performance.now()));

    const begin = performance.now();
    const before = watched.map(({ samplerPid: pid }) => cpuMs(pid));
    await sleep(windowMs);
    const elapsed = performance.now() - begin;
    const costs = watched.map(({ mode, samplerPid: pid }, index): Cost => ({
      mode,
      percent: ((cpuMs(pid) - (before[index] ?? NaN)) / elapsed) * 100,
      memory: memoryCost(pid),
      besidePercent: NaN,
      record: null,
    }));

    options.progress(`sampler: ${processes}, beside other tools`);
    const [first] = watched;
    const seen: number[][] = [];
    let marks: number[] = [];
    const rivals = await measureRivals(first?.jobPids ?? [], windowMs, () => {
      marks = [...marks, performance.now()];
      seen.push(watched.map(({ samplerPid: pid }) => cpuMs(pid)));
    });
    for (const [index, cost] of costs.entries()) {
      const spent = (seen[1]?.[index] ?? NaN) - (seen[0]?.[index] ?? NaN);
      cost.besidePercent = (spent / ((marks[1] ?? NaN) - (marks[0] ?? NaN))) * 100;
    }
    if (count === 200 && first !== undefined) sections.push(await readingCost(first.jobPids, options));
    for (const [index, job] of watched.entries()) {
      const cost = costs[index];
      if (cost) cost.record = await finishJob(installation, job);
    }

    const ours = costs.find(({ mode }) => mode === 'full')?.besidePercent ?? NaN;
    sections.unshift(
      {
        title: `sampler at 1 Hz, ${processes} asleep with ${BURNER_MIB} MiB each, ${windowMs / 1000} s`,
        rows: costs.flatMap((cost) => costRows(cost, count)),
      },
      {
        title: `the same ${processes} watched at 1 Hz by all of these at once, ${windowMs / 1000} s`,
        rows: [
          ...costs.map((cost): Row => ({ what: `ours, ${cost.mode} mode`, unit: '%', values: [cost.besidePercent] })),
          ...rivals.map(({ name, percent, obstacle }): Row => ({
            what: name,
            unit: '%',
            values: percent === null ? [] : [percent],
            note: obstacle ?? `${((percent ?? NaN) / ours).toFixed(1)} x ours`,
          })),
        ],
      },
    );
    return sections;
  } finally {
    await Promise.all(watched.map(({ shepherd }) => shepherd.close()));
  }
}

async function run(options: BenchOptions): Promise<readonly Section[]> {
  const obstacle =
    process.getuid?.() === 0
      ? compilerObstacle()
      : 'not root, and a sampler of root@ hooks is what the budgets are for';
  if (obstacle !== null) return [{ title: 'sampler', rows: [], notes: [`skipped: ${obstacle}`] }, nodeDbSection()];
  const installation = install();
  const release = await installation.keepListener();
  try {
    const helper = compile('shepherd', installation.directory);
    const sections: Section[] = [];
    for (const [index, count] of COUNTS.entries())
      sections.push(...(await measure(installation, helper, 910_001 + index * 10, count, options)));
    options.progress('sampler: node.db');
    sections.push(nodeDbSection());
    return sections;
  } finally {
    release();
  }
}

export const samplerBench: Bench = { name: 'sampler', about: 'what a running sampler costs', run };
