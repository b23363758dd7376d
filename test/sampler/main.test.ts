import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import type { Bracket, JobRecord } from '../../src/record/record';
import { burner, burnersObstacle, readTruth, type Burner, type Truth } from '../burners/build';
import {
  accountingRecord,
  heldJob,
  letGoSampled,
  newSite,
  nodeRecord,
  nodeSamples,
  quiet,
  shepherdObstacle,
  startJob,
  type Held,
  type Job,
  type JobOptions,
  type Sample,
  type Site,
  type Steps,
} from './fake-shepherd';

const MIB = 1024 * 1024;
/** What the shell that starts a burner may hold beside it. */
const SHELL_RSS = 4 * MIB;
const SHELL_VMEM = 32 * MIB;
/** Jobs that run at the same time: few, so that the samplers get CPU. */
const LANES = 3;
/** Most runs of one case. */
const ROUNDS = 5;
/** A group id that no login on this machine uses. */
const GROUP = 1_999_900_017;

interface Case {
  readonly name: string;
  readonly burner: Burner;
  readonly options: readonly string[];
  /** The peak lasts long enough to be seen. */
  readonly lasting: boolean;
  readonly job?: JobOptions;
}

const lasting = (name: string, program: Burner, ...options: readonly string[]): Case => ({
  name,
  burner: program,
  options,
  lasting: true,
});

const CASES: readonly Case[] = [
  lasting('steady', 'steady', '--mib=64', '--hold=800'),
  lasting('growing', 'growing', '--mib=64', '--over=500', '--hold=600'),
  lasting('threads', 'threads', '--mib=64', '--threads=8', '--hold=800'),
  lasting('handover', 'handover', '--mib=64', '--rounds=2', '--hold=400'),
  lasting('handover without exec', 'handover', '--mib=64', '--rounds=2', '--hold=400', '--execs=0'),
  lasting('fork-large-parent', 'fork-large-parent', '--mib=64', '--delay=500', '--hold=600', '--helper=4'),
  lasting(
    'fork-large-parent, a copy that stays',
    'fork-large-parent',
    '--mib=64',
    '--execs=0',
    '--dirty=16',
    '--hold=1200',
  ),
  lasting('vfork', 'vfork', '--mib=64', '--delay=500', '--hold=600', '--helper=4'),
  lasting('posix_spawn', 'vfork', '--mib=64', '--how=spawn', '--hold=600', '--helper=4'),
  lasting('shared-map', 'shared-map', '--mib=32', '--processes=3', '--hold=1200'),
  lasting('shrink-by-exec', 'shrink-by-exec', '--mib=64', '--hold=800', '--after=400'),
  lasting('leader-exits', 'leader-exits', '--mib=64', '--threads=3', '--grow=100', '--hold=800'),
  lasting('spike', 'spike', '--mib=64', '--base=8', '--length=1', '--before=300', '--after=600'),
  { ...lasting('many-children', 'many-children', '--children=8', '--concurrency=4', '--mib=16', '--life=700') },
  { ...lasting('daemon', 'daemon', '--mib=64', '--hold=400', '--wait=1', '--execs=1'), lasting: false },
  {
    ...lasting('daemon with a group', 'daemon', '--mib=64', '--hold=6500', '--wait=1', '--execs=1'),
    job: { config: { add_grp_id: String(GROUP) }, shepherd: [`group=${GROUP}`] },
  },
  lasting('cpu', 'cpu', '--seconds=1', '--threads=2', '--processes=2', '--system=0.3'),
  lasting('io', 'io', '--mib=16', '--hold=700'),
];

interface Outcome {
  readonly it: Case;
  readonly truth: Truth;
  readonly steps: Partial<Steps>;
  readonly job: Job;
  readonly record: JobRecord;
  readonly samples: readonly Sample[];
  readonly delivered: JobRecord | null;
}

interface Started {
  readonly job: Job;
  readonly hold: Held;
  readonly truthFile: string;
}

function start(site: Site, it: Case, round: number): Started {
  const truthFile = join(site.directory, 'truth', `${it.name}.${round}`);
  const words = [burner(it.burner), ...it.options, `--truth=${truthFile}`];
  // The shell stays, as the job's script does; "$@" keeps every word as it is.
  const hold = heldJob(site, '"$@"; exit $?');
  const job = startJob(site, [...hold.command, 'sh', ...words], {
    ...it.job,
    shepherd: ['maxrss=0', ...(it.job?.shepherd ?? [])],
  });
  return { job, hold, truthFile };
}

async function runCases(site: Site, cases: readonly Case[], round: number): Promise<ReadonlyMap<string, Outcome>> {
  const waiting = [...cases].sort((a, b) => Number(b.job !== undefined) - Number(a.job !== undefined));
  const done: { readonly it: Case; readonly job: Job; readonly steps: Partial<Steps>; readonly truthFile: string }[] =
    [];
  const lane = async (): Promise<void> => {
    for (let it = waiting.shift(); it !== undefined; it = waiting.shift()) {
      const { job, hold, truthFile } = start(site, it, round);
      await letGoSampled(job, hold, 100);
      done.push({ it, job, steps: await job.ended, truthFile });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await quiet(site);
  const outcomes = new Map<string, Outcome>();
  for (const { it, job, steps, truthFile } of done) {
    const [truth, ...more] = readTruth(truthFile);
    assert.ok(truth !== undefined && more.length === 0, `${it.name} wrote no truth`);
    outcomes.set(it.name, {
      it,
      truth,
      steps,
      job,
      record: nodeRecord(site, job.key),
      samples: nodeSamples(site, job.key),
      delivered: await accountingRecord(site, job.number),
    });
  }
  return outcomes;
}

const BUSY_GAP_MS = 250;

/** Whether the machine was too busy for the sampler to be sure to see what lasts `2 * BUSY_GAP_MS`. */
function wasBusy({ it, record, samples, truth }: Outcome): boolean {
  const peakAt = truth.peakAtUnixMs - Date.parse(record.started_at ?? '');
  return (
    samples.length <= 2 ||
    samples.some(({ at }, index) => at - (samples[index - 1]?.at ?? at) > BUSY_GAP_MS) ||
    (it.lasting && !samples.some(({ at }) => Math.abs(at - peakAt) <= BUSY_GAP_MS))
  );
}

/** Runs every case, and again those in which the machine was too busy to judge. */
async function runAll(site: Site): Promise<ReadonlyMap<string, Outcome>> {
  mkdirSync(join(site.directory, 'truth'));
  const outcomes = new Map<string, Outcome>();
  let left = CASES;
  for (let round = 0; round < ROUNDS && left.length > 0; round++) {
    for (const [name, outcome] of await runCases(site, left, round)) outcomes.set(name, outcome);
    left = left.filter(({ name }) => {
      const outcome = outcomes.get(name);
      return outcome === undefined || wasBusy(outcome);
    });
  }
  return outcomes;
}

function assertBracket(what: string, known: Bracket | null, truth: number, uncertainty: number): Bracket {
  assert.ok(known !== null, what);
  assert.ok(
    known.lower_bytes <= truth + uncertainty,
    `${what}: ${known.lower_bytes} is above ${truth} + ${uncertainty}`,
  );
  if (known.upper_bytes === null) {
    assert.ok(known.open.length > 0, `${what}: open without a reason`);
    assert.equal(known.proved, false);
  } else {
    assert.ok(known.upper_bytes >= truth, `${what}: the upper bound ${known.upper_bytes} is below ${truth}`);
    assert.deepEqual([known.proved, known.open], [true, []]);
  }
  return known;
}

function assertLowerBound(what: string, known: Bracket, truth: number): void {
  assert.ok(known.lower_bytes >= 0.95 * truth, `${what}: ${known.lower_bytes} is below 95 % of ${truth}`);
}

describe(
  'the sampler beside programs that know their peaks',
  { skip: shepherdObstacle() ?? burnersObstacle() ?? false },
  () => {
    let outcomes: ReadonlyMap<string, Outcome> = new Map();
    const cleanUp: (() => unknown)[] = [];

    before(async () => {
      const context = { after: (action: () => unknown) => cleanUp.push(action) };
      outcomes = await runAll(newSite(context as unknown as TestContext));
      for (const action of cleanUp) await action();
    });

    function outcomeOf(name: string): Outcome {
      const outcome = outcomes.get(name);
      assert.ok(outcome !== undefined, name);
      return outcome;
    }

    for (const { name, lasting: seen } of CASES) {
      it(`brackets the peak${seen ? ', with a lower bound of at least 95 %' : ''}: ${name}`, (t) => {
        const outcome = outcomeOf(name);
        const { truth, record, steps } = outcome;
        for (const step of ['prolog', 'job', 'epilog'] as const) assert.equal(steps[step]?.status, 0, step);
        const rss = assertBracket('rss', record.peak_rss, truth.rssSum, truth.uncertainty + SHELL_RSS);
        const swap = assertBracket('rss_swap', record.peak_rss_swap, truth.rssSwapSum, truth.uncertainty + SHELL_RSS);
        const vmem = assertBracket('vmem', record.peak_vmem, truth.vmemSum, truth.uncertainty + SHELL_VMEM);
        const single = assertBracket('process_vmem', record.peak_process_vmem, truth.processVmem, SHELL_VMEM);
        const footprint = assertBracket(
          'footprint',
          record.peak_footprint,
          truth.footprint ?? Infinity,
          truth.uncertainty + SHELL_RSS,
        );
        assert.ok(swap.lower_bytes >= rss.lower_bytes);
        if (footprint.upper_bytes === null) assert.ok(footprint.open.length > 0);
        if (!seen) return;
        if (wasBusy(outcome)) {
          t.diagnostic('the machine was too busy in every round: the 95 % are not judged');
          return;
        }
        assertLowerBound('rss', rss, truth.rssSum);
        assertLowerBound('vmem', vmem, truth.vmemSum);
        assertLowerBound('process_vmem', single, truth.processVmem);
      });
    }

    it('delivers each record with the peak and the run id that node.db has', () => {
      for (const { record, delivered } of outcomes.values()) {
        assert.ok(delivered !== null);
        assert.equal(delivered.peak_rss?.lower_bytes, record.peak_rss?.lower_bytes);
        assert.deepEqual(new Set(delivered.peak_rss?.open), new Set(record.peak_rss?.open));
        assert.equal(delivered.run_id, record.run_id);
      }
    });

    it('records of each job what Grid Engine knows, and how it was sampled', () => {
      for (const outcome of outcomes.values()) {
        const { record, job, steps } = outcome;
        assert.equal(record.status, 'finished');
        assert.equal(record.trust, 'root');
        assert.equal(record.job_id, job.number);
        assert.equal(record.task_id, null);
        assert.equal(record.host, 'node1');
        assert.equal(record.owner, 'alice');
        assert.equal(record.exit_status, 0);
        assert.equal(record.h_vmem?.limit_bytes, 8 * 1024 * MIB);
        assert.equal(record.sampler?.mode, 'full');
        assert.ok((record.samples ?? 0) > (wasBusy(outcome) ? 0 : 2));
        assert.ok((record.series?.rss_bytes.length ?? 0) > 0);
        const seconds = record.wallclock_seconds ?? 0;
        // The file `usage` has whole seconds.
        assert.ok(seconds > 0.3 && seconds < (steps.job?.ms ?? 0) / 1000 + 1.5, `${seconds} s`);
      }
    });

    it('leaves a vfork child’s copy of its parent out of the chart and of the peak’s command', () => {
      const { record, truth } = outcomeOf('vfork');
      assert.ok(Math.max(...(record.series?.rss_bytes ?? [])) <= truth.rssSum + truth.uncertainty + SHELL_RSS);
      assert.equal(record.peak_rss?.command, 'vfork');
    });

    it('finds a daemon by its supplementary group', () => {
      const { record } = outcomeOf('daemon with a group');
      assert.ok((record.processes ?? 0) >= 3);
      assert.equal(record.claimed_by_tree_only ?? -1, 0);
      assert.ok((record.claimed_by_group_only ?? -1) >= 0);
    });

    it('records the job’s CPU time: in total, in the chart and in the samples', () => {
      const outcome = outcomeOf('cpu');
      const { record, truth, samples } = outcome;
      const cpu = record.cpu_seconds ?? 0;
      const { step_seconds: step = 0, others = {} } = record.series ?? {};
      const cores = others.cpu_cores ?? [];
      const charted = cores.reduce((sum, rate) => sum + rate * step, 0);
      assert.ok(charted > 0 && charted <= cpu + step * Math.max(...cores), `${charted} of ${cpu}`);
      assert.ok(
        cpu >= truth.cpuSeconds - 0.02 && cpu <= 1.03 * truth.cpuSeconds + 0.1,
        `${cpu} of ${truth.cpuSeconds}`,
      );
      const sampled = Math.max(...samples.map((sample) => sample.cpu)) / 1000;
      assert.ok(sampled <= 1.03 * truth.cpuSeconds + 0.1, `${sampled}`);
      if (!wasBusy(outcome)) assert.ok(sampled >= 0.5 * truth.cpuSeconds, `${sampled}`);
    });

    it('saves samples whose CPU time never falls', () => {
      for (const { samples } of outcomes.values())
        for (const [index, sample] of samples.entries()) assert.ok(sample.cpu >= (samples[index - 1]?.cpu ?? 0));
    });

    it('records the job’s I/O to within 1 MiB', () => {
      const { record, truth } = outcomeOf('io');
      const near = (what: string, seen: number | null, real: number | undefined): void => {
        assert.ok(seen !== null && real !== undefined, what);
        assert.ok(Math.abs(seen - real) <= MIB, `${what}: ${seen} of ${real}`);
      };
      near('written_chars', record.written_chars, truth.extra.wchar);
      near('read_chars', record.read_chars, truth.extra.rchar);
      near('written_bytes', record.written_bytes, truth.extra.write_bytes);
      near('read_bytes', record.read_bytes, truth.extra.read_bytes);
    });
  },
);
