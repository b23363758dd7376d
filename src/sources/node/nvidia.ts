import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { MIB } from '../../base/units';
import { Nvml } from '../../native/nvml';
import { isFailure, NvmlCode } from '../../native/nvml-library';
import {
  isUnavailable,
  metricsOf,
  source,
  unavailable,
  type Metric,
  type OpenSource,
  type Place,
  type Reading,
  type Unavailable,
} from '../source';
import type { Gpu, GpuProcess, GpuSnapshot, GpuState } from './gpu';
import { newNvmlMemory, nvmlGpus, readNvml, whySilent } from './nvidia-nvml';
import {
  parseSmiGpus,
  parseSmiProcesses,
  SMI_FORMAT,
  SMI_GPU_FIELDS,
  SMI_PROCESS_FIELDS,
  smiMessage,
} from './nvidia-smi';

type Given<State> = readonly [field: keyof State, metric: Metric];

const { gauge, counter } = metricsOf('nvidia');
const { gauge: ofProcess } = metricsOf('nvidia', 'process');

const GPU = { instance: 'gpu' };
/** The driver gives whole numbers of these. */
const WHOLE = { ...GPU, resolution: 1 };
const THOUSANDTHS = { ...GPU, resolution: 1000 };

const OF_GPU: readonly Given<GpuState>[] = [
  ['memoryTotalBytes', gauge('memory_total', 'bytes', 'Memory of the GPU or MIG instance.', GPU)],
  ['memoryUsedBytes', gauge('memory_used', 'bytes', 'Memory that is allocated on it.', GPU)],
  [
    'utilizationPercent',
    gauge('utilization', 'percent', "Time in which a kernel ran, over the driver's last sample period.", WHOLE),
  ],
  [
    'memoryUtilizationPercent',
    gauge('memory_utilization', 'percent', 'Time in which memory was accessed, over the same period.', WHOLE),
  ],
  ['powerWatts', gauge('power', 'watts', 'Power draw of the whole board.', THOUSANDTHS)],
  ['energyJoules', counter('energy', 'joules', 'Energy since the driver was loaded (Volta and later).', THOUSANDTHS)],
  ['temperatureCelsius', gauge('temperature', 'celsius', 'Temperature of the chip.', WHOLE)],
];

const INDEX = gauge('index', 'count', 'Its number, by which an environment may name it.', GPU);
const PARENT = gauge('parent_index', 'count', 'Of a MIG instance: the number of the GPU that it is a part of.', GPU);

const OF_PROCESS: readonly Given<GpuProcess>[] = [
  ['memoryBytes', ofProcess('process_memory', 'bytes', 'GPU memory that a process holds.', GPU)],
  [
    'utilizationPercent',
    ofProcess('process_utilization', 'percent', "Share of the GPU's time, mean since the last reading.", {
      ...GPU,
      resolution: 10,
    }),
  ],
  [
    'peakMemoryBytes',
    ofProcess('process_peak_memory', 'bytes', 'Most GPU memory that a process ever held (accounting mode).', GPU),
  ],
];

function valuesOf<State>(given: readonly Given<State>[], state: State, instance: string, pid?: number): Reading[] {
  return given.flatMap(([field, { name }]) => {
    const value: unknown = state[field];
    if (typeof value !== 'number' || !Number.isFinite(value)) return [];
    return [{ metric: name, instance, value, ...(pid === undefined ? {} : { pid }) }];
  });
}

/** A snapshot as readings; what isn't known is left out. */
export function nvidiaReadings({ gpus, processes }: GpuSnapshot): readonly Reading[] {
  const indexes = new Map(gpus.map(({ gpu }) => [gpu.id, gpu.index]));
  const place = gpus.flatMap(({ gpu }): readonly Reading[] => {
    const parent = gpu.parent === null ? undefined : indexes.get(gpu.parent);
    const own = { metric: INDEX.name, instance: gpu.id, value: gpu.index };
    return parent === undefined ? [own] : [own, { metric: PARENT.name, instance: gpu.id, value: parent }];
  });
  return [
    ...place,
    ...gpus.flatMap((state) => valuesOf(OF_GPU, state, state.gpu.id)),
    ...processes.flatMap((process) => valuesOf(OF_PROCESS, process, process.gpu, process.pid)),
  ];
}

const DEFAULTS = {
  /** A name that the dynamic linker finds, or a path. */
  library: 'libnvidia-ml.so.1',
  /** Program that is run if the library can't be loaded; empty: none. */
  smi: '/usr/bin/nvidia-smi',
  smi_timeout: 10,
  /** false: the library is opened for each reading only, so that GPUs can be reset between two. */
  keep_open: true,
} as const;

const NO_DRIVER_MEND = 'install the NVIDIA driver with its library libnvidia-ml.so.1, or set [sources.nvidia] library';

/** One way to read the GPUs: by the library, or by nvidia-smi. */
interface Reader {
  readonly snapshot: () => GpuSnapshot | Unavailable;
  readonly gpus: () => readonly Gpu[] | Unavailable;
  readonly close: () => void;
}

function libraryReader(first: Nvml, library: string, keepOpen: boolean): Reader {
  let nvml: Nvml | null = first;
  const memory = newNvmlMemory();
  const close = (): void => {
    nvml?.close();
    nvml = null;
  };
  const using = <T>(use: (open: Nvml) => T | Unavailable): T | Unavailable => {
    if (nvml === null) {
      const opened = Nvml.open(library);
      if (isFailure(opened)) return unavailable(`${opened.failed}: ${opened.why}`);
      nvml = opened;
    }
    const result = use(nvml);
    // Nothing answers: the driver may have been loaded anew, and only a new start of the library sees that.
    if (!keepOpen || isUnavailable(result)) close();
    return result;
  };
  return {
    snapshot: () =>
      using((open) => {
        const snapshot = readNvml(open, memory);
        return snapshot.gpus.length > 0 ? snapshot : unavailable(whySilent(open));
      }),
    gpus: () => using(nvmlGpus),
    close,
  };
}

function smiReader(path: string, timeoutSeconds: number): Reader {
  const run = (query: string, fields: readonly string[]): string | Unavailable => {
    const { error, status, stdout } = spawnSync(path, [`--query-${query}=${fields.join(',')}`, SMI_FORMAT], {
      encoding: 'utf8',
      env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
      cwd: '/',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: timeoutSeconds * 1000,
      killSignal: 'SIGKILL',
      maxBuffer: 4 * MIB,
    });
    if (error !== undefined) {
      const code = codeOf(error);
      const why = code === 'ETIMEDOUT' ? `no answer within ${timeoutSeconds} s` : code || error.message;
      return unavailable(`${path}: ${why}`);
    }
    // When one of several GPUs is lost, it prints the others and fails.
    return status === 0 || parseSmiGpus(stdout).length > 0
      ? stdout
      : unavailable(`${path}: ${smiMessage(stdout) ?? `exit status ${status ?? 'unknown'}`}`);
  };
  const gpus = (): readonly GpuState[] | Unavailable => {
    const text = run('gpu', SMI_GPU_FIELDS);
    if (isUnavailable(text)) return text;
    const found = parseSmiGpus(text);
    return found.length > 0 ? found : unavailable(`${path}: ${smiMessage(text) ?? 'it names no GPU'}`);
  };
  return {
    snapshot: () => {
      const states = gpus();
      if (isUnavailable(states)) return states;
      const text = run('compute-apps', SMI_PROCESS_FIELDS);
      return { gpus: states, processes: isUnavailable(text) ? [] : parseSmiProcesses(text) };
    },
    gpus: () => {
      const states = gpus();
      return isUnavailable(states) ? states : states.map(({ gpu }) => gpu);
    },
    close: () => undefined,
  };
}

const smiSeconds = (options: Place['options']): number => Math.max(0.1, Number(options.smi_timeout) || 10);

function openReader({ options, proc }: Place): Reader | Unavailable {
  const given: Place['options'] = { ...DEFAULTS, ...options };
  const library = String(given.library);
  const smi = String(given.smi);
  const nvml = Nvml.open(library);
  if (!isFailure(nvml)) return libraryReader(nvml, library, given.keep_open !== false);
  if (nvml.code === NvmlCode.LIBRARY_NOT_FOUND && nvml.failed === 'dlopen') {
    // By absolute path only: PATH is not ours.
    if (smi.startsWith('/') && existsSync(smi)) return smiReader(smi, smiSeconds(given));
    if (!existsSync(`${proc}/driver/nvidia`)) return unavailable('no NVIDIA driver');
    return unavailable(`the library can't be loaded: ${nvml.why}`, NO_DRIVER_MEND);
  }
  const fix =
    nvml.code === NvmlCode.LIB_RM_VERSION_MISMATCH
      ? 'reboot, or reload the kernel module: it is of another version than the library'
      : nvml.code === NvmlCode.NO_PERMISSION
        ? 'let the sampler open /dev/nvidiactl and /dev/nvidia*'
        : null;
  return unavailable(`${nvml.failed}: ${nvml.why}`, fix);
}

export const nvidia = source({
  name: 'nvidia',
  reads: ['libnvidia-ml.so.1 (NVML)', 'nvidia-smi'],
  metrics: [INDEX, PARENT, ...[...OF_GPU, ...OF_PROCESS].map(([, described]) => described)],
  blocking: true,
  options: DEFAULTS,
  // nvidia-smi is run once to open, and twice to read.
  patience: (options) => 3 * smiSeconds(options) + 1,
  open: (place): OpenSource | Unavailable => {
    const reader = openReader(place);
    if (isUnavailable(reader)) return reader;
    const read = (): readonly Reading[] | Unavailable => {
      const snapshot = reader.snapshot();
      return isUnavailable(snapshot) ? snapshot : nvidiaReadings(snapshot);
    };
    const first = reader.gpus();
    if (isUnavailable(first) || first.length === 0) {
      const why = isUnavailable(first) ? first : read();
      reader.close();
      return isUnavailable(why) ? why : unavailable('the NVIDIA driver has no GPU');
    }
    return { read, close: reader.close };
  },
});
