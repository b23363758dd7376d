/** Layouts of what NVIDIA's management library (NVML) writes, as its header describes them. */

export interface NvmlProcess {
  readonly pid: number;
  /** null: the driver doesn't know. */
  readonly memoryBytes: number | null;
}

export interface NvmlProcessUtilization {
  readonly pid: number;
  /** Microseconds since the epoch. */
  readonly timestamp: bigint;
  readonly percent: number;
  readonly memoryPercent: number;
}

/** What the driver keeps about a process, even after its end. */
export interface NvmlAccounting {
  readonly maxMemoryBytes: number | null;
  readonly isRunning: boolean;
}

const ABSENT_64 = 0xffffffffffffffffn;
/** Linux has no greater pid (PID_MAX_LIMIT). */
const GREATEST_PID = 4 * 1024 * 1024;

const finite64 = (bytes: Buffer, offset: number): number | null => {
  const value = bytes.readBigUInt64LE(offset);
  return value === ABSENT_64 ? null : Number(value);
};

export const isPid = (pid: number): boolean => pid > 0 && pid <= GREATEST_PID;

/** Size of nvmlProcessInfo by the function's version; `_v3` of drivers 535.43 to 535.98 has 8 bytes more (`wide`). */
export const PROCESS_BYTES = { v1: 16, v2: 24, wide: 32 } as const;

/** The entries of a process list (`v1`: without the ids of MIG instances). Entries without a valid pid are left out. */
export function parseProcesses(bytes: Buffer, count: number, layout: 'v1' | 'v2' | 'v3'): readonly NvmlProcess[] {
  const pids = (stride: number): readonly number[] =>
    Array.from({ length: Math.max(0, Math.min(count, Math.floor(bytes.length / stride))) }, (_, at) =>
      bytes.readUInt32LE(at * stride),
    );
  const plain = layout === 'v1' ? PROCESS_BYTES.v1 : PROCESS_BYTES.v2;
  const wide = layout === 'v3' && !pids(plain).every(isPid) && pids(PROCESS_BYTES.wide).every(isPid);
  const stride = wide ? PROCESS_BYTES.wide : plain;
  return pids(stride)
    .map((pid, at) => ({ pid, memoryBytes: finite64(bytes, at * stride + 8) }))
    .filter(({ pid }) => isPid(pid));
}

export const SAMPLE_BYTES = 32;

/** nvmlProcessUtilizationSample_t: pid, timestamp, percent of SM, memory, encoder, decoder. */
export function parseUtilizationSamples(bytes: Buffer, count: number): readonly NvmlProcessUtilization[] {
  return Array.from({ length: Math.max(0, Math.min(count, Math.floor(bytes.length / SAMPLE_BYTES))) }, (_, entry) => {
    const at = entry * SAMPLE_BYTES;
    return {
      pid: bytes.readUInt32LE(at),
      timestamp: bytes.readBigUInt64LE(at + 8),
      percent: bytes.readUInt32LE(at + 16),
      memoryPercent: bytes.readUInt32LE(at + 20),
    };
    // Filtered, since some drivers fill unused entries with pid 0 or percentages far above 100.
  }).filter(({ pid, percent, memoryPercent }) => isPid(pid) && percent <= 100 && memoryPercent <= 100);
}

export const ACCOUNTING_BYTES = 56;

/** nvmlAccountingStats_t. */
export function parseAccounting(bytes: Buffer): NvmlAccounting {
  return {
    maxMemoryBytes: finite64(bytes, 8),
    isRunning: bytes.readUInt32LE(32) !== 0,
  };
}
