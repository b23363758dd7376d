/** A UTF-16 code unit takes at most this many bytes in UTF-8. */
const MOST = 3;

/** Collects texts as UTF-8, always in the same memory: allocating memory takes longer than filling it. */
export class TextBytes {
  #memory: Buffer;
  #length = 0;

  constructor(memory: ArrayBuffer = new ArrayBuffer(0)) {
    this.#memory = Buffer.from(memory);
  }

  add(text: string): void {
    const needed = this.#length + MOST * text.length;
    if (needed > this.#memory.length) {
      const larger = Buffer.from(new ArrayBuffer(2 * needed));
      this.#memory.copy(larger, 0, 0, this.#length);
      this.#memory = larger;
    }
    this.#length += this.#memory.write(text, this.#length);
  }

  /** The bytes added since the last call; valid until the next `add`. */
  taken(): Uint8Array {
    const bytes = this.#memory.subarray(0, this.#length);
    this.#length = 0;
    return bytes;
  }
}
