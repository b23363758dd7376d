import { afterByte, readNumber } from './scan';

/** `/proc/PID/statm`, in pages. */
export interface Statm {
  readonly size: number;
  readonly resident: number;
}

/** Parses the first `length` bytes of `text`; null when they are not a statm line (all zero: no address space). */
export function parseStatm(text: Buffer, length: number): Statm | null {
  const second = afterByte(text, 0x20, 0, length);
  if (second < 0) return null;
  return { size: readNumber(text, 0, length), resident: readNumber(text, second, length) };
}
