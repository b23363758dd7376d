import { reasonOf } from '../base/user-error';
import type * as Koffi from 'koffi' with { 'resolution-mode': 'import' };
import { loadKoffi } from './koffi';

/** Loads libnvidia-ml and calls its functions. Every failure is a value. */

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

export interface NvmlFailure {
  /** The call that failed. */
  readonly failed: string;
  readonly code: number;
  /** The library's message for that code. */
  readonly why: string;
}

export type NvmlResult<T> = T | NvmlFailure;

export function isFailure(result: unknown): result is NvmlFailure {
  return typeof result === 'object' && result !== null && 'failed' in result;
}

/** What `use` makes of a result; a failure is passed on. */
export function mapResult<A, B>(result: NvmlResult<A>, use: (value: A) => B): NvmlResult<B> {
  return isFailure(result) ? result : use(result);
}

export type Call = (...values: readonly unknown[]) => number;

/** Text up to its zero byte. */
export const terminated = (bytes: Buffer): string => {
  const end = bytes.indexOf(0);
  return bytes.toString('latin1', 0, end < 0 ? bytes.length : end);
};

const MOST_ENTRIES = 65536;
const FIRST_ENTRIES = 64;

/** Asks for a list. `count`: on entry the room, on return the number of entries. */
type ListCall = (count: Buffer, entries: Buffer) => number;

const loaded = new Map<string, NvmlLibrary>();

/** The library's functions; an older driver's library has fewer. */
export class NvmlLibrary {
  private readonly functions = new Map<string, Call | null>();
  private readonly errorString: ((code: number) => string | null) | null;

  private constructor(private readonly library: Koffi.LibraryHandle) {
    try {
      this.errorString = library.func('const char *nvmlErrorString(int code)') as (code: number) => string | null;
    } catch {
      this.errorString = null;
    }
  }

  /** Loads the library, once per process and path, however often it is initialised. */
  static load(path: string): NvmlResult<NvmlLibrary> {
    const before = loaded.get(path);
    if (before !== undefined) return before;
    // Loaded only here, since most hosts have no GPU.
    const koffi = loadKoffi();
    try {
      const library = new NvmlLibrary(koffi.load(path));
      loaded.set(path, library);
      return library;
    } catch (error) {
      const why = reasonOf(error);
      return { failed: 'dlopen', code: NvmlCode.LIBRARY_NOT_FOUND, why: `${path}: ${why}` };
    }
  }

  /** A function of the library; null: it has no such function. `parameters`: in C. */
  find(name: string, parameters: string): Call | null {
    const known = this.functions.get(name);
    if (known !== undefined) return known;
    let call: Call | null = null;
    try {
      call = this.library.func(`int ${name}(${parameters})`) as Call;
    } catch {
      // An older driver's library.
    }
    this.functions.set(name, call);
    return call;
  }

  failure(failed: string, code: number): NvmlFailure {
    return { failed, code, why: this.errorString?.(code) || `NVML error ${code}` };
  }

  /** Calls a function; fails with FUNCTION_NOT_FOUND if the library lacks it. */
  call(name: string, parameters: string, ...values: readonly unknown[]): NvmlResult<null> {
    const call = this.find(name, parameters);
    if (call === null) return absent(name);
    const code = call(...values);
    return code === 0 ? null : this.failure(name, code);
  }

  /** Calls a function with a last argument to which it writes its answer; returns that buffer. */
  answer(name: string, parameters: string, before: readonly unknown[], bytes: Buffer): NvmlResult<Buffer> {
    return mapResult(this.call(name, parameters, ...before, bytes), () => bytes);
  }

  /** Asks for a list of unknown length, again with more room as long as the library needs more. */
  list(
    name: string,
    entryBytes: number,
    call: ListCall,
  ): NvmlResult<{ readonly count: number; readonly bytes: Buffer }> {
    const count = Buffer.alloc(4);
    for (let room = FIRST_ENTRIES; ;) {
      const bytes = Buffer.alloc(room * entryBytes);
      count.writeUInt32LE(room);
      const code = call(count, bytes);
      const length = count.readUInt32LE();
      if (code === 0) return { count: Math.min(length, room), bytes };
      // The library's answer, too, if no sample is newer than the last one.
      if (code === NvmlCode.NOT_FOUND) return { count: 0, bytes };
      if (code !== NvmlCode.INSUFFICIENT_SIZE || room >= MOST_ENTRIES) return this.failure(name, code);
      // More processes may have started meanwhile.
      room = Math.min(MOST_ENTRIES, Math.max(room * 2, length + 16));
    }
  }
}

export function absent(name: string): NvmlFailure {
  return { failed: name, code: NvmlCode.FUNCTION_NOT_FOUND, why: 'not in this version of the library' };
}
