/** Byte-level helpers for procfs text: no strings are made, because these run for every process at every tick. */

const ZERO = 0x30;
const SPACE = 0x20;

/** Unsigned decimal number at `offset` (leading blanks skipped); stops at the first other byte. */
export function readNumber(text: Buffer, offset: number, end: number): number {
  let position = offset;
  while (position < end && (text[position] === SPACE || text[position] === 0x09)) position++;
  let value = 0;
  while (position < end) {
    const digit = (text[position] as number) - ZERO;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
    position++;
  }
  return value;
}

/** Offset just after the next `byte` at or after `offset`; -1 when there is none before `end`. */
export function afterByte(text: Buffer, byte: number, offset: number, end: number): number {
  let position = offset;
  while (position < end) if (text[position++] === byte) return position;
  return -1;
}
