import type { Nvml, NvmlHandle } from '../../native/nvml';
import { isFailure, NvmlCode, type NvmlResult } from '../../native/nvml-library';
import type { Gpu, GpuProcess, GpuSnapshot, GpuState } from './gpu';

/** What has to be remembered from one reading to the next, by UUID. */
interface NvmlMemory {
  /** Timestamp of the newest sample of process utilisation that was read. */
  readonly newest: Map<string, bigint>;
  /** Ended processes of the driver's accounting that were reported already. */
  readonly reported: Map<string, Set<number>>;
}

export const newNvmlMemory = (): NvmlMemory => ({ newest: new Map(), reported: new Map() });

const orNull = <T>(result: NvmlResult<T>): T | null => (isFailure(result) ? null : result);

interface Found {
  readonly gpu: Gpu;
  readonly handle: NvmlHandle;
  readonly instances: readonly { readonly gpu: Gpu; readonly handle: NvmlHandle }[];
}

/** GPUs and their MIG instances as they are at this moment; those that don't answer are left out. */
function findGpus(nvml: Nvml): readonly Found[] {
  const found: Found[] = [];
  const count = orNull(nvml.deviceCount()) ?? 0;
  for (let at = 0; at < count; at++) {
    const handle = orNull(nvml.device(at));
    const id = handle === null ? null : orNull(nvml.uuid(handle));
    if (handle === null || id === null) continue;
    const common = { vendor: 'nvidia', aliases: [] } as const;
    const gpu: Gpu = { id, ...common, index: orNull(nvml.index(handle)) ?? at, parent: null };
    const migs = orNull(nvml.migEnabled(handle)) === true ? orNull(nvml.migDevices(handle)) : null;
    const instances = [...(migs ?? [])].flatMap(([index, mig]) => {
      const uuid = orNull(nvml.uuid(mig));
      return uuid === null ? [] : [{ gpu: { id: uuid, ...common, index, parent: id }, handle: mig }];
    });
    found.push({ gpu, handle, instances });
  }
  return found;
}

/** GPUs and MIG instances by index and UUID. */
export function nvmlGpus(nvml: Nvml): readonly Gpu[] {
  return findGpus(nvml).flatMap(({ gpu, instances }) => [gpu, ...instances.map((instance) => instance.gpu)]);
}

const per = (value: number | null, divisor: number): number | null => (value === null ? null : value / divisor);

function stateOf(nvml: Nvml, gpu: Gpu, handle: NvmlHandle): GpuState {
  const memory = orNull(nvml.memory(handle));
  const rates = orNull(nvml.utilization(handle));
  return {
    gpu,
    memoryTotalBytes: memory?.total ?? null,
    memoryUsedBytes: memory?.used ?? null,
    utilizationPercent: rates?.gpu ?? null,
    memoryUtilizationPercent: rates?.memory ?? null,
    powerWatts: per(orNull(nvml.powerMilliwatts(handle)), 1000),
    energyJoules: per(orNull(nvml.energyMillijoules(handle)), 1000),
    temperatureCelsius: orNull(nvml.temperatureCelsius(handle)),
  };
}

/** The driver keeps the rest for the whole GPU only. */
function instanceState(nvml: Nvml, gpu: Gpu, handle: NvmlHandle): GpuState {
  const memory = orNull(nvml.memory(handle));
  return {
    gpu,
    memoryTotalBytes: memory?.total ?? orNull(nvml.migMemoryBytes(handle)),
    memoryUsedBytes: memory?.used ?? null,
  };
}

const answers = (state: GpuState): boolean =>
  Object.values(state).some((value: GpuState[keyof GpuState]) => typeof value === 'number');

/** Mean percent by process since the last reading; null where the device doesn't say. */
function utilizationByProcess(
  nvml: Nvml,
  id: string,
  handle: NvmlHandle,
  memory: NvmlMemory,
): ReadonlyMap<number, number> | null {
  const since = memory.newest.get(id) ?? 0n;
  const samples = orNull(nvml.processUtilization(handle, since));
  if (samples === null) return null;
  const byPid = new Map<number, { sum: number; count: number; newest: bigint }>();
  for (const { pid, percent, timestamp } of samples) {
    if (timestamp > (memory.newest.get(id) ?? 0n)) memory.newest.set(id, timestamp);
    const seen = byPid.get(pid);
    // The first reading also gets old samples: only the newest of each process counts then.
    if (seen === undefined || (since === 0n && timestamp > seen.newest))
      byPid.set(pid, { sum: percent, count: 1, newest: timestamp });
    else if (since !== 0n) byPid.set(pid, { ...seen, sum: seen.sum + percent, count: seen.count + 1 });
  }
  return new Map([...byPid].map(([pid, { sum, count }]) => [pid, sum / count]));
}

/**
 * Peaks that the driver keeps: of running processes, and once of each that has ended since the last reading. What had
 * ended before the first reading is never asked for (the driver keeps thousands).
 */
function keptPeaks(
  nvml: Nvml,
  id: string,
  handle: NvmlHandle,
  running: ReadonlySet<number>,
  memory: NvmlMemory,
): ReadonlyMap<number, number> {
  const peaks = new Map<number, number>();
  if (orNull(nvml.accountingEnabled(handle)) !== true) return peaks;
  const pids = new Set([...running, ...(orNull(nvml.accountingPids(handle)) ?? [])]);
  const before = memory.reported.get(id);
  const reported = new Set([...(before ?? pids)].filter((pid) => pids.has(pid) && !running.has(pid)));
  memory.reported.set(id, reported);
  for (const pid of pids) {
    if (reported.has(pid)) continue;
    const stats = orNull(nvml.accounting(handle, pid));
    if (stats === null) continue;
    if (stats.maxMemoryBytes !== null) peaks.set(pid, stats.maxMemoryBytes);
    if (!stats.isRunning && !running.has(pid)) reported.add(pid);
  }
  return peaks;
}

function processesOf(nvml: Nvml, gpu: Gpu, handle: NvmlHandle, memory: NvmlMemory): readonly GpuProcess[] {
  const listed = orNull(nvml.processes(handle)) ?? [];
  const running = new Set(listed.map(({ pid }) => pid));
  const utilization = utilizationByProcess(nvml, gpu.id, handle, memory);
  const peaks = keptPeaks(nvml, gpu.id, handle, running, memory);
  const bytes = new Map(listed.map(({ pid, memoryBytes }) => [pid, memoryBytes]));
  return [...new Set([...running, ...(utilization?.keys() ?? []), ...peaks.keys()])].map((pid) => ({
    gpu: gpu.id,
    pid,
    memoryBytes: bytes.get(pid) ?? null,
    utilizationPercent: utilization?.get(pid) ?? (utilization !== null && running.has(pid) ? 0 : null),
    peakMemoryBytes: peaks.get(pid) ?? null,
  }));
}

/** Reads the present state of all GPUs, MIG instances and their processes. */
export function readNvml(nvml: Nvml, memory: NvmlMemory): GpuSnapshot {
  const gpus: GpuState[] = [];
  const processes: GpuProcess[] = [];
  for (const { gpu, handle, instances } of findGpus(nvml)) {
    const state = stateOf(nvml, gpu, handle);
    if (!answers(state)) continue;
    gpus.push(state);
    // A process on a MIG instance belongs to that, not to the GPU as well.
    if (instances.length === 0) processes.push(...processesOf(nvml, gpu, handle, memory));
    for (const instance of instances) {
      gpus.push(instanceState(nvml, instance.gpu, instance.handle));
      processes.push(...processesOf(nvml, instance.gpu, instance.handle, memory));
    }
  }
  return { gpus, processes };
}

/** Why nothing answers: what the library says of the first device. */
export function whySilent(nvml: Nvml): string {
  const count = nvml.deviceCount();
  if (isFailure(count)) return `${count.failed}: ${count.why}`;
  if (count === 0) return 'the NVIDIA driver has no GPU';
  const device = nvml.device(0);
  const result = isFailure(device) ? device : nvml.memory(device);
  if (isFailure(result)) return `${result.failed}: ${result.why}`;
  return `NVML error ${NvmlCode.UNKNOWN}: no GPU answers`;
}
