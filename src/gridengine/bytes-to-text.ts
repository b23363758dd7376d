import { isUtf8 } from 'node:buffer';

/**
 * Text of a run of bytes: UTF-8 where the run is valid as that, else Latin-1. Grid Engine declares no encoding and
 * prints names and arguments as they were submitted, so one document can hold both.
 */
export function bytesToText(bytes: Buffer, from: number, to: number): string {
  const run = bytes.subarray(from, to);
  return run.toString(isUtf8(run) ? 'utf8' : 'latin1');
}

/** `to`, moved back so that a run that was cut to a size does not end within a UTF-8 character. */
export function wholeCharacters(bytes: Uint8Array, from: number, to: number): number {
  let lead = to - 1;
  while (lead > from && to - lead < 4 && ((bytes[lead] as number) & 0xc0) === 0x80) lead--;
  const byte = lead < from ? 0 : (bytes[lead] as number);
  const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  return to - lead < needs ? lead : to;
}
