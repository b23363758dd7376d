/** What the sources of GPU samples agree on, whichever way a GPU is read. */

export type GpuVendor = 'nvidia' | 'amd' | 'intel';

export interface Gpu {
  /** The instance of its readings: UUID ("GPU-...", "MIG-...") for NVIDIA, PCI address for the others. */
  readonly id: string;
  readonly vendor: GpuVendor;
  /** Position among the vendor's GPUs in the order of PCI addresses; of a MIG instance, within its GPU. */
  readonly index: number;
  /** The GPU that a MIG instance is a part of. */
  readonly parent: string | null;
  /** Other names by which an environment may mean it. */
  readonly aliases: readonly string[];
}

/** State of one GPU; null, or left out: unknown. */
export interface GpuState {
  readonly gpu: Gpu;
  readonly memoryTotalBytes: number | null;
  readonly memoryUsedBytes: number | null;
  readonly utilizationPercent?: number | null;
  readonly memoryUtilizationPercent?: number | null;
  readonly powerWatts?: number | null;
  /** Since the driver was loaded. */
  readonly energyJoules?: number | null;
  readonly temperatureCelsius?: number | null;
}

/** One process on one GPU; null, or left out: unknown. */
export interface GpuProcess {
  readonly gpu: string;
  readonly pid: number;
  readonly memoryBytes: number | null;
  readonly utilizationPercent?: number | null;
  /** Kept by the driver over the whole life of the process. */
  readonly peakMemoryBytes?: number | null;
}

export interface GpuSnapshot {
  readonly gpus: readonly GpuState[];
  readonly processes: readonly GpuProcess[];
}

/** How people call it: "GPU 1", "GPU 0 MIG 2". */
export function gpuLabel(gpu: Gpu, all: readonly Gpu[]): string {
  if (gpu.parent === null) return `GPU ${gpu.index}`;
  const parent = all.find(({ id }) => id === gpu.parent);
  return `${parent === undefined ? 'GPU' : gpuLabel(parent, all)} MIG ${gpu.index}`;
}

/** "0000:41:00.0": lower case, four digits of domain unless it needs more. */
export function pciAddress(text: string): string | null {
  const match = /^([\da-f]{1,8}):([\da-f]{2}:[\da-f]{2}\.[\da-f])$/.exec(text.trim().toLowerCase());
  if (match === null) return null;
  const [, domain = '', rest = ''] = match;
  return `${domain.replace(/^0+/, '').padStart(4, '0')}:${rest}`;
}
