/** Start of the hash that a `ByteStrings` takes; continue it with `hashByte` for each byte of the run. */
export const HASH_START = 17;

/** One step of the hash: cheap, and spreads runs that differ in their last digits. */
export const hashByte = (hash: number, byte: number): number => (hash * 31 + byte) & 0xffffff;

type ByteStrings = (bytes: Buffer, from: number, to: number, hash: number) => string;

/** Neighbouring slots that a run may lie in: with one, two names that share a slot would push each other out for ever. */
const WAYS = 4;

/**
 * A cache from short runs of bytes to their strings: names and values repeat a thousand times in one answer, and to
 * make a string costs more than to compare the bytes. `slots` is a power of two; a slot holds the latest run that fell
 * into it, so the size is fixed whatever the input is. Runs longer than `width` (below 255) are made afresh.
 */
export function byteStrings(
  slots: number,
  width: number,
  make: (bytes: Buffer, from: number, to: number) => string,
): ByteStrings {
  const keys = new Uint8Array(slots * width);
  const lengths = new Uint8Array(slots).fill(255);
  const strings = new Array<string>(slots).fill('');
  let victim = 0;
  return (bytes, from, to, hash) => {
    const length = to - from;
    if (length > width) return make(bytes, from, to);
    const home = (hash ^ (hash >>> 12)) & (slots - WAYS);
    for (let slot = home; slot < home + WAYS; slot++) {
      if (lengths[slot] !== length) continue;
      const key = slot * width;
      let index = 0;
      while (index < length && keys[key + index] === bytes[from + index]) index++;
      if (index === length) return strings[slot] as string;
    }
    const made = make(bytes, from, to);
    victim = (victim + 1) & (WAYS - 1);
    const slot = home + victim;
    for (let index = 0; index < length; index++) keys[slot * width + index] = bytes[from + index] as number;
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
