import { closeSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { loadKoffi } from './koffi';
import { explainPerfError, type PerfRefusal } from './perf-error';

/**
 * perf_event_open(2) and related calls: counters of the kernel and the CPU for a process and its later children, or for
 * one CPU. Counting only, no sampling. The C library is loaded at the first call.
 */

export interface PerfRequest {
  /** PERF_TYPE_*, or the `type` file of a PMU below /sys/bus/event_source/devices. */
  readonly type: number;
  readonly config: bigint;
  readonly config1: bigint;
  readonly config2: bigint;
  /** A thread; 0: the calling one, -1: all threads. */
  readonly pid: number;
  /** -1: every CPU (one process only). */
  readonly cpu: number;
  /** Descriptor of the group's leader; -1: the counter is a leader. */
  readonly group: number;
  /** Also counts children and threads that start later. */
  readonly inherit: boolean;
  /** Counts only after `enable`; its group waits with it. */
  readonly disabled: boolean;
  /** Leaves out what runs in the kernel or a hypervisor. */
  readonly userOnly: boolean;
}

/** A counter's reading. It was multiplexed if it ran for less time than it was enabled. */
export interface PerfCount {
  readonly raw: number;
  readonly enabledNs: number;
  readonly runningNs: number;
}

/** The system calls, which tests replace. */
export interface PerfCalls {
  /** A descriptor, or the negative errno. */
  readonly open: (request: PerfRequest) => number;
  /** null: the kernel gives nothing (the event has been revoked). */
  readonly read: (fd: number) => PerfCount | null;
  /** Starts a leader and its group. */
  readonly enable: (fd: number) => void;
  readonly close: (fd: number) => void;
}

/** Number of the system call perf_event_open, by process.arch. */
const SYSCALL_NUMBER: Readonly<Record<string, number>> = {
  x64: 298,
  arm64: 241,
  ppc64: 319,
  riscv64: 241,
  s390x: 331,
  loong64: 241,
};

/** Size of struct perf_event_attr up to config2 (PERF_ATTR_SIZE_VER1, Linux 2.6.39); kernels take the rest as zero. */
const ATTRIBUTE_BYTES = 72;
const FORMAT_TOTAL_TIME_ENABLED = 1n;
const FORMAT_TOTAL_TIME_RUNNING = 2n;
const FLAG = { disabled: 0, inherit: 1, exclude_kernel: 5, exclude_hv: 6 } as const;
const OPEN_CLOEXEC = 8;
const COUNT_BYTES = 24;

const IOCTL_GROUP = 1;
/** _IO('$', 0); _IOC_NONE is 1 rather than 0 on POWER. */
const ioctlEnable = (arch: string): number => (arch === 'ppc64' ? 0x20002400 : 0x2400);

const ENOSYS = 38;
const NO_ERRNO = 22;

/**
 * The struct perf_event_attr of a request, in the given byte order. Its flags are C bit fields of a 64-bit word, which
 * big-endian compilers fill from the top.
 */
export function packAttributes(request: PerfRequest, order: 'LE' | 'BE' = endianness()): Buffer {
  const bytes = Buffer.alloc(ATTRIBUTE_BYTES);
  const put32 = (value: number, at: number): unknown =>
    order === 'LE' ? bytes.writeUInt32LE(value, at) : bytes.writeUInt32BE(value, at);
  const put64 = (value: bigint, at: number): unknown =>
    order === 'LE' ? bytes.writeBigUInt64LE(value, at) : bytes.writeBigUInt64BE(value, at);
  const flag = (name: keyof typeof FLAG, set: boolean): bigint =>
    set ? 1n << BigInt(order === 'LE' ? FLAG[name] : 63 - FLAG[name]) : 0n;
  put32(request.type, 0);
  put32(ATTRIBUTE_BYTES, 4);
  put64(BigInt.asUintN(64, request.config), 8);
  put64(FORMAT_TOTAL_TIME_ENABLED | FORMAT_TOTAL_TIME_RUNNING, 32);
  put64(
    flag('disabled', request.disabled) |
      flag('inherit', request.inherit) |
      flag('exclude_kernel', request.userOnly) |
      flag('exclude_hv', request.userOnly),
    40,
  );
  put64(BigInt.asUintN(64, request.config1), 56);
  put64(BigInt.asUintN(64, request.config2), 64);
  return bytes;
}

/** What read(2) on a counter returned; null: not a whole count. Above 2^53 the last digits are lost. */
export function unpackCount(bytes: Buffer, length: number, order: 'LE' | 'BE' = endianness()): PerfCount | null {
  if (length !== COUNT_BYTES) return null;
  const low = order === 'LE' ? 0 : 4;
  const word = (at: number): number => {
    const read = (offset: number): number =>
      order === 'LE' ? bytes.readUInt32LE(at + offset) : bytes.readUInt32BE(at + offset);
    return read(4 - low) * 0x1_0000_0000 + read(low);
  };
  return { raw: word(0), enabledNs: word(8), runningNs: word(16) };
}

interface CLibrary {
  readonly perfEventOpen: (attributes: Buffer, pid: number, cpu: number, group: number, flags: number) => number;
  readonly ioctl: (fd: number, request: number, argument: number) => number;
}

let loaded: CLibrary | undefined;

function cLibrary(): CLibrary {
  if (loaded !== undefined) return loaded;
  const koffi = loadKoffi();
  const library = koffi.load('libc.so.6');
  const syscall = library.func('long syscall(long number, ...)') as (number: number, ...rest: unknown[]) => number;
  const ioctl = library.func('int ioctl(int fd, unsigned long request, ...)') as (
    fd: number,
    request: number,
    ...rest: unknown[]
  ) => number;
  loaded = {
    perfEventOpen: (attributes, pid, cpu, group, flags) => {
      const number = SYSCALL_NUMBER[process.arch];
      if (number === undefined) return -ENOSYS;
      const words = ['void *', attributes, 'int', pid, 'int', cpu, 'int', group, 'ulong', flags];
      const fd = syscall(number, ...words);
      return fd >= 0 ? fd : -(koffi.errno() || NO_ERRNO);
    },
    ioctl: (fd, request, argument) => ioctl(fd, request, 'ulong', argument),
  };
  return loaded;
}

const countBuffer = Buffer.alloc(COUNT_BYTES);

export const perfCalls: PerfCalls = {
  open: (request) =>
    cLibrary().perfEventOpen(packAttributes(request), request.pid, request.cpu, request.group, OPEN_CLOEXEC),
  read: (fd) => {
    try {
      return unpackCount(countBuffer, readSync(fd, countBuffer, 0, COUNT_BYTES, null));
    } catch {
      return null;
    }
  },
  enable: (fd) => void cLibrary().ioctl(fd, ioctlEnable(process.arch), IOCTL_GROUP),
  close: (fd) => {
    try {
      closeSync(fd);
    } catch {
      // Nobody else closes it, and nothing can be done about a descriptor that the kernel doesn't know.
    }
  },
};

/** A counter for all that happens on one CPU (RAPL's "power" PMU and the like): raw counts since it was opened. */
interface CpuCounter {
  /** The count; the last known one if the kernel gives nothing (the CPU is offline). Never throws. */
  readonly read: () => number;
  readonly close: () => void;
}

/** Opens event `config` of PMU `type` on one CPU for all processes. Needs CAP_PERFMON or perf_event_paranoid <= 0. */
export function openCpuCounter(
  type: number,
  config: number | bigint,
  cpu: number,
  calls: PerfCalls = perfCalls,
): CpuCounter | PerfRefusal {
  const fd = calls.open({
    type,
    config: BigInt(config),
    config1: 0n,
    config2: 0n,
    pid: -1,
    cpu,
    group: -1,
    inherit: false,
    disabled: false,
    userOnly: false,
  });
  if (fd < 0) return explainPerfError(-fd, `perf event ${type}:0x${config.toString(16)} on CPU ${cpu}`);
  let last = 0;
  return { read: () => (last = calls.read(fd)?.raw ?? last), close: () => calls.close(fd) };
}
