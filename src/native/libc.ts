import { closeSync, openSync } from 'node:fs';
import { loadKoffi } from './koffi';
import { UserError } from '../base/user-error';

const koffi = loadKoffi();

/**
 * The few C library calls that Node does not offer. Loading costs about 6 ms, so callers import this lazily.
 * Functions throw LibcError.
 */

export class LibcError extends UserError {
  constructor(
    readonly call: string,
    readonly errno: number,
  ) {
    super(`${call} failed: errno ${errno}`);
  }
}

export const library = koffi.load('libc.so.6');

const rlimit = koffi.struct({ current: 'uint64', maximum: 'uint64' });
const rusage = koffi.struct({
  utimeSeconds: 'int64',
  utimeMicros: 'int64',
  stimeSeconds: 'int64',
  stimeMicros: 'int64',
  maxrssKib: 'int64',
  /** Shared, unshared and stack sizes: 0 on Linux. */
  sizes: koffi.array('int64', 3),
  minorFaults: 'int64',
  rest: koffi.array('int64', 9),
});

const cFlock = library.func('int flock(int fd, int operation)') as (fd: number, operation: number) => number;
const cFsetxattr = library.func('int fsetxattr(int fd, const char *name, void *value, size_t size, int flags)') as (
  fd: number,
  name: string,
  value: Buffer,
  size: number,
  flags: number,
) => number;
const cLseek = library.func('int64 lseek(int fd, int64 offset, int whence)') as (
  fd: number,
  offset: number,
  whence: number,
) => number;
const cMkfifo = library.func('int mkfifo(const char *path, uint32_t mode)') as (path: string, mode: number) => number;
const cGetrlimit = library.func('getrlimit', 'int', ['int', koffi.out(koffi.pointer(rlimit))]) as (
  resource: number,
  limit: Record<string, unknown>,
) => number;
const cSetrlimit = library.func('setrlimit', 'int', ['int', koffi.pointer(rlimit)]) as (
  resource: number,
  limit: { current: number | bigint; maximum: number | bigint },
) => number;
const cGetrusage = library.func('getrusage', 'int', ['int', koffi.out(koffi.pointer(rusage))]) as (
  who: number,
  usage: Record<string, unknown>,
) => number;
const cSchedSetaffinity = library.func('int sched_setaffinity(int pid, size_t size, void *mask)') as (
  pid: number,
  size: number,
  mask: Buffer,
) => number;
const cAdjtimex = library.func('int adjtimex(void *buffer)') as (buffer: Buffer) => number;
const cSyscall = library.func('long syscall(long number, ...)') as (number: number, ...rest: unknown[]) => number;

/** The result of a call, unless that is negative: throws LibcError. To be called at once, while errno is the call's. */
export function check(call: string, result: number): number {
  if (result < 0) throw new LibcError(call, koffi.errno());
  return result;
}

const LOCK_EX = 2;
const LOCK_NB = 4;
const EWOULDBLOCK = 11;

/** Takes an exclusive flock on an open descriptor without waiting; false when someone else holds it. */
export function tryLock(fd: number): boolean {
  if (cFlock(fd, LOCK_EX | LOCK_NB) === 0) return true;
  if (koffi.errno() === EWOULDBLOCK) return false;
  throw new LibcError('flock', koffi.errno());
}

/** Opens a file (made with 0600 if missing) and locks it. Returns its descriptor; null: someone else has the lock. */
export function lockFile(path: string): number | null {
  const file = openSync(path, 'a', 0o600);
  try {
    if (tryLock(file)) return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
  closeSync(file);
  return null;
}

/** An access control list for the kernel has a version, then tag, right and id of each entry (posix_acl_xattr.h). */
const ACL_VERSION = 2;
const NO_ID = 0xffffffff;

/** Lets only a user and the owner read an open file (acl(5)). Throws LibcError if the file system has no such lists. */
export function letRead(fd: number, uid: number): void {
  const READ = 4;
  const list = Buffer.alloc(4 + 5 * 8);
  let at = list.writeUInt32LE(ACL_VERSION);
  for (const [tag, right, id] of [
    [0x01, READ, NO_ID],
    [0x02, READ, uid],
    // The file's group, the mask (most rights of users and groups), and all others.
    [0x04, 0, NO_ID],
    [0x10, READ, NO_ID],
    [0x20, 0, NO_ID],
  ] as const) {
    at = list.writeUInt16LE(tag, at);
    at = list.writeUInt16LE(right, at);
    at = list.writeUInt32LE(id, at);
  }
  check('fsetxattr', cFsetxattr(fd, 'system.posix_acl_access', list, list.length, 0));
}

const SEEK_END = 2;

/** Moves an open descriptor to the end of the file. */
export function seekToEnd(fd: number): void {
  check('lseek', cLseek(fd, 0, SEEK_END));
}

/** Creates a FIFO. */
export function makeFifo(path: string, mode: number): void {
  check('mkfifo', cMkfifo(path, mode));
}

/** Linux numbers of the limits that matter to the sampler. */
export const Rlimit = { CPU: 0, FSIZE: 1, DATA: 2, NOFILE: 7, AS: 9 } as const;

const INFINITY_RLIM = 0xffffffffffffffffn;

/** Soft and hard limit in the kernel's unit (bytes, seconds, count); Infinity: none. */
export function resourceLimit(resource: number): { readonly soft: number; readonly hard: number } {
  const limit: Record<string, unknown> = {};
  check('getrlimit', cGetrlimit(resource, limit));
  const finite = (value: unknown): number => {
    const number = BigInt(value as number | bigint);
    return number === INFINITY_RLIM ? Infinity : Number(number);
  };
  return { soft: finite(limit.current), hard: finite(limit.maximum) };
}

/** Raises the soft limit to the hard one, as any process may. */
export function raiseSoftLimit(resource: number): void {
  const limit: Record<string, unknown> = {};
  check('getrlimit', cGetrlimit(resource, limit));
  const maximum = limit.maximum as number | bigint;
  check('setrlimit', cSetrlimit(resource, { current: maximum, maximum }));
}

/** CPU time (s), largest resident set (bytes) and minor page faults of the children that were waited for. */
export function childrenUsage(): {
  readonly utime: number;
  readonly stime: number;
  readonly maxrss: number;
  readonly minorFaults: number;
} {
  const usage: Record<string, unknown> = {};
  const RUSAGE_CHILDREN = -1;
  check('getrusage', cGetrusage(RUSAGE_CHILDREN, usage));
  return {
    utime: Number(usage.utimeSeconds) + Number(usage.utimeMicros) / 1e6,
    stime: Number(usage.stimeSeconds) + Number(usage.stimeMicros) / 1e6,
    maxrss: Number(usage.maxrssKib) * 1024,
    minorFaults: Number(usage.minorFaults),
  };
}

/** Lets the calling thread, and what it starts, run on every CPU of its cpuset. */
export function useEveryCpu(): void {
  check('sched_setaffinity', cSchedSetaffinity(0, 128, Buffer.alloc(128, 0xff)));
}

const KCMP_NUMBER: Readonly<Record<string, number>> = { x64: 312, arm64: 272, ppc64: 354, riscv64: 272, s390x: 343 };
const KCMP_VM = 1;

/** Whether two processes share one address space (kcmp(2)); null: the kernel doesn't tell. */
export function sharesAddressSpace(pid: number, other: number): boolean | null {
  const number = KCMP_NUMBER[process.arch];
  if (number === undefined) return null;
  const result = cSyscall(number, 'int', pid, 'int', other, 'int', KCMP_VM, 'ulong', 0, 'ulong', 0);
  return result < 0 ? null : result === 0;
}

/** Size of struct timex with 64-bit longs. `modes` 0 only reads; the result is the clock's state. */
const TIMEX_BYTES = 208;
/** TIME_ERROR: the clock was never synchronised. */
const TIME_ERROR = 5;

/** Whether a time service keeps this machine's clock right; null: adjtimex(2) fails. */
export function clockIsSynchronised(): boolean | null {
  const state = cAdjtimex(Buffer.alloc(TIMEX_BYTES));
  return state < 0 ? null : state !== TIME_ERROR;
}
