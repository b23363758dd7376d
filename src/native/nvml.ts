import { MIB } from '../base/units';
import {
  ACCOUNTING_BYTES,
  isPid,
  parseAccounting,
  parseProcesses,
  parseUtilizationSamples,
  PROCESS_BYTES,
  SAMPLE_BYTES,
  type NvmlAccounting,
  type NvmlProcess,
  type NvmlProcessUtilization,
} from './nvml-layouts';
import {
  absent,
  isFailure,
  mapResult,
  NvmlCode,
  NvmlLibrary,
  terminated,
  type NvmlFailure,
  type NvmlResult,
} from './nvml-library';

/** The library's handle of a device, valid until `close`. */
export type NvmlHandle = bigint;

const MEMORY_V2_BYTES = 40;
const MOST_MIG_DEVICES = 64;
const LIST = 'uint64_t device, void *count, void *entries';

const uint32 = (bytes: Buffer): number => bytes.readUInt32LE();

/** Each process once, with the largest memory that any list gives for it. */
function mergeProcesses(lists: readonly (readonly NvmlProcess[])[]): readonly NvmlProcess[] {
  const merged = new Map<number, NvmlProcess>();
  for (const { pid, memoryBytes } of lists.flat()) {
    const before = merged.get(pid)?.memoryBytes ?? null;
    const known = [before, memoryBytes].filter((value) => value !== null);
    merged.set(pid, { pid, memoryBytes: known.length === 0 ? null : Math.max(...known) });
  }
  return [...merged.values()];
}

/**
 * NVIDIA's management library (libnvidia-ml.so.1), as its header describes it. Every failure is a value. A function
 * that an old driver lacks fails with FUNCTION_NOT_FOUND when called. Calls block while the driver does.
 */
export class Nvml {
  private constructor(private readonly library: NvmlLibrary) {}

  /**
   * Loads the library and initialises it. Fails with LIBRARY_NOT_FOUND (of "dlopen") if it can't be loaded, and with
   * DRIVER_NOT_LOADED or other codes if it refuses. While it is open, the driver can't be unloaded, nor a GPU be reset.
   */
  static open(path = 'libnvidia-ml.so.1'): NvmlResult<Nvml> {
    const library = NvmlLibrary.load(path);
    if (isFailure(library)) return library;
    return mapResult(library.call('nvmlInit_v2', 'void'), () => new Nvml(library));
  }

  deviceCount(): NvmlResult<number> {
    return mapResult(this.library.answer('nvmlDeviceGetCount_v2', 'void *count', [], Buffer.alloc(4)), uint32);
  }

  device(index: number): NvmlResult<NvmlHandle> {
    return this.handle('nvmlDeviceGetHandleByIndex_v2', 'uint32_t index, void *device', [index]);
  }

  uuid(device: NvmlHandle): NvmlResult<string> {
    const bytes = Buffer.alloc(96);
    const parameters = 'uint64_t device, void *text, uint32_t length';
    const result = this.library.call('nvmlDeviceGetUUID', parameters, device, bytes, bytes.length);
    return mapResult(result, () => terminated(bytes));
  }

  index(device: NvmlHandle): NvmlResult<number> {
    return this.integer('nvmlDeviceGetIndex', device);
  }

  /** Bytes. With an old driver `used` includes what the driver reserves for itself. */
  memory(device: NvmlHandle): NvmlResult<{ readonly total: number; readonly used: number }> {
    const bytes = Buffer.alloc(MEMORY_V2_BYTES);
    bytes.writeUInt32LE(MEMORY_V2_BYTES | (2 << 24));
    const name = 'nvmlDeviceGetMemoryInfo_v2';
    const second = this.library.answer(name, 'uint64_t device, void *value', [device], bytes);
    if (!isFailure(second)) return { total: Number(bytes.readBigUInt64LE(8)), used: Number(bytes.readBigUInt64LE(32)) };
    if (second.code !== NvmlCode.FUNCTION_NOT_FOUND && second.code !== NvmlCode.NOT_SUPPORTED) return second;
    return mapResult(this.read('nvmlDeviceGetMemoryInfo', device, 24), (old) => ({
      total: Number(old.readBigUInt64LE(0)),
      used: Number(old.readBigUInt64LE(16)),
    }));
  }

  /** Percent of the driver's last sample period in which a GPU kernel ran, and in which memory was accessed. */
  utilization(device: NvmlHandle): NvmlResult<{ readonly gpu: number; readonly memory: number }> {
    return mapResult(this.read('nvmlDeviceGetUtilizationRates', device, 8), (bytes) => ({
      gpu: bytes.readUInt32LE(0),
      memory: bytes.readUInt32LE(4),
    }));
  }

  powerMilliwatts(device: NvmlHandle): NvmlResult<number> {
    return this.integer('nvmlDeviceGetPowerUsage', device);
  }

  /** Since the driver was loaded; Volta and later. */
  energyMillijoules(device: NvmlHandle): NvmlResult<number> {
    const result = this.read('nvmlDeviceGetTotalEnergyConsumption', device, 8);
    return mapResult(result, (bytes) => Number(bytes.readBigUInt64LE()));
  }

  temperatureCelsius(device: NvmlHandle): NvmlResult<number> {
    const parameters = 'uint64_t device, int sensor, void *value';
    return mapResult(this.library.answer('nvmlDeviceGetTemperature', parameters, [device, 0], Buffer.alloc(4)), uint32);
  }

  /** Compute, graphics and MPS processes, each once. */
  processes(device: NvmlHandle): NvmlResult<readonly NvmlProcess[]> {
    const lists: (readonly NvmlProcess[])[] = [];
    let first: NvmlFailure | null = null;
    for (const kind of ['Compute', 'Graphics', 'MPSCompute']) {
      const found = this.processList(`nvmlDeviceGet${kind}RunningProcesses`, device);
      if (isFailure(found)) first ??= found;
      else lists.push(found);
    }
    return lists.length === 0 && first !== null ? first : mergeProcesses(lists);
  }

  /** Samples newer than the timestamp `since` (0: all that the driver still has). */
  processUtilization(device: NvmlHandle, since: bigint): NvmlResult<readonly NvmlProcessUtilization[]> {
    const name = 'nvmlDeviceGetProcessUtilization';
    const call = this.library.find(name, 'uint64_t device, void *samples, void *count, uint64_t since');
    if (call === null) return absent(name);
    const result = this.library.list(name, SAMPLE_BYTES, (count, samples) => call(device, samples, count, since));
    return mapResult(result, ({ count, bytes }) => parseUtilizationSamples(bytes, count));
  }

  accountingEnabled(device: NvmlHandle): NvmlResult<boolean> {
    return mapResult(this.integer('nvmlDeviceGetAccountingMode', device), (mode) => mode === 1);
  }

  /** Running processes, and recently ended ones, as long as the driver's ring buffer holds them. */
  accountingPids(device: NvmlHandle): NvmlResult<readonly number[]> {
    const name = 'nvmlDeviceGetAccountingPids';
    const call = this.library.find(name, LIST);
    if (call === null) return absent(name);
    const result = this.library.list(name, 4, (count, pids) => call(device, count, pids));
    return mapResult(result, ({ count, bytes }) =>
      Array.from({ length: count }, (_, at) => bytes.readUInt32LE(at * 4)).filter(isPid),
    );
  }

  accounting(device: NvmlHandle, pid: number): NvmlResult<NvmlAccounting> {
    const name = 'nvmlDeviceGetAccountingStats';
    const bytes = Buffer.alloc(ACCOUNTING_BYTES);
    const result = this.library.answer(name, 'uint64_t device, uint32_t pid, void *stats', [device, pid], bytes);
    return mapResult(result, parseAccounting);
  }

  migEnabled(device: NvmlHandle): NvmlResult<boolean> {
    const current = Buffer.alloc(4);
    const parameters = 'uint64_t device, void *current, void *pending';
    const result = this.library.call('nvmlDeviceGetMigMode', parameters, device, current, Buffer.alloc(4));
    return mapResult(result, () => current.readUInt32LE() === 1);
  }

  /** MIG instances by their index; indexes without an instance are left out. */
  migDevices(device: NvmlHandle): NvmlResult<ReadonlyMap<number, NvmlHandle>> {
    const most = this.integer('nvmlDeviceGetMaxMigDeviceCount', device);
    if (isFailure(most)) return most;
    const found = new Map<number, NvmlHandle>();
    const parameters = 'uint64_t device, uint32_t index, void *mig';
    for (let index = 0; index < Math.min(most, MOST_MIG_DEVICES); index++) {
      const mig = this.handle('nvmlDeviceGetMigDeviceHandleByIndex', parameters, [device, index]);
      if (!isFailure(mig)) found.set(index, mig);
      else if (mig.code !== NvmlCode.NOT_FOUND && mig.code !== NvmlCode.INVALID_ARGUMENT) return mig;
    }
    return found;
  }

  /** Memory of a MIG instance by its attributes, in bytes. */
  migMemoryBytes(mig: NvmlHandle): NvmlResult<number> {
    // nvmlDeviceAttributes_t: eight counts, then the memory in MiB.
    const result = this.read('nvmlDeviceGetAttributes_v2', mig, 40);
    return mapResult(result, (bytes) => Number(bytes.readBigUInt64LE(32)) * MIB);
  }

  close(): void {
    this.library.call('nvmlShutdown', 'void');
  }

  /** What a function writes about a device. */
  private read(name: string, device: NvmlHandle, length: number): NvmlResult<Buffer> {
    return this.library.answer(name, 'uint64_t device, void *value', [device], Buffer.alloc(length));
  }

  private integer(name: string, device: NvmlHandle): NvmlResult<number> {
    return mapResult(this.read(name, device, 4), uint32);
  }

  private handle(name: string, parameters: string, before: readonly unknown[]): NvmlResult<NvmlHandle> {
    const result = this.library.answer(name, parameters, before, Buffer.alloc(8));
    return mapResult(result, (bytes) => bytes.readBigUInt64LE());
  }

  private processList(name: string, device: NvmlHandle): NvmlResult<readonly NvmlProcess[]> {
    for (const [suffix, layout] of [
      ['_v3', 'v3'],
      ['_v2', 'v2'],
      ['', 'v1'],
    ] as const) {
      const call = this.library.find(`${name}${suffix}`, LIST);
      if (call === null) continue;
      // Room for the widest entries, whatever the driver writes.
      const result = this.library.list(name, PROCESS_BYTES.wide, (count, entries) => call(device, count, entries));
      return mapResult(result, ({ count, bytes }) => parseProcesses(bytes, count, layout));
    }
    return absent(name);
  }
}
