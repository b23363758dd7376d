import { readNumber } from './scan';

/** `/proc/PID/io` in bytes: the process, and every child that it has waited for. */
export interface ProcessIo {
  readonly readChars: number;
  readonly writtenChars: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
}

function line(text: Buffer, length: number, key: string): number | null {
  const position = text.indexOf(key, 0, 'latin1');
  return position < 0 || position >= length ? null : readNumber(text, position + key.length, length);
}

/** Parses the first `length` bytes of `text`; null when a line is missing. */
export function parseIo(text: Buffer, length: number): ProcessIo | null {
  const readChars = line(text, length, 'rchar:');
  const writtenChars = line(text, length, 'wchar:');
  const readBytes = line(text, length, '\nread_bytes:');
  const writtenBytes = line(text, length, '\nwrite_bytes:');
  if (readChars === null || writtenChars === null || readBytes === null || writtenBytes === null) return null;
  return { readChars, writtenChars, readBytes, writtenBytes };
}
