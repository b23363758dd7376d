/** Bytes of a UTF-16 unit in UTF-8 at most. */
const MOST = 3;

/** Texts as UTF-8 in the same memory again and again: to be given new memory takes longer than to fill it. */
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

  /** What has been added; gone with what is added next. */
  taken(): Uint8Array {
    const bytes = this.#memory.subarray(0, this.#length);
    this.#length = 0;
    return bytes;
  }
}
