/** Non-negative integers below 2^53, seven bits a byte, the lowest first; the high bit says that more follow. */
export function packVarints(values: readonly number[]): Buffer {
  const bytes: number[] = [];
  for (const value of values) {
    let rest = Math.max(0, Math.round(value));
    while (rest >= 0x80) {
      bytes.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    bytes.push(rest);
  }
  return Buffer.from(bytes);
}

/** The integers of packVarints; a truncated last one is left out. */
export function unpackVarints(packed: Buffer): number[] {
  const values: number[] = [];
  let value = 0;
  let scale = 1;
  for (const byte of packed) {
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) {
      values.push(value);
      value = 0;
      scale = 1;
    } else scale *= 0x80;
  }
  return values;
}
