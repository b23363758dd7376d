import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  chartedGpus,
  GPU_JOB_METRICS,
  gpuMetrics,
  gpuNotes,
  newGpuUse,
  observeGpus,
  type GpuUse,
} from '../../../src/sampler/figures/gpu-use';
import { gpuPids, heldGpus } from '../../../src/sources/job/held-gpus';
import type { Gpu } from '../../../src/sources/node/gpu';
import type { Reading } from '../../../src/sources/source';

const GIB = 1024 ** 3;
const gpu = (index: number, more: Partial<Gpu> = {}): Gpu => ({
  id: `GPU-000${index}`,
  vendor: 'nvidia',
  index,
  parent: null,
  aliases: [],
  ...more,
});
const GPUS = [0, 1, 2].map((index) => gpu(index));

const nvidia = (index: number, what: string, value: number, pid?: number): Reading => ({
  metric: `nvidia_${what}`,
  instance: `GPU-000${index}`,
  value,
  ...(pid === undefined ? {} : { pid }),
});
const rests = (index: number): Reading => nvidia(index, 'utilization_percent', 0);
const works = (index: number, percent: number): Reading => nvidia(index, 'utilization_percent', percent);

/** Looks at a job with CUDA_VISIBLE_DEVICES and pids 10 to 19, `seconds` apart. */
function watch(
  visible: string,
  looks: readonly (readonly Reading[])[],
  { seconds = 10, gpus = GPUS }: { readonly seconds?: number; readonly gpus?: readonly Gpu[] } = {},
): GpuUse {
  const pids = new Set(Array.from({ length: 10 }, (_, at) => 10 + at));
  const environment = new Map(visible === '' ? [] : [['CUDA_VISIBLE_DEVICES', visible]]);
  return looks.reduce(
    (use, readings, at) =>
      observeGpus(use, {
        atMs: (at + 1) * seconds * 1000,
        readings,
        held: heldGpus(environment, gpus, gpuPids(readings), pids),
        gpus,
        pids,
      }),
    newGpuUse(0),
  );
}

const times = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value);

describe('the GPU figures of a job', () => {
  it('are empty where the job holds no GPU', () => {
    const use = watch('', [[works(0, 100), nvidia(0, 'process_memory_bytes', GIB, 77)]]);
    assert.deepEqual(gpuMetrics(use), {});
    assert.deepEqual(gpuNotes(use), []);
  });

  it('count the time held, used and idle', () => {
    const mine = nvidia(0, 'process_memory_bytes', GIB, 10);
    const use = watch('0,1', [
      [rests(0), rests(1)],
      [works(0, 50), mine, rests(1)],
      [works(0, 100), mine, rests(1)],
      [rests(0), mine, rests(1)],
    ]);
    assert.deepEqual(gpuMetrics(use), {
      gpu_held: 2,
      gpu_used: 1,
      gpu_held_time_seconds: 80,
      gpu_used_time_seconds: 20,
      gpu_idle_seconds: 50,
      gpu_utilization_mean_percent: 18.75,
      gpu_utilization_max_percent: 100,
      gpu_memory_peak_bytes: GIB,
      gpu_memory_peak_kept: 0,
    });
  });

  it('chart the present use, added up over all GPUs that the job holds', () => {
    const [mine, more] = [nvidia(0, 'process_memory_bytes', GIB, 10), nvidia(1, 'process_memory_bytes', 2 * GIB, 11)];
    const both = [works(0, 50), mine, works(1, 100), more];
    assert.deepEqual(chartedGpus(watch('0,1', [both])), { gpu_percent: 150, gpu_memory_bytes: 3 * GIB });
    assert.deepEqual(chartedGpus(watch('0,1', [both, [rests(0), mine]])), { gpu_percent: 0, gpu_memory_bytes: GIB });
    assert.deepEqual(chartedGpus(watch('', [[]])), { gpu_percent: 0, gpu_memory_bytes: 0 });
  });

  it('note a GPU that was held and never used, and a memory peak that is only sampled', () => {
    const mine = nvidia(0, 'process_memory_bytes', GIB, 10);
    const use = watch('0,1', times(192, [works(0, 90), mine, rests(1)]), { seconds: 60 });
    assert.deepEqual(gpuNotes(use), [
      'GPU 1 was held for 3 h 12 min and never used.',
      'The GPU memory peak of GPU 0 is sampled: a short one may be missed.',
    ]);
  });

  it('note a GPU that was opened and never worked', () => {
    const use = watch('0', times(60, [rests(0), nvidia(0, 'process_memory_bytes', GIB, 10)]), { seconds: 3600 });
    assert.match(gpuNotes(use)[0] ?? '', /^GPU 0 was held for 2 d 12 h: opened, but no reading showed it at work\.$/);
  });

  it('do not call a GPU idle while its utilisation is unknown', () => {
    const silent = watch('0', times(10, []));
    assert.equal(gpuMetrics(silent).gpu_idle_seconds, 0);
    assert.deepEqual(gpuNotes(silent), ['GPU 0 was held for 2 min without any reading.']);
    const partly = watch('0', [...times(9, [rests(0)]), []]);
    assert.deepEqual(gpuNotes(partly), ['GPU 0 was held for 2 min and never used. No readings for 10 s of them.']);
    // Utilisation that the driver doesn't report is not 0.
    const unknown = watch('0', times(10, [nvidia(0, 'power_watts', 30)]));
    assert.equal(gpuMetrics(unknown).gpu_idle_seconds, 0);
    assert.deepEqual(gpuNotes(unknown), []);
  });

  it('count a MIG instance as idle only while it is empty', () => {
    const mig = gpu(7, { id: 'MIG-0007', parent: 'GPU-0000', index: 2 });
    const gpus = [...GPUS, mig];
    const empty: Reading = { metric: 'nvidia_memory_used_bytes', instance: 'MIG-0007', value: 13 * 1024 ** 2 };
    assert.deepEqual(gpuNotes(watch('MIG-0007', times(10, [empty]), { gpus })), [
      'GPU 0 MIG 2 was held for 2 min and never used.',
    ]);
    const full = watch('MIG-0007', times(10, [{ ...empty, value: GIB }]), { gpus });
    assert.equal(gpuMetrics(full).gpu_idle_seconds, 0);
  });

  it('have no note on a GPU that was held for less than a minute', () => {
    assert.deepEqual(gpuNotes(watch('0', [[rests(0)]])), []);
  });
});

describe('the GPU memory peak of a job', () => {
  it('is the largest sum of its processes on one GPU at one moment', () => {
    const memory = (index: number, pid: number, gib: number): Reading =>
      nvidia(index, 'process_memory_bytes', gib * GIB, pid);
    const use = watch('0', [
      [memory(0, 10, 3), memory(0, 11, 4), memory(0, 99, 50), memory(1, 12, 2)],
      [memory(0, 10, 6)],
    ]);
    assert.equal(gpuMetrics(use).gpu_memory_peak_bytes, 7 * GIB);
    assert.equal(gpuMetrics(use).gpu_held, 2);
  });

  it('is the one that the driver kept, also for a process that has ended', () => {
    const use = watch('0', [
      [rests(0), nvidia(0, 'process_memory_bytes', GIB, 10)],
      [
        rests(0),
        nvidia(0, 'process_peak_memory_bytes', 9 * GIB, 10),
        nvidia(0, 'process_peak_memory_bytes', 70 * GIB, 99),
      ],
    ]);
    const { gpu_memory_peak_bytes: peak, gpu_memory_peak_kept: kept } = gpuMetrics(use);
    assert.deepEqual([peak, kept], [9 * GIB, 1]);
    assert.ok(!gpuNotes(use).some((note) => note.includes('sampled')));
  });
});

describe('the GPU energy of a job', () => {
  const joules = (value: number): Reading => nvidia(0, 'energy_joules', value);
  const percent = (pid: number, value: number): Reading => nvidia(0, 'process_utilization_percent', value, pid);
  const energyOf = (...looks: readonly (readonly Reading[])[]): number | undefined =>
    gpuMetrics(watch('0', looks)).gpu_energy_joules;

  it('is that of the whole GPU where the job is alone, working or not', () => {
    assert.equal(energyOf([joules(1000), rests(0)], [joules(1500), percent(10, 80)], [joules(1600), rests(0)]), 600);
  });

  it('is shared by utilisation, else by the number of processes', () => {
    assert.equal(energyOf([joules(0)], [joules(1000), percent(10, 30), percent(99, 10)]), 750);
    assert.equal(energyOf([joules(0)], [joules(900), percent(10, 0), percent(98, 0), percent(99, 0)]), 300);
    assert.equal(energyOf([joules(0)], [joules(1000), percent(99, 10)]), 0);
    const memory = (pid: number): Reading => nvidia(0, 'process_memory_bytes', GIB, pid);
    assert.equal(energyOf([joules(0)], [joules(1000), memory(10), memory(99)]), 500);
  });

  it('is computed from power where there is no counter, or where the counter began anew', () => {
    const power = nvidia(0, 'power_watts', 50);
    assert.equal(energyOf([power], [power]), 1000);
    assert.equal(energyOf([joules(5000)], [joules(100), power], [joules(150), power]), 550);
    assert.equal(energyOf([joules(5000)], [joules(100)], [joules(150)]), 50);
    assert.equal(energyOf([rests(0)]), undefined);
  });

  it('leaves out the time in which the job did not hold the GPU', () => {
    const memory = nvidia(0, 'process_memory_bytes', GIB, 10);
    const use = watch('', [
      [joules(0), memory],
      [joules(100), memory],
      [joules(5000)],
      [joules(6000), memory],
      [joules(6100), memory],
    ]);
    assert.equal(gpuMetrics(use).gpu_energy_joules, 200);
  });
});

describe('a GPU that another job also uses', () => {
  it("counts for a job only with the utilisation of the job's own processes", () => {
    const mine = nvidia(0, 'process_utilization_percent', 20, 10);
    const theirs = nvidia(0, 'process_utilization_percent', 70, 99);
    const use = watch('0', [[works(0, 90), mine, theirs]]);
    assert.equal(gpuMetrics(use).gpu_utilization_mean_percent, 20);
    const guest = watch('0', times(10, [works(0, 90), theirs]));
    assert.equal(gpuMetrics(guest).gpu_used, 0);
    assert.equal(gpuMetrics(guest).gpu_idle_seconds, 100);
  });
});

describe('GPUs whose drivers report engine time', () => {
  const intel = [gpu(0, { id: '0000:4d:00.0', vendor: 'intel' })];
  const busy = (engine: string, value: number): Reading => ({
    metric: 'drmprocess_busy_seconds',
    instance: `0000:4d:00.0/${engine}`,
    value,
    pid: 10,
  });
  const memory: Reading = { metric: 'drmprocess_memory_bytes', instance: '0000:4d:00.0', value: GIB, pid: 10 };

  it('ignore a reading that is not a number', () => {
    const use = watch(
      '',
      [
        [memory, busy('compute', NaN)],
        [memory, busy('compute', 5)],
      ],
      { gpus: intel },
    );
    assert.equal(gpuMetrics(use).gpu_utilization_mean_percent, 50);
  });

  it('have the utilisation of their busiest engine', () => {
    const use = watch(
      '',
      [
        [memory, busy('compute', 2), busy('copy', 1)],
        [memory, busy('compute', 7), busy('copy', 1)],
        [memory, busy('compute', 100), busy('copy', 3)],
      ],
      { gpus: intel },
    );
    const figures = gpuMetrics(use);
    assert.equal(figures.gpu_utilization_max_percent, 100);
    assert.equal(figures.gpu_utilization_mean_percent, 56.67);
    assert.equal(figures.gpu_memory_peak_bytes, GIB);
    assert.equal(figures.gpu_used_time_seconds, 30);
  });
});

describe('GPU figures', () => {
  it('are described, and stay plausible for any readings', () => {
    const names = new Set(GPU_JOB_METRICS.map(({ name }) => name));
    for (const { name, unit, scope } of GPU_JOB_METRICS) {
      assert.equal(scope, 'job');
      assert.ok(unit === 'count' || name.endsWith(`_${unit}`), name);
    }
    const reading = fc.record({
      metric: fc.constantFrom(
        ...['utilization_percent', 'energy_joules', 'power_watts', 'memory_used_bytes'].map((what) => `nvidia_${what}`),
        ...['memory_bytes', 'utilization_percent', 'peak_memory_bytes'].map((what) => `nvidia_process_${what}`),
        'drmprocess_busy_seconds',
        'something_else',
      ),
      instance: fc.constantFrom('GPU-0000', 'GPU-0001', 'GPU-0009', 'GPU-0000/gfx', ''),
      value: fc.oneof(fc.double({ min: -1, max: 200 }), fc.nat(), fc.constantFrom(NaN, Infinity, 0, 2 ** 53)),
      pid: fc.constantFrom(10, 11, 99),
    });
    const plain = fc.oneof(
      reading,
      reading.map(({ metric, instance, value }) => ({ metric, instance, value })),
    );
    const looks = fc.array(fc.array(plain, { maxLength: 12 }), { maxLength: 12 });
    fc.assert(
      fc.property(looks, fc.constantFrom('0', '0,1', '', '2'), (given, visible) => {
        const use = watch(visible, given);
        const figures = gpuMetrics(use);
        for (const [name, value] of Object.entries(figures)) {
          assert.ok(names.has(name), name);
          assert.ok(Number.isFinite(value) && value >= 0, name);
        }
        const {
          gpu_held_time_seconds: held = 0,
          gpu_used_time_seconds: used = 0,
          gpu_idle_seconds: idle = 0,
        } = figures;
        assert.ok(used + idle <= held + 0.002);
        assert.ok((figures.gpu_utilization_mean_percent ?? 0) <= (figures.gpu_utilization_max_percent ?? 0) + 0.01);
        assert.ok((figures.gpu_utilization_max_percent ?? 0) <= 100);
        for (const note of gpuNotes(use)) assert.match(note, /^[ -~]+$/);
      }),
    );
  });
});
