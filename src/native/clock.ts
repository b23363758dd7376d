import { loadKoffi } from './koffi';

const koffi = loadKoffi();

const library = koffi.load('libc.so.6');
const cAdjtimex = library.func('int adjtimex(void *buffer)') as (buffer: Buffer) => number;

/** Size of struct timex with 64-bit longs. `modes` 0 only reads; the result is the clock's state. */
const TIMEX_BYTES = 208;
/** TIME_ERROR: the clock was never synchronised. */
const TIME_ERROR = 5;

/** Whether a time service keeps this machine's clock right; null: adjtimex(2) fails. */
export function clockIsSynchronised(): boolean | null {
  const state = cAdjtimex(Buffer.alloc(TIMEX_BYTES));
  return state < 0 ? null : state !== TIME_ERROR;
}
