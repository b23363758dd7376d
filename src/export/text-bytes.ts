/** Bytes of a UTF-16 unit in UTF-8 at most. */
const MOST = 3;

/** Texts as UTF-8 in the same memory again and again: to be given new memory takes ten times as long as to fill it. */
export class TextBytes {
  #memory: Buffer;

  constructor(memory: ArrayBuffer = new ArrayBuffer(0)) {
    this.#memory = Buffer.from(memory);
  }

  /** They are gone with the next text. */
  bytesOf(text: string): Uint8Array {
    if (this.#memory.length < MOST * text.length) this.#memory = Buffer.from(new ArrayBuffer(MOST * text.length));
    return this.#memory.subarray(0, this.#memory.write(text));
  }
}
