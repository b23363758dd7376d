import { createRequire } from 'node:module';
import type * as Koffi from 'koffi' with { 'resolution-mode': 'import' };

/**
 * NVIDIA's management library (libnvidia-ml.so.1), as its header describes it. Every failure is a value. What an old
 * driver lacks fails with FUNCTION_NOT_FOUND when it is asked for. The calls block while the driver does.
 */

export const NvmlCode = {
  UNINITIALIZED: 1,
  INVALID_ARGUMENT: 2,
  NOT_SUPPORTED: 3,
  NO_PERMISSION: 4,
  NOT_FOUND: 6,
  INSUFFICIENT_SIZE: 7,
  DRIVER_NOT_LOADED: 9,
  LIBRARY_NOT_FOUND: 12,
  FUNCTION_NOT_FOUND: 13,
  GPU_IS_LOST: 15,
  LIB_RM_VERSION_MISMATCH: 18,
  UNKNOWN: 999,
} as const;

interface NvmlFailure {
  /** The call that failed. */
  readonly failed: string;
  readonly code: number;
  /** What the library says of that code. */
  readonly why: string;
}

export type NvmlResult<T> = T | NvmlFailure;

export function isFailure(result: unknown): result is NvmlFailure {
  return typeof result === 'object' && result !== null && 'failed' in result;
}

/** A device of the library; valid until close. */
export type NvmlHandle = bigint;

interface NvmlProcess {
  readonly pid: number;
  /** null: the driver can't tell. */
  readonly memoryBytes: number | null;
}

interface NvmlProcessUtilization {
  readonly pid: number;
  /** Microseconds since the epoch. */
  readonly timestamp: bigint;
  readonly percent: number;
  readonly memoryPercent: number;
}

/** What the driver keeps of a process, also after its end; percentages over its whole life. */
interface NvmlAccounting {
  readonly percent: number | null;
  readonly memoryPercent: number | null;
  readonly maxMemoryBytes: number | null;
  /** Time during which a context was active; 0 while the process runs. */
  readonly activeMs: number;
  readonly isRunning: boolean;
}

export interface Nvml {
  readonly driverVersion: () => NvmlResult<string>;
  readonly deviceCount: () => NvmlResult<number>;
  readonly device: (index: number) => NvmlResult<NvmlHandle>;
  readonly uuid: (device: NvmlHandle) => NvmlResult<string>;
  readonly name: (device: NvmlHandle) => NvmlResult<string>;
  readonly index: (device: NvmlHandle) => NvmlResult<number>;
  /** "00000000:41:00.0" */
  readonly pciBusId: (device: NvmlHandle) => NvmlResult<string>;
  /** Bytes. Where the driver is old, `used` holds what the driver reserves for itself, too. */
  readonly memory: (device: NvmlHandle) => NvmlResult<{ readonly total: number; readonly used: number }>;
  /** Percent of the driver's last sample period in which a kernel ran, and in which memory was accessed. */
  readonly utilization: (device: NvmlHandle) => NvmlResult<{ readonly gpu: number; readonly memory: number }>;
  readonly powerMilliwatts: (device: NvmlHandle) => NvmlResult<number>;
  /** Since the driver was loaded; Volta and later. */
  readonly energyMillijoules: (device: NvmlHandle) => NvmlResult<number>;
  readonly temperatureCelsius: (device: NvmlHandle) => NvmlResult<number>;
  /** Compute, graphics and MPS processes, each once. */
  readonly processes: (device: NvmlHandle) => NvmlResult<readonly NvmlProcess[]>;
  /** Samples newer than that timestamp (0: all that the driver still has). */
  readonly processUtilization: (device: NvmlHandle, since: bigint) => NvmlResult<readonly NvmlProcessUtilization[]>;
  readonly accountingEnabled: (device: NvmlHandle) => NvmlResult<boolean>;
  /** Running processes and those of a ring of ended ones. */
  readonly accountingPids: (device: NvmlHandle) => NvmlResult<readonly number[]>;
  readonly accounting: (device: NvmlHandle, pid: number) => NvmlResult<NvmlAccounting>;
  readonly migEnabled: (device: NvmlHandle) => NvmlResult<boolean>;
  /** MIG instances by their index; indexes without an instance are left out. */
  readonly migDevices: (device: NvmlHandle) => NvmlResult<ReadonlyMap<number, NvmlHandle>>;
  /** Memory of a MIG instance by its attributes, in bytes. */
  readonly migMemoryBytes: (mig: NvmlHandle) => NvmlResult<number>;
  readonly close: () => void;
}

const ABSENT_64 = 0xffffffffffffffffn;
const ABSENT_32 = 0xffffffff;
/** Linux has no greater pid (PID_MAX_LIMIT). */
const GREATEST_PID = 4 * 1024 * 1024;
const MOST_ENTRIES = 65536;
const FIRST_ENTRIES = 64;
const MEMORY_V2_BYTES = 40;

const finite64 = (bytes: Buffer, offset: number): number | null => {
  const value = bytes.readBigUInt64LE(offset);
  return value === ABSENT_64 ? null : Number(value);
};
const finite32 = (bytes: Buffer, offset: number): number | null => {
  const value = bytes.readUInt32LE(offset);
  return value === ABSENT_32 ? null : value;
};

const isPid = (pid: number): boolean => pid > 0 && pid <= GREATEST_PID;

/** Bytes of nvmlProcessInfo by the version of the function; `_v3` of drivers 535.43 to 535.98 has 8 bytes more. */
const PROCESS_BYTES = { v1: 16, v2: 24, wide: 32 } as const;

/** Entries of a process list (`v1`: without the ids of MIG instances). Entries that name no process are left out. */
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

const SAMPLE_BYTES = 32;

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
    // Some drivers fill unused entries with pid 0 or percentages far above 100.
  }).filter(({ pid, percent, memoryPercent }) => isPid(pid) && percent <= 100 && memoryPercent <= 100);
}

const ACCOUNTING_BYTES = 56;

/** nvmlAccountingStats_t. */
export function parseAccounting(bytes: Buffer): NvmlAccounting {
  return {
    percent: finite32(bytes, 0),
    memoryPercent: finite32(bytes, 4),
    maxMemoryBytes: finite64(bytes, 8),
    activeMs: finite64(bytes, 16) ?? 0,
    isRunning: bytes.readUInt32LE(32) !== 0,
  };
}

type Call = (...values: readonly unknown[]) => number;

const terminated = (bytes: Buffer): string => {
  const end = bytes.indexOf(0);
  return bytes.toString('latin1', 0, end < 0 ? bytes.length : end);
};

interface LoadedLibrary {
  /** null where the library has no such function. */
  readonly find: (name: string, parameters: string) => Call | null;
  readonly errorString: (code: number) => string | null;
}

const loaded = new Map<string, LoadedLibrary>();

/** Loaded once per process and path, however often it is initialised. */
function loadLibrary(path: string): NvmlResult<LoadedLibrary> {
  const before = loaded.get(path);
  if (before !== undefined) return before;
  // koffi ships a CommonJS build, but its types claim ESM only. Loaded late: most hosts have no GPU.
  const koffi = createRequire(__filename)('koffi') as typeof Koffi;
  let library: Koffi.LibraryHandle;
  try {
    library = koffi.load(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { failed: 'dlopen', code: NvmlCode.LIBRARY_NOT_FOUND, why: `${path}: ${why}` };
  }
  const known = new Map<string, unknown>();
  const find = (name: string, prototype: string): unknown => {
    if (known.has(name)) return known.get(name);
    let call: unknown = null;
    try {
      call = library.func(prototype);
    } catch {
      // An older driver's library.
    }
    known.set(name, call);
    return call;
  };
  const errorString = find('nvmlErrorString', 'const char *nvmlErrorString(int code)') as
    ((code: number) => string | null) | null;
  const result: LoadedLibrary = {
    find: (name, parameters) => find(name, `int ${name}(${parameters})`) as Call | null,
    errorString: (code) => errorString?.(code) ?? null,
  };
  loaded.set(path, result);
  return result;
}

/**
 * Loads the library and initialises it. LIBRARY_NOT_FOUND of dlopen: it could not be loaded; DRIVER_NOT_LOADED and
 * others: it refused. While it is open, the driver can't be unloaded nor a GPU be reset.
 */
export function openNvml(path = 'libnvidia-ml.so.1'): NvmlResult<Nvml> {
  const library = loadLibrary(path);
  if (isFailure(library)) return library;
  const { find, errorString } = library;
  const failure = (failed: string, code: number): NvmlFailure => ({
    failed,
    code,
    why: errorString(code) || `NVML error ${code}`,
  });
  const absent = (name: string): NvmlFailure => ({
    failed: name,
    code: NvmlCode.FUNCTION_NOT_FOUND,
    why: 'not in this version of the library',
  });

  /** Calls with the arguments that come before a buffer for the answer; gives that buffer. */
  const answer = (name: string, parameters: string, before: readonly unknown[], bytes: Buffer): NvmlResult<Buffer> => {
    const call = find(name, parameters);
    if (call === null) return absent(name);
    const code = call(...before, bytes);
    return code === 0 ? bytes : failure(name, code);
  };
  const then = <A, B>(result: NvmlResult<A>, use: (value: A) => B): NvmlResult<B> =>
    isFailure(result) ? result : use(result);
  const integer = (name: string, device: NvmlHandle): NvmlResult<number> =>
    then(answer(name, 'uint64_t device, void *value', [device], Buffer.alloc(4)), (bytes) => bytes.readUInt32LE());
  const text = (name: string, device: NvmlHandle): NvmlResult<string> => {
    const call = find(name, 'uint64_t device, void *text, uint32_t length');
    if (call === null) return absent(name);
    const bytes = Buffer.alloc(96);
    const code = call(device, bytes, bytes.length);
    return code === 0 ? terminated(bytes) : failure(name, code);
  };

  /** A list whose length nobody knows beforehand: asked again with more room while the library wants more. */
  const list = (
    name: string,
    entryBytes: number,
    call: (count: Buffer, entries: Buffer) => number,
  ): NvmlResult<{ readonly count: number; readonly bytes: Buffer }> => {
    const count = Buffer.alloc(4);
    for (let room = FIRST_ENTRIES; ;) {
      const bytes = Buffer.alloc(room * entryBytes);
      count.writeUInt32LE(room);
      const code = call(count, bytes);
      const length = count.readUInt32LE();
      if (code === 0) return { count: Math.min(length, room), bytes };
      // Also said where there is no sample newer than the last one.
      if (code === NvmlCode.NOT_FOUND) return { count: 0, bytes };
      if (code !== NvmlCode.INSUFFICIENT_SIZE || room >= MOST_ENTRIES) return failure(name, code);
      // More may have started meanwhile.
      room = Math.min(MOST_ENTRIES, Math.max(room * 2, length + 16));
    }
  };

  const LIST = 'uint64_t device, void *count, void *entries';
  const processList = (name: string, device: NvmlHandle): NvmlResult<readonly NvmlProcess[]> => {
    for (const [suffix, layout] of [
      ['_v3', 'v3'],
      ['_v2', 'v2'],
      ['', 'v1'],
    ] as const) {
      const call = find(`${name}${suffix}`, LIST);
      if (call === null) continue;
      // Room for the widest entries, whatever the driver writes.
      const result = list(name, PROCESS_BYTES.wide, (count, entries) => call(device, count, entries));
      return then(result, ({ count, bytes }) => parseProcesses(bytes, count, layout));
    }
    return absent(name);
  };

  const handleOf = (result: NvmlResult<Buffer>): NvmlResult<NvmlHandle> =>
    then(result, (bytes) => bytes.readBigUInt64LE());

  const initialise = find('nvmlInit_v2', 'void');
  if (initialise === null) return absent('nvmlInit_v2');
  const refused = initialise();
  if (refused !== 0) return failure('nvmlInit_v2', refused);

  const nvml: Nvml = {
    driverVersion: () => {
      const call = find('nvmlSystemGetDriverVersion', 'void *text, uint32_t length');
      if (call === null) return absent('nvmlSystemGetDriverVersion');
      const bytes = Buffer.alloc(80);
      const code = call(bytes, bytes.length);
      return code === 0 ? terminated(bytes) : failure('nvmlSystemGetDriverVersion', code);
    },
    deviceCount: () =>
      then(answer('nvmlDeviceGetCount_v2', 'void *count', [], Buffer.alloc(4)), (bytes) => bytes.readUInt32LE()),
    device: (index) =>
      handleOf(answer('nvmlDeviceGetHandleByIndex_v2', 'uint32_t index, void *device', [index], Buffer.alloc(8))),
    uuid: (device) => text('nvmlDeviceGetUUID', device),
    name: (device) => text('nvmlDeviceGetName', device),
    index: (device) => integer('nvmlDeviceGetIndex', device),
    pciBusId: (device) => {
      // nvmlPciInfo_t ends in the bus id, from byte 36 on; the 16 characters at its start are the legacy form.
      const result = answer('nvmlDeviceGetPciInfo_v3', 'uint64_t device, void *info', [device], Buffer.alloc(68));
      return then(result, (bytes) => terminated(bytes.subarray(36)));
    },
    memory: (device) => {
      const bytes = Buffer.alloc(MEMORY_V2_BYTES);
      bytes.writeUInt32LE(MEMORY_V2_BYTES | (2 << 24));
      const second = answer('nvmlDeviceGetMemoryInfo_v2', 'uint64_t device, void *memory', [device], bytes);
      if (!isFailure(second))
        return { total: Number(bytes.readBigUInt64LE(8)), used: Number(bytes.readBigUInt64LE(32)) };
      if (second.code !== NvmlCode.FUNCTION_NOT_FOUND && second.code !== NvmlCode.NOT_SUPPORTED) return second;
      const first = answer('nvmlDeviceGetMemoryInfo', 'uint64_t device, void *memory', [device], Buffer.alloc(24));
      return then(first, (old) => ({
        total: Number(old.readBigUInt64LE(0)),
        used: Number(old.readBigUInt64LE(16)),
      }));
    },
    utilization: (device) =>
      then(
        answer('nvmlDeviceGetUtilizationRates', 'uint64_t device, void *rates', [device], Buffer.alloc(8)),
        (bytes) => ({ gpu: bytes.readUInt32LE(0), memory: bytes.readUInt32LE(4) }),
      ),
    powerMilliwatts: (device) => integer('nvmlDeviceGetPowerUsage', device),
    energyMillijoules: (device) =>
      then(
        answer('nvmlDeviceGetTotalEnergyConsumption', 'uint64_t device, void *value', [device], Buffer.alloc(8)),
        (bytes) => Number(bytes.readBigUInt64LE()),
      ),
    temperatureCelsius: (device) => {
      const name = 'nvmlDeviceGetTemperature';
      const result = answer(name, 'uint64_t device, int sensor, void *value', [device, 0], Buffer.alloc(4));
      return then(result, (bytes) => bytes.readUInt32LE());
    },
    processes: (device) => {
      const merged = new Map<number, NvmlProcess>();
      let worst: NvmlFailure | null = null;
      let answers = 0;
      for (const kind of ['Compute', 'Graphics', 'MPSCompute']) {
        const found = processList(`nvmlDeviceGet${kind}RunningProcesses`, device);
        if (isFailure(found)) {
          worst ??= found;
          continue;
        }
        answers += 1;
        for (const { pid, memoryBytes } of found) {
          const before = merged.get(pid)?.memoryBytes ?? null;
          const known = [before, memoryBytes].filter((value) => value !== null);
          merged.set(pid, { pid, memoryBytes: known.length === 0 ? null : Math.max(...known) });
        }
      }
      return answers === 0 && worst !== null ? worst : [...merged.values()];
    },
    processUtilization: (device, since) => {
      const name = 'nvmlDeviceGetProcessUtilization';
      const call = find(name, 'uint64_t device, void *samples, void *count, uint64_t since');
      if (call === null) return absent(name);
      const result = list(name, SAMPLE_BYTES, (count, samples) => call(device, samples, count, since));
      return then(result, ({ count, bytes }) => parseUtilizationSamples(bytes, count));
    },
    accountingEnabled: (device) => then(integer('nvmlDeviceGetAccountingMode', device), (mode) => mode === 1),
    accountingPids: (device) => {
      const name = 'nvmlDeviceGetAccountingPids';
      const call = find(name, LIST);
      if (call === null) return absent(name);
      return then(
        list(name, 4, (count, pids) => call(device, count, pids)),
        ({ count, bytes }) => Array.from({ length: count }, (_, at) => bytes.readUInt32LE(at * 4)).filter(isPid),
      );
    },
    accounting: (device, pid) =>
      then(
        answer(
          'nvmlDeviceGetAccountingStats',
          'uint64_t device, uint32_t pid, void *stats',
          [device, pid],
          Buffer.alloc(ACCOUNTING_BYTES),
        ),
        parseAccounting,
      ),
    migEnabled: (device) => {
      const name = 'nvmlDeviceGetMigMode';
      const call = find(name, 'uint64_t device, void *current, void *pending');
      if (call === null) return absent(name);
      const current = Buffer.alloc(4);
      const code = call(device, current, Buffer.alloc(4));
      return code === 0 ? current.readUInt32LE() === 1 : failure(name, code);
    },
    migDevices: (device) => {
      const most = integer('nvmlDeviceGetMaxMigDeviceCount', device);
      if (isFailure(most)) return most;
      const found = new Map<number, NvmlHandle>();
      for (let index = 0; index < Math.min(most, 64); index++) {
        const name = 'nvmlDeviceGetMigDeviceHandleByIndex';
        const parameters = 'uint64_t device, uint32_t index, void *mig';
        const mig = handleOf(answer(name, parameters, [device, index], Buffer.alloc(8)));
        if (!isFailure(mig)) found.set(index, mig);
        else if (mig.code !== NvmlCode.NOT_FOUND && mig.code !== NvmlCode.INVALID_ARGUMENT) return mig;
      }
      return found;
    },
    migMemoryBytes: (mig) =>
      // nvmlDeviceAttributes_t: eight counts, then the memory in MiB.
      then(
        answer('nvmlDeviceGetAttributes_v2', 'uint64_t device, void *attributes', [mig], Buffer.alloc(40)),
        (bytes) => Number(bytes.readBigUInt64LE(32)) * 1024 * 1024,
      ),
    close: () => {
      find('nvmlShutdown', 'void')?.();
    },
  };
  return nvml;
}
