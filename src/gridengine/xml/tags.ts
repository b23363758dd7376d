import { HASH_START } from '../byte-strings';
import { bytesToText } from '../bytes-to-text';
import { decodeEntities } from './entities';

/** Bytes kept of one text; the rest of it is passed over. */
export const TEXT_LIMIT = 1 << 20;
/** Bytes kept of one tag with its attributes. */
export const TAG_LIMIT = 1 << 16;

export const LESS = 0x3c;
export const GREATER = 0x3e;
export const SLASH = 0x2f;
export const BANG = 0x21;
export const QUESTION = 0x3f;
export const DOUBLE = 0x22;
export const SINGLE = 0x27;
const EQUALS = 0x3d;
export const DASH = 0x2d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
const AMPERSAND = 0x26;
const PERCENT = 0x25;

/** 1: can be in a name. */
export const IN_NAME = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte > 0x20 && byte !== 0x7f && ![LESS, GREATER, SLASH, EQUALS, DOUBLE, SINGLE].includes(byte) ? 1 : 0,
);
/** 1: `<` with this byte behind it is a tag; with another it is text. `>` for the empty name, `/` for a closing tag. */
export const BEGINS_TAG = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 || byte === GREATER || byte === SLASH || /[A-Za-z_:]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** Numbers noted of a tag: where its `<` is, the end of its name, its `>`, the hash of its name. */
export const NOTE = 4;
/** Numbers noted at a time: few, so that the code that calls for them has run often by the time it is compiled. */
export const ROOM = 32 * NOTE;

/**
 * Notes the whole tags that follow, with the text before each, as many as there is room for; stops before the first tag
 * that is cut, or anything that is no tag. Returns how many numbers were noted.
 *
 * It makes no calls, and has the signs as numbers: so it is compiled within a few milliseconds, and only once. Most of
 * the time that 10,000 jobs take is spent here.
 */
export function noteTags(bytes: Buffer, from: number, length: number, notes: Int32Array): number {
  const inName = IN_NAME;
  const beginsTag = BEGINS_TAG;
  const room = notes.length;
  let count = 0;
  let at = from;
  while (count < room) {
    const before = at;
    while (at < length && bytes[at] !== 0x3c) at++;
    const less = at++;
    if (at >= length || beginsTag[bytes[at] as number] === 0) return count;
    if (bytes[at] === 0x2f) at++;
    let hash = HASH_START;
    while (at < length && inName[bytes[at] as number] === 1) hash = (hash * 31 + (bytes[at++] as number)) & 0xffffff;
    const nameTo = at;
    while (at < length && bytes[at] !== 0x3e) {
      const byte = bytes[at++] as number;
      if (byte === 0x3c) return count;
      if (byte === 0x22 || byte === 0x27) {
        while (at < length && bytes[at] !== byte) if (bytes[at++] === 0x3c) return count;
        at++;
      }
    }
    if (at >= length || at - less > TAG_LIMIT || less - before > TEXT_LIMIT) return count;
    notes[count] = less;
    notes[count + 1] = nameTo;
    notes[count + 2] = at++;
    notes[count + 3] = hash;
    count += NOTE;
  }
  return count;
}

export const isEmptyElement = (bytes: Buffer, nameTo: number, end: number): boolean =>
  bytes[end - 1] === SLASH && end > nameTo;

export const isText = (byte: number): boolean => BEGINS_TAG[byte] === 0 && byte !== BANG && byte !== QUESTION;

export function decode(bytes: Buffer, from: number, to: number): string {
  let special = false;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if (byte >= 0x80) return decodeEntities(bytesToText(bytes, from, to));
    if (byte === AMPERSAND || byte === PERCENT) special = true;
  }
  const text = bytes.toString('latin1', from, to);
  return special ? decodeEntities(text) : text;
}

const blank = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** The value of the first attribute of that name in `name = 'value' name="value"`; a value without quotes ends at a blank. */
export function findAttribute(
  bytes: Buffer,
  from: number,
  to: number,
  name: string,
  text: (bytes: Buffer, from: number, to: number) => string,
): string | null {
  let at = from;
  while (at < to) {
    if (IN_NAME[bytes[at] as number] === 0) {
      at++;
      continue;
    }
    const nameFrom = at;
    while (at < to && IN_NAME[bytes[at] as number] === 1) at++;
    const nameTo = at;
    while (at < to && blank(bytes[at] as number)) at++;
    if (at === to || bytes[at] !== EQUALS) {
      if (isName(bytes, nameFrom, nameTo, name)) return '';
      continue;
    }
    at++;
    while (at < to && blank(bytes[at] as number)) at++;
    const opening = at < to ? (bytes[at] as number) : 0;
    let valueFrom = at;
    if (opening === DOUBLE || opening === SINGLE) {
      valueFrom = ++at;
      while (at < to && bytes[at] !== opening) at++;
    } else while (at < to && !blank(bytes[at] as number)) at++;
    if (isName(bytes, nameFrom, nameTo, name)) return text(bytes, valueFrom, at);
    at++;
  }
  return null;
}

/** Attributes that are asked for have ASCII names. */
function isName(bytes: Buffer, from: number, to: number, text: string): boolean {
  if (to - from !== text.length) return false;
  for (let at = from; at < to; at++) if (bytes[at] !== text.charCodeAt(at - from)) return false;
  return true;
}
