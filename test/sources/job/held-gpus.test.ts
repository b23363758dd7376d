import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { gpuPids, heldGpus, type GpuPids } from '../../../src/sources/job/held-gpus';
import type { Gpu, GpuVendor } from '../../../src/sources/node/gpu';

const gpu = (id: string, vendor: GpuVendor, index: number, more: Partial<Gpu> = {}): Gpu => ({
  id,
  vendor,
  index,
  parent: null,
  aliases: [],
  ...more,
});

const NVIDIA = ['GPU-aa11-0', 'GPU-aa22-1', 'GPU-bb33-2', 'GPU-cc44-3'].map((id, index) => gpu(id, 'nvidia', index));
const MIGS = [
  gpu('MIG-1111', 'nvidia', 0, { parent: 'GPU-aa11-0' }),
  gpu('MIG-2222', 'nvidia', 1, { parent: 'GPU-aa11-0' }),
];
const AMD = ['0000:43:00.0', '0000:c1:00.0', '0000:e3:00.0'].map((id, index) =>
  gpu(id, 'amd', index, { aliases: [`GPU-${'89ab'.repeat(3)}000${index}`] }),
);
const INTEL = ['0000:4d:00.0', '0000:9a:00.0'].map((id, index) => gpu(id, 'intel', index));

const NOBODY: GpuPids = new Map();

/** Ids of the GPUs that are held by environment alone, and the notes. */
function given(environment: Readonly<Record<string, string>>, gpus: readonly Gpu[] = NVIDIA) {
  const { held, notes } = heldGpus(new Map(Object.entries(environment)), gpus, NOBODY, new Set());
  return { ids: held.map((one) => one.gpu.id), notes };
}

describe('heldGpus by environment', () => {
  it('reads CUDA_VISIBLE_DEVICES as CUDA does', () => {
    for (const [value, ids] of [
      ['1', ['GPU-aa22-1']],
      ['3,0', ['GPU-aa11-0', 'GPU-cc44-3']],
      ['GPU-bb33-2', ['GPU-bb33-2']],
      // The beginning of a UUID, where only one GPU has it.
      ['GPU-bb', ['GPU-bb33-2']],
      ['GPU-aa', []],
      ['', []],
      ['-1', []],
      ['NoDevFiles', []],
      // GPUs after an index without a GPU are not visible.
      ['0,9,1', ['GPU-aa11-0']],
      ['2,-1,1', ['GPU-bb33-2']],
    ] as const)
      assert.deepEqual(given({ CUDA_VISIBLE_DEVICES: value }).ids, ids, value);
    assert.deepEqual(given({ CUDA_VISIBLE_DEVICES: '0,9,1' }).notes, [
      'CUDA_VISIBLE_DEVICES names "9": no such GPU on this host.',
    ]);
    assert.deepEqual(given({ CUDA_VISIBLE_DEVICES: '2,-1,1' }).notes, []);
  });

  it('finds a GPU by its number although one before it is lost', () => {
    for (const variable of ['CUDA_VISIBLE_DEVICES', 'SGE_HGR_gpu'])
      assert.deepEqual(given({ [variable]: '1' }, NVIDIA.slice(1)).ids, ['GPU-aa22-1'], variable);
    assert.deepEqual(given({ CUDA_VISIBLE_DEVICES: '0' }, NVIDIA.slice(1)).ids, []);
  });

  it('finds MIG instances by UUID, and for the older form their GPU', () => {
    const gpus = [...NVIDIA, ...MIGS];
    assert.deepEqual(given({ CUDA_VISIBLE_DEVICES: 'MIG-2222' }, gpus).ids, ['MIG-2222']);
    assert.deepEqual(given({ CUDA_VISIBLE_DEVICES: 'MIG-GPU-aa11-0/7/0' }, gpus).ids, ['GPU-aa11-0']);
    assert.deepEqual(given({ NVIDIA_VISIBLE_DEVICES: '0:1' }, gpus).ids, ['MIG-2222']);
  });

  it('counts a GPU once where one variable names it and another its MIG instance', () => {
    const { held } = heldGpus(
      new Map([
        ['SGE_HGR_gpu', '0'],
        ['CUDA_VISIBLE_DEVICES', 'MIG-2222'],
      ]),
      [...NVIDIA, ...MIGS],
      NOBODY,
      new Set(),
    );
    assert.deepEqual(
      held.map((one) => [one.gpu.id, one.variables]),
      [['MIG-2222', ['CUDA_VISIBLE_DEVICES', 'SGE_HGR_gpu']]],
    );
  });

  it('reads the GPUs that a resource map of Grid Engine granted, whatever the complex is called', () => {
    assert.deepEqual(given({ SGE_HGR_gpu: '0 2' }).ids, ['GPU-aa11-0', 'GPU-bb33-2']);
    assert.deepEqual(given({ SGE_HGR_gpu_card: 'gpu1' }).ids, ['GPU-aa22-1']);
    assert.deepEqual(given({ SGE_HGR_NVIDIA_GPUS: '/dev/nvidia3' }).ids, ['GPU-cc44-3']);
    assert.deepEqual(given({ SGE_HGR_cuda: 'GPU-bb33-2' }).ids, ['GPU-bb33-2']);
    assert.deepEqual(given({ SGE_HGR_fthread: '4', SGE_HGR_port: '1' }).ids, []);
    assert.deepEqual(given({ SGE_HGR_gpu: '1' }, AMD).ids, ['0000:c1:00.0']);
  });

  it('lists every variable that names a GPU', () => {
    const { held } = heldGpus(
      new Map([
        ['SGE_HGR_gpu', '0 1'],
        ['CUDA_VISIBLE_DEVICES', '0'],
      ]),
      NVIDIA,
      NOBODY,
      new Set(),
    );
    assert.deepEqual(
      held.map(({ gpu: { index }, variables, pids }) => [index, variables, pids]),
      [
        [0, ['SGE_HGR_gpu', 'CUDA_VISIBLE_DEVICES'], []],
        [1, ['SGE_HGR_gpu'], []],
      ],
    );
  });

  it('reads the variables of AMD and Intel', () => {
    const ids = (environment: Readonly<Record<string, string>>): readonly string[] => given(environment, AMD).ids;
    assert.deepEqual(ids({ ROCR_VISIBLE_DEVICES: '2,0' }), ['0000:43:00.0', '0000:e3:00.0']);
    assert.deepEqual(ids({ ROCR_VISIBLE_DEVICES: 'GPU-89AB89AB89AB0001' }), ['0000:c1:00.0']);
    assert.deepEqual(ids({ GPU_DEVICE_ORDINAL: '1' }), ['0000:c1:00.0']);
    assert.deepEqual(ids({ CUDA_VISIBLE_DEVICES: '1' }), ['0000:c1:00.0']);
    // HIP counts within the GPUs that ROCR leaves, in ROCR's order.
    const { held } = heldGpus(
      new Map([
        ['HIP_VISIBLE_DEVICES', '0'],
        ['ROCR_VISIBLE_DEVICES', '2,1'],
      ]),
      AMD,
      NOBODY,
      new Set(),
    );
    assert.deepEqual(
      held.map((one) => [one.gpu.index, one.variables]),
      [
        [1, ['ROCR_VISIBLE_DEVICES']],
        [2, ['HIP_VISIBLE_DEVICES', 'ROCR_VISIBLE_DEVICES']],
      ],
    );
    assert.deepEqual(given({ ZE_AFFINITY_MASK: '1.0,1.1' }, INTEL).ids, ['0000:9a:00.0']);
    assert.deepEqual(given({ CUDA_VISIBLE_DEVICES: '0' }, [...NVIDIA, ...AMD]).ids, ['GPU-aa11-0']);
  });

  it('holds no GPU for "all", "none", "void" or an empty value', () => {
    for (const value of ['all', 'none', 'void', ''])
      assert.deepEqual(given({ NVIDIA_VISIBLE_DEVICES: value }), { ids: [], notes: [] });
  });

  it('writes notes of one printable line', () => {
    const words = fc.oneof(fc.string({ maxLength: 80 }), fc.constantFrom('0', ',', ' ', 'GPU-aa', 'MIG-', '-1', 'all'));
    fc.assert(
      fc.property(fc.array(words, { maxLength: 400 }), fc.constantFrom('', ',', ' '), (parts, between) => {
        const value = parts.join(between);
        for (const variable of ['CUDA_VISIBLE_DEVICES', 'NVIDIA_VISIBLE_DEVICES', 'SGE_HGR_gpu']) {
          const { ids, notes } = given({ [variable]: value });
          assert.equal(new Set(ids).size, ids.length);
          for (const note of notes) assert.match(note, /^[ -~]{1,300}$/);
        }
      }),
    );
  });
});

describe('heldGpus by processes', () => {
  const open: GpuPids = new Map([
    ['GPU-aa22-1', new Set([10, 99])],
    ['GPU-bb33-2', new Set([99])],
  ]);

  it('joins GPUs by environment and by processes, and notes where they differ', () => {
    const { held, notes } = heldGpus(new Map([['CUDA_VISIBLE_DEVICES', '0']]), NVIDIA, open, new Set([10, 11]));
    assert.deepEqual(
      held.map(({ gpu: { index }, variables, pids }) => [index, variables, pids]),
      [
        [0, ['CUDA_VISIBLE_DEVICES'], []],
        [1, [], [10]],
      ],
    );
    assert.deepEqual(notes, ['GPU 1 is used by the job, but its environment does not name it.']);
  });

  it('writes no note where the environment names no GPU', () => {
    const { held, notes } = heldGpus(new Map(), NVIDIA, open, new Set([10]));
    assert.deepEqual(
      held.map(({ gpu: { index } }) => index),
      [1],
    );
    assert.deepEqual(notes, []);
  });

  it('holds the MIG instance that is used rather than the GPU that was granted', () => {
    const gpus = [...NVIDIA, ...MIGS];
    const { held, notes } = heldGpus(
      new Map([['SGE_HGR_gpu', '0']]),
      gpus,
      new Map([['MIG-2222', new Set([10])]]),
      new Set([10]),
    );
    assert.deepEqual(
      held.map((one) => [one.gpu.id, one.variables, one.pids]),
      [['MIG-2222', ['SGE_HGR_gpu'], [10]]],
    );
    assert.deepEqual(notes, []);
  });
});

describe('gpuPids', () => {
  it('takes only metrics of processes that hold a GPU now', () => {
    const open = gpuPids([
      { metric: 'nvidia_memory_used_bytes', instance: 'A', value: 1 },
      { metric: 'nvidia_process_memory_bytes', instance: 'A', value: 1, pid: 1 },
      { metric: 'nvidia_process_utilization_percent', instance: 'A', value: 0, pid: 2 },
      { metric: 'nvidia_process_peak_memory_bytes', instance: 'A', value: 1, pid: 3 },
      { metric: 'drmprocess_memory_bytes', instance: 'B', value: 0, pid: 4 },
      { metric: 'drmprocess_busy_seconds', instance: 'B/gfx', value: 1, pid: 5 },
      { metric: 'pss_bytes', instance: '', value: 1, pid: 6 },
    ]);
    assert.deepEqual(
      open,
      new Map([
        ['A', new Set([1, 2])],
        ['B', new Set([4])],
      ]),
    );
  });
});
