import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { jobFigures, type JobFigures } from '../../../src/sampler/figures/job-figures';
import type { NodeReply } from '../../../src/sampler/listener/protocol';
import type { TickReadings } from '../../../src/sampler/processes/tick';
import type { ListenerLink } from '../../../src/sampler/listener/client';
import type { NodeCharges } from '../../../src/sampler/listener/node-charges';
import type { RunDescription } from '../../../src/sampler/job/run-description';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { jobNetwork } from '../../../src/sources/job/network';
import type { Reading } from '../../../src/sources/source';
import { TICKS_PER_SECOND } from '../../../src/sources/proc/clock';
import { temporaryDirectory } from '../../support/temporary-directory';
import { runOf } from '../../support/runs';

/** Process ids that no process here has. */
const PIDS = [4_200_001, 4_200_002];
const MIB = 2 ** 20;

const run = (spool: string): RunDescription => runOf({ job: 999_999_991, spool });

function tick(pids: readonly number[], rss = 0): TickReadings {
  const noCounters = {
    parent: null,
    cpu: 0,
    childCpu: 0,
    faults: 0,
    childFaults: 0,
    readChars: 0,
    writtenChars: 0,
    readBytes: 0,
    writtenBytes: 0,
  };
  return {
    atMs: 0,
    memory: [],
    processes: [],
    counters: new Map(pids.map((pid) => [`${pid}.1`, noCounters])),
    ancestors: new Map(),
    threads: pids.length,
    rss,
    vmem: 0,
    swap: 0,
    anonymous: 0,
    file: 0,
    shmem: 0,
    resolved: [],
    departed: [],
    sweep: { begin: 0, readings: [] },
    execs: 0,
    fallenMarks: 0,
    failedReads: 0,
    strangers: [],
    asleep: false,
    stopped: false,
  };
}

interface Job {
  readonly figures: JobFigures;
  readonly link: ListenerLink;
  /** What the listener was asked to read, and when (seconds of the job's life). */
  readonly reads: (readonly [second: number, source: string, pids: readonly number[]])[];
  /** What the listener answers; null: nothing. */
  readings: readonly Reading[] | null;
  nodeReply: NodeReply | null;
  nodeAsked: number;
  readonly look: (second: number, pids?: readonly number[], more?: Partial<Look>) => Promise<void>;
}

interface Look {
  readonly cpuSeconds: number;
  readonly rss: number;
  readonly link: ListenerLink | null;
}

type Predecessor = Parameters<typeof jobFigures>[2];

function newJob(t: TestContext, settings: Partial<Settings> = {}, environment = '', predecessor?: Predecessor): Job {
  const spool = temporaryDirectory();
  writeFileSync(join(spool, 'environment'), environment);
  let second = 0;
  t.mock.method(process.hrtime, 'bigint', () => BigInt(second) * 1_000_000_000n);
  const figures = jobFigures(run(spool), { ...DEFAULT_SETTINGS, ...settings }, predecessor);
  t.after(() => {
    figures.close();
  });
  const link: ListenerLink = {
    hello: { kind: 'hello', events: null, records: null, stays: true },
    follow: () => undefined,
    sync: () => Promise.resolve(true),
    read: (source, pids) => {
      job.reads.push([second, source, pids]);
      const { readings } = job;
      return Promise.resolve(readings === null ? null : { kind: 'values', id: 1, readings, unavailable: null });
    },
    node: () => {
      job.nodeAsked++;
      return Promise.resolve(job.nodeReply);
    },
    close: () => undefined,
  };
  const job: Job = {
    figures,
    link,
    reads: [],
    readings: null,
    nodeReply: null,
    nodeAsked: 0,
    look: async (at, pids = PIDS, { cpuSeconds = 0, rss = 0, link: other = link } = {}) => {
      second = at;
      figures.look(at * 1000, tick(pids, rss), cpuSeconds * TICKS_PER_SECOND, other);
      // The listener's answers arrive.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  return job;
}

const charges = (changes: Partial<NodeCharges>, joules: number, dram: number): NodeReply => ({
  kind: 'node',
  id: null,
  gpu: [],
  charges: {
    atMs: 0,
    energy: [
      { metric: 'rapl_energy_joules', instance: 'package-0', value: joules },
      { metric: 'rapl_energy_joules', instance: 'package-0/dram', value: dram },
    ],
    busyCpuSeconds: 0,
    cpuSeconds: 0,
    usedBytes: 100 * MIB,
    idleWatts: null,
    disagreement: null,
    ...changes,
  },
});

describe('the figures of a job', () => {
  it('are empty where there is nothing to read, and no part of them is loaded', async (t) => {
    const { figures, look, link } = newJob(t);
    figures.started(PIDS[0] ?? 0);
    for (const second of [0, 1, 2]) await look(second);
    await figures.finish(link, 10);
    assert.deepEqual([figures.metrics(), figures.notes(), figures.footprint(true)], [{}, [], null]);
    const loaded = Object.keys(require.cache).flatMap((path) => /figures\/(\w+)\.js$/.exec(path)?.[1] ?? []);
    for (const part of ['perf', 'gpu', 'energy', 'cgroup', 'pss', 'network'])
      assert.ok(!loaded.includes(part), `${part} is loaded`);
  });

  it('have perf counters only where the site enables them', async (t) => {
    const { figures, look } = newJob(t, { sources: { perf: { enabled: false } } });
    await look(1);
    assert.ok(!Object.keys(figures.metrics()).some((name) => name.startsWith('perf_')));
    assert.ok(!Object.keys(require.cache).some((path) => path.endsWith('figures/perf.js')));
    const wanted = newJob(t, { sources: { perf: { enabled: true } } });
    // No shepherd runs here: a note says why nothing is counted.
    assert.match(wanted.figures.notes().join('\n'), /^No perf counters: |^Not counted: /);
  });

  it('are empty, without a note, where there is no listener', async (t) => {
    const { figures, look, reads } = newJob(t);
    for (const second of [0, 1, 31, 61, 100]) await look(second, PIDS, { link: null });
    await figures.finish(null, 10);
    assert.deepEqual([figures.metrics(), figures.notes(), reads], [{}, [], []]);
  });

  it('charge energy by CPU time and memory', async (t) => {
    const job = newJob(t);
    job.nodeReply = charges({}, 1000, 100);
    await job.look(0, PIDS, { rss: 25 * MIB });
    assert.equal(job.nodeAsked, 1);
    assert.deepEqual(job.figures.metrics(), {});
    await job.look(10, PIDS, { cpuSeconds: 5, rss: 25 * MIB });
    assert.equal(job.nodeAsked, 1);
    // 10 s: 500 J, of those 20 W idle; the job had 5 of 20 CPU seconds and a quarter of the memory.
    job.figures.node(charges({ atMs: 10_000, busyCpuSeconds: 20, cpuSeconds: 40, idleWatts: 20 }, 1500, 140));
    assert.deepEqual(job.figures.metrics(), {
      energy_package_joules: 75,
      energy_dram_joules: 10,
      energy_idle_joules: 200,
      energy_node_joules: 540,
      energy_covered_seconds: 10,
    });
    // The end asks for a last reading of the node; a note says that its counters disagree.
    const last = { atMs: 20_000, busyCpuSeconds: 30, cpuSeconds: 80, idleWatts: 20, disagreement: 'a, b' };
    job.nodeReply = charges(last, 1700, 140);
    await job.look(20, [], { cpuSeconds: 5, rss: 0 });
    await job.figures.finish(job.link, 10);
    assert.equal(job.figures.metrics().energy_package_joules, 75);
    assert.equal(job.figures.metrics().energy_node_joules, 740);
    assert.deepEqual(job.figures.notes(), ['Energy: a, b.']);
  });

  it("ask for the PSS of the job's processes at each interval, first after a whole one", async (t) => {
    const job = newJob(t, { sources: { pss: { interval: 30 } } });
    job.readings = [
      { metric: 'pss_bytes', instance: '', value: 7 * MIB, pid: PIDS[0] ?? 0 },
      { metric: 'pss_bytes', instance: '', value: 5 * MIB, pid: PIDS[1] ?? 0 },
      { metric: 'pss_read_seconds', instance: '', value: 0.01 },
    ];
    for (let second = 0; second <= 100; second++) await job.look(second);
    assert.deepEqual(job.reads, [
      [30, 'pss', PIDS],
      [60, 'pss', PIDS],
      [90, 'pss', PIDS],
    ]);
    assert.equal(job.figures.metrics().pss_peak_bytes, 12 * MIB);
    assert.equal(job.figures.metrics().pss_samples, 3);
    const series = job.figures.takeSeries().find(({ source }) => source === 'pss');
    assert.deepEqual(series?.columns[0]?.values, [12 * MIB, 12 * MIB, 12 * MIB]);
    // Without a process there is nothing to ask for.
    await job.look(130, []);
    assert.equal(job.reads.length, 3);
  });

  it('ask for PSS less often where a reading takes long, again where no answer came, and never where it is off', async (t) => {
    const job = newJob(t);
    job.readings = [
      { metric: 'pss_bytes', instance: '', value: 1, pid: PIDS[0] ?? 0 },
      { metric: 'pss_read_seconds', instance: '', value: 0.3 },
    ];
    for (let second = 0; second <= 100; second++) await job.look(second);
    assert.deepEqual(
      job.reads.map(([second]) => second),
      [30, 90],
    );
    const silent = newJob(t);
    for (let second = 0; second <= 70; second++) await silent.look(second);
    assert.deepEqual(
      silent.reads.map(([second]) => second),
      [30, 60],
    );
    assert.deepEqual(silent.figures.metrics(), {});
    const off = newJob(t, { sources: { pss: { enabled: false } } });
    for (const second of [0, 31, 62]) await off.look(second);
    assert.deepEqual(off.reads, []);
  });

  it('count traffic once after a hand-over: the counters of the kernel include what the predecessor counted', async (t) => {
    let received: Readonly<Record<string, number>> = {};
    t.mock.method(jobNetwork, 'open', () => ({
      read: () =>
        Object.entries(received).map(([instance, value]) => ({
          metric: 'jobnetwork_received_bytes',
          instance,
          value,
        })),
      close: () => undefined,
    }));
    const counted = async (predecessor: Predecessor): Promise<number | undefined> => {
      const job = newJob(t, {}, '', predecessor);
      received = { '1/eth0': 1000, '2/eth0': 50 };
      for (let second = 0; second <= 20; second++) await job.look(second);
      // One interface has more traffic, one is gone and one is new.
      received = { '1/eth0': 1200, '3/eth0': 7 };
      for (let second = 21; second <= 40; second++) await job.look(second);
      return job.figures.metrics().jobnetwork_received_bytes;
    };
    const leftBehind = (metrics: Readonly<Record<string, number>>): { readonly metrics: typeof metrics } => ({
      metrics,
    });
    assert.equal(await counted(undefined), 1257);
    const before = leftBehind({ jobnetwork_received_bytes: 1080 });
    assert.equal(await counted({ resumed: before, earlier: null }), 1287);
    // The earlier record holds the predecessor's part already.
    assert.equal(await counted({ resumed: null, earlier: before }), 207);
    // The predecessor had counted no traffic yet.
    assert.equal(await counted({ resumed: leftBehind({ perf_cycles: 7 }), earlier: null }), 1257);
  });

  it('show the GPU of the node that the job held, not the other one', async (t) => {
    const job = newJob(t, {}, 'CUDA_VISIBLE_DEVICES=1\n');
    const gpus = (percent: number): NodeReply => ({
      kind: 'node',
      id: null,
      charges: null,
      gpu: [
        { metric: 'nvidia_index', instance: 'GPU-aa', value: 0 },
        { metric: 'nvidia_index', instance: 'GPU-bb', value: 1 },
        { metric: 'nvidia_utilization_percent', instance: 'GPU-aa', value: 99 },
        { metric: 'nvidia_utilization_percent', instance: 'GPU-bb', value: percent },
        { metric: 'nvidia_process_memory_bytes', instance: 'GPU-bb', value: 3 * MIB, pid: PIDS[1] ?? 0 },
        { metric: 'nvidia_process_memory_bytes', instance: 'GPU-aa', value: 9 * MIB, pid: 7 },
      ],
    });
    await job.look(0);
    job.figures.node(gpus(50));
    await job.look(10);
    job.figures.node(gpus(80));
    const metrics = job.figures.metrics();
    assert.deepEqual([metrics.gpu_held, metrics.gpu_used, metrics.gpu_utilization_max_percent], [1, 1, 80]);
    assert.deepEqual([metrics.gpu_memory_peak_bytes, metrics.gpu_held_time_seconds], [3 * MIB, 10]);
    // Without an AMD or Intel card nobody asks for DRM clients.
    assert.deepEqual(job.reads, []);
  });
});
