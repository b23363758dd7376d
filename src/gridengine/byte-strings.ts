/** Start of the hash that a `ByteStrings` takes; continue it with `hashByte` for each byte of the run. */
export const HASH_START = 17;

/** One step of the hash: cheap, and spreads runs that differ in their last digits. */
export const hashByte = (hash: number, byte: number): number => (Math.imul(hash, 31) + byte) | 0;

export type ByteStrings = (bytes: Buffer, from: number, to: number, hash: number) => string;

/**
 * A cache from short runs of bytes to their strings: names and values repeat a thousand times in one answer, and to
 * make a string costs more than to compare the bytes. `slots` is a power of two; a slot holds the latest run that fell
 * into it, so the size is fixed whatever the input is. Runs longer than `width` (below 256) are made afresh.
 */
export function byteStrings(
  slots: number,
  width: number,
  make: (bytes: Buffer, from: number, to: number) => string,
): ByteStrings {
  const keys = new Uint8Array(slots * width);
  const lengths = new Uint8Array(slots).fill(255);
  const strings = new Array<string>(slots).fill('');
  return (bytes, from, to, hash) => {
    const length = to - from;
    if (length > width) return make(bytes, from, to);
    const slot = (hash ^ (hash >>> 15)) & (slots - 1);
    const key = slot * width;
    let same = lengths[slot] === length;
    for (let index = 0; same && index < length; index++) same = keys[key + index] === bytes[from + index];
    if (same) return strings[slot] as string;
    const made = make(bytes, from, to);
    for (let index = 0; index < length; index++) keys[key + index] = bytes[from + index] as number;
    lengths[slot] = length;
    strings[slot] = made;
    return made;
  };
}

/**
 * The same text as the engine's one copy of it, so that comparing it with a literal compares pointers.
 */
export function internalised(text: string): string {
  return Object.keys({ [text]: 0 })[0] as string;
}
