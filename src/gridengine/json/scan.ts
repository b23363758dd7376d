import { byteStrings, HASH_START, hashByte, internalised } from '../byte-strings';
import { bytesToNumber, textToNumber } from '../bytes-to-number';
import { bytesToText, wholeCharacters } from '../bytes-to-text';
import { heldBytes } from '../held-bytes';
import { unescapeJson } from './unescape';

/** A value that the handler is told of; valid during that call only. Nothing is decoded unless it is asked for. */
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

interface JsonScanner {
  write(piece: Uint8Array): void;
  end(): void;
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

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** `between` values, in a `string`, behind a backslash in one, in a `bare` number or word, behind a comma in one. */
type Mode = 'between' | 'string' | 'escape' | 'bare' | 'comma';

/**
 * Reads what Open Cluster Scheduler prints as JSON, in any pieces and in bounded memory; never throws. No tree, no
 * check: commas and colons are passed over, since OCS 9.2 leaves out the one between two jobs of `qstat -j`.
 *
 * Beyond JSON it takes bare words (`nan`, and `1-5:2,8`, as OCS prints the tasks of an array), raw control characters,
 * and bytes that are no UTF-8 (Latin-1, decided for each string). Keys are strings that compare by pointer.
 */
export function scanJson(handler: JsonHandler): JsonScanner {
  const keyAt = byteStrings(1024, 64, (bytes, from, to) => internalised(decode(bytes, from, to)));
  const shortText = byteStrings(4096, 32, decode);

  let mode: Mode = 'between';
  let position = 0;
  /** Of the objects and arrays that are open: their keys, and whether they are objects. */
  const keys: string[] = [];
  const objects: boolean[] = [];
  let tooDeep = 0;
  /** The key whose value comes next; null: in an object, the next string is a key. */
  let key: string | null = '';
  const held = heldBytes(TEXT_LIMIT);
  let textOf: Buffer = Buffer.alloc(0);
  let textFrom = 0;
  let textTo = 0;

  const value: Mutable<JsonValue> = {
    isString: false,
    text() {
      if (textTo - textFrom > 32) return decode(textOf, textFrom, textTo);
      return shortText(textOf, textFrom, textTo, hashOf(textOf, textFrom, textTo));
    },
    number() {
      const number = bytesToNumber(textOf, textFrom, textTo);
      return Number.isNaN(number) ? textToNumber(value.text()) : number;
    },
  };

  function open(isObject: boolean): void {
    if (keys.length === DEPTH_LIMIT || tooDeep > 0) {
      tooDeep++;
      return;
    }
    const name = key ?? '';
    keys.push(name);
    objects.push(isObject);
    key = isObject ? null : '';
    handler.open(name);
  }

  function close(): void {
    if (tooDeep > 0) {
      tooDeep--;
      return;
    }
    const name = keys.pop();
    objects.pop();
    afterValue();
    if (name !== undefined) handler.close(name);
  }

  function afterValue(): void {
    key = objects.at(-1) === true ? null : '';
  }

  /** The text that ends at `to` is complete. */
  function tell(bytes: Buffer, from: number, to: number, isString: boolean): void {
    if (held.total() > 0) {
      held.add(bytes, from, to);
      textOf = held.bytes();
      textFrom = 0;
      textTo = held.total();
    } else {
      textOf = bytes;
      textFrom = from;
      textTo = to;
    }
    if (textTo - textFrom > TEXT_LIMIT) textTo = wholeCharacters(textOf, textFrom, textFrom + TEXT_LIMIT);
    if (tooDeep === 0) {
      if (key === null) {
        if (isString) key = keyAt(textOf, textFrom, textTo, hashOf(textOf, textFrom, textTo));
      } else {
        const name = key;
        afterValue();
        value.isString = isString;
        handler.value(name, value);
      }
    }
    held.clear();
  }

  function readBetween(bytes: Buffer, length: number): void {
    for (; position < length; position++) {
      const byte = bytes[position] as number;
      if (byte <= 0x20 || byte === COMMA || byte === COLON) continue;
      if (byte === QUOTE) {
        position++;
        mode = 'string';
        return;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open(byte === OPEN_BRACE);
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) close();
      else {
        mode = 'bare';
        return;
      }
    }
  }

  function readString(bytes: Buffer, length: number): void {
    const from = position;
    let at = from;
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        position = at + 1;
        mode = 'between';
        tell(bytes, from, at, true);
        return;
      }
      if (byte === BACKSLASH && ++at === length) {
        mode = 'escape';
        break;
      }
    }
    held.add(bytes, from, length);
    position = length;
  }

  function readBare(bytes: Buffer, length: number): void {
    const from = position;
    let at = from;
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (byte === COMMA && objects.at(-1) === true) {
        held.add(bytes, from, at);
        position = at + 1;
        mode = 'comma';
        return;
      }
      if (byte <= 0x20 || byte === COMMA || byte === QUOTE || isBracket(byte)) {
        position = at;
        mode = 'between';
        tell(bytes, from, at, false);
        return;
      }
    }
    held.add(bytes, from, length);
    position = length;
  }

  /** In an object a comma must be followed by a key, so one with a digit behind it is part of the word. */
  function readComma(bytes: Buffer): void {
    const byte = bytes[position] as number;
    if (byte >= 0x30 && byte <= 0x39) {
      held.add(SEPARATOR, 0, 1);
      mode = 'bare';
    } else {
      mode = 'between';
      tell(bytes, 0, 0, false);
    }
  }

  return {
    write(piece) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      const length = bytes.length;
      position = 0;
      while (position < length) {
        if (mode === 'between') readBetween(bytes, length);
        else if (mode === 'string') readString(bytes, length);
        else if (mode === 'bare') readBare(bytes, length);
        else if (mode === 'comma') readComma(bytes);
        else {
          held.add(bytes, position, position + 1);
          position++;
          mode = 'string';
        }
      }
    },
    end() {
      if (mode === 'bare' || mode === 'comma') tell(textOf, 0, 0, false);
      mode = 'between';
    },
  };
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
