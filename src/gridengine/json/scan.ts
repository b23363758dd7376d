import { byteStrings, HASH_START, hashByte, internalised } from '../byte-strings';
import { bytesToNumber, textToNumber } from '../bytes-to-number';
import { bytesToText, wholeCharacters } from '../bytes-to-text';
import { heldBytes } from '../held-bytes';
import { unescapeJson } from './unescape';

/** A value that the handler is called for; valid during that call only. Nothing is decoded unless it is asked for. */
export interface JsonValue {
  /** The string, or a number, `true`, `null` as it is written. At most TEXT_LIMIT bytes of it. */
  text(): string;
  /** That text as a decimal number; NaN if it is none. */
  number(): number;
  /** It stood in quotes. */
  readonly isString: boolean;
}

/** `key` is the member's name; empty for the elements of an array and for the whole document. */
export interface JsonHandler {
  /** `{` or `[`. */
  open(key: string): void;
  /** `}` or `]`, with the key that was given to `open`. */
  close(key: string): void;
  value(key: string, value: JsonValue): void;
}

/** Bytes kept of one string; the rest of it is passed over. */
export const TEXT_LIMIT = 1 << 20;
/** Objects and arrays nested deeper than this are passed over, with all that is in them. */
export const DEPTH_LIMIT = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** `between` values, in a `string`, behind a backslash in one, in a `bare` number or word, behind a comma in one. */
type Mode = 'between' | 'string' | 'escape' | 'bare' | 'comma';

/**
 * Reads what Open Cluster Scheduler prints as JSON, in any pieces and in bounded memory; never throws. No tree, no
 * check: commas and colons are passed over, since OCS 9.2 leaves out the one between two jobs of `qstat -j`.
 *
 * Beyond JSON it takes bare words (`nan`, and `1-5:2,8`, as OCS prints the tasks of an array), raw control characters,
 * and bytes that are no UTF-8 (Latin-1, decided for each string). Keys are strings that compare by pointer.
 */
export class JsonScanner implements JsonValue {
  isString = false;
  private readonly keyAt = byteStrings(1024, 64, (bytes, from, to) => internalised(decode(bytes, from, to)));
  private readonly shortText = byteStrings(4096, 32, decode);
  private mode: Mode = 'between';
  private position = 0;
  /** Of the objects and arrays that are open: their keys, and whether they are objects. */
  private readonly keys: string[] = [];
  private readonly objects: boolean[] = [];
  private tooDeep = 0;
  /** The key whose value comes next; null: in an object, the next string is a key. */
  private key: string | null = '';
  private readonly held = heldBytes(TEXT_LIMIT);
  private textOf: Buffer = Buffer.alloc(0);
  private textFrom = 0;
  private textTo = 0;

  constructor(private readonly handler: JsonHandler) {}

  /** The next piece of the document. */
  write(piece: Uint8Array): void {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const length = bytes.length;
    this.position = 0;
    while (this.position < length) {
      if (this.mode === 'between') this.readBetween(bytes, length);
      else if (this.mode === 'string') this.readString(bytes, length);
      else if (this.mode === 'bare') this.readBare(bytes, length);
      else if (this.mode === 'comma') this.readComma(bytes);
      else {
        this.held.add(bytes, this.position, this.position + 1);
        this.position++;
        this.mode = 'string';
      }
    }
  }

  /** The input is over. */
  end(): void {
    if (this.mode === 'bare' || this.mode === 'comma') this.report(this.textOf, 0, 0, false);
    this.mode = 'between';
  }

  text(): string {
    const { textOf, textFrom, textTo } = this;
    if (textTo - textFrom > 32) return decode(textOf, textFrom, textTo);
    return this.shortText(textOf, textFrom, textTo, hashOf(textOf, textFrom, textTo));
  }

  number(): number {
    const number = bytesToNumber(this.textOf, this.textFrom, this.textTo);
    return Number.isNaN(number) ? textToNumber(this.text()) : number;
  }

  private open(isObject: boolean): void {
    if (this.keys.length === DEPTH_LIMIT || this.tooDeep > 0) {
      this.tooDeep++;
      return;
    }
    const name = this.key ?? '';
    this.keys.push(name);
    this.objects.push(isObject);
    this.key = isObject ? null : '';
    this.handler.open(name);
  }

  private close(): void {
    if (this.tooDeep > 0) {
      this.tooDeep--;
      return;
    }
    const name = this.keys.pop();
    this.objects.pop();
    this.afterValue();
    if (name !== undefined) this.handler.close(name);
  }

  private afterValue(): void {
    this.key = this.objects.at(-1) === true ? null : '';
  }

  /** The text that ends at `to` is complete. */
  private report(bytes: Buffer, from: number, to: number, isString: boolean): void {
    if (this.held.total() > 0) {
      this.held.add(bytes, from, to);
      this.textOf = this.held.bytes();
      this.textFrom = 0;
      this.textTo = this.held.total();
    } else {
      this.textOf = bytes;
      this.textFrom = from;
      this.textTo = to;
    }
    if (this.textTo - this.textFrom > TEXT_LIMIT)
      this.textTo = wholeCharacters(this.textOf, this.textFrom, this.textFrom + TEXT_LIMIT);
    if (this.tooDeep === 0) {
      if (this.key === null) {
        if (isString)
          this.key = this.keyAt(
            this.textOf,
            this.textFrom,
            this.textTo,
            hashOf(this.textOf, this.textFrom, this.textTo),
          );
      } else {
        const name = this.key;
        this.afterValue();
        this.isString = isString;
        this.handler.value(name, this);
      }
    }
    this.held.clear();
  }

  private readBetween(bytes: Buffer, length: number): void {
    for (; this.position < length; this.position++) {
      const byte = bytes[this.position] as number;
      if (byte <= 0x20 || byte === COMMA || byte === COLON) continue;
      if (byte === QUOTE) {
        this.position++;
        this.mode = 'string';
        return;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.open(byte === OPEN_BRACE);
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.close();
      else {
        this.mode = 'bare';
        return;
      }
    }
  }

  private readString(bytes: Buffer, length: number): void {
    const from = this.position;
    let at = from;
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.position = at + 1;
        this.mode = 'between';
        this.report(bytes, from, at, true);
        return;
      }
      if (byte === BACKSLASH && ++at === length) {
        this.mode = 'escape';
        break;
      }
    }
    this.held.add(bytes, from, length);
    this.position = length;
  }

  private readBare(bytes: Buffer, length: number): void {
    const from = this.position;
    let at = from;
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (byte === COMMA && this.objects.at(-1) === true) {
        this.held.add(bytes, from, at);
        this.position = at + 1;
        this.mode = 'comma';
        return;
      }
      if (byte <= 0x20 || byte === COMMA || byte === QUOTE || isBracket(byte)) {
        this.position = at;
        this.mode = 'between';
        this.report(bytes, from, at, false);
        return;
      }
    }
    this.held.add(bytes, from, length);
    this.position = length;
  }

  /** In an object a comma must be followed by a this.key, so one with a digit behind it is part of the word. */
  private readComma(bytes: Buffer): void {
    const byte = bytes[this.position] as number;
    if (byte >= 0x30 && byte <= 0x39) {
      this.held.add(SEPARATOR, 0, 1);
      this.mode = 'bare';
    } else {
      this.mode = 'between';
      this.report(bytes, 0, 0, false);
    }
  }
}

const SEPARATOR = Buffer.from(',');

const isBracket = (byte: number): boolean =>
  byte === OPEN_BRACE || byte === CLOSE_BRACE || byte === OPEN_BRACKET || byte === CLOSE_BRACKET;

function hashOf(bytes: Buffer, from: number, to: number): number {
  let hash = HASH_START;
  if (to - from <= 64) for (let at = from; at < to; at++) hash = hashByte(hash, bytes[at] as number);
  return hash;
}

function decode(bytes: Buffer, from: number, to: number): string {
  let special = false;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if (byte >= 0x80) return unescapeJson(bytesToText(bytes, from, to));
    if (byte === BACKSLASH) special = true;
  }
  const text = bytes.toString('latin1', from, to);
  return special ? unescapeJson(text) : text;
}
