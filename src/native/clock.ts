import { loadKoffi } from './koffi';

const koffi = loadKoffi();

const library = koffi.load('libc.so.6');
const cAdjtimex = library.func('int adjtimex(void *buffer)') as (buffer: Buffer) => number;

/** Of struct timex (208 bytes with 64-bit longs): modes 0 reads only; the state comes back as the result. */
const TIMEX_BYTES = 208;
/** TIME_ERROR: the clock was never synchronised. */
const TIME_ERROR = 5;

/** Whether a time service keeps this machine's clock right; null where that can't be asked. */
export function clockIsSynchronised(): boolean | null {
  const state = cAdjtimex(Buffer.alloc(TIMEX_BYTES));
  return state < 0 ? null : state !== TIME_ERROR;
}
