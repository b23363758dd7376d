/** Bytes of a text or tag that goes on in the next piece of a stream; bytes beyond the limit are counted, not kept. */
interface HeldBytes {
  add(bytes: Uint8Array, from: number, to: number): void;
  clear(): void;
  /** Takes the last `count` bytes of all away again. */
  drop(count: number): void;
  /** All bytes since `clear`, also those that were not kept. */
  total(): number;
  /** How many are kept: at most the limit. */
  kept(): number;
  /** A buffer that begins with the kept bytes; valid until the next `add`. */
  bytes(): Buffer;
}

export function heldBytes(limit: number): HeldBytes {
  let buffer: Buffer = Buffer.alloc(0);
  let total = 0;
  return {
    add(bytes, from, to) {
      const taken = Math.min(limit - total, to - from);
      if (taken > 0) {
        if (buffer.length < total + taken) buffer = larger(buffer, total, Math.min(limit, total + taken), limit);
        buffer.set(bytes.subarray(from, from + taken), total);
      }
      total += to - from;
    },
    clear() {
      total = 0;
    },
    drop(count) {
      total -= count;
    },
    total: () => total,
    kept: () => Math.min(total, limit),
    bytes: () => buffer,
  };
}

function larger(buffer: Buffer, used: number, needed: number, limit: number): Buffer {
  // Not from the pool: one kept byte of it would keep the whole pool.
  const grown = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(256, needed, buffer.length * 2)));
  grown.set(buffer.subarray(0, used));
  return grown;
}
