import { byteStrings, HASH_START, hashByte, internalised } from '../byte-strings';
import { bytesToNumber, textToNumber } from '../bytes-to-number';
import { bytesToText, wholeCharacters } from '../bytes-to-text';
import { heldBytes } from '../held-bytes';
import { decodeEntities } from './entities';

/**
 * What a handler may ask about the tag that it is told of; valid during that call only. Nothing is decoded unless it
 * is asked for.
 */
export interface XmlPlace {
  /**
   * Character data since the tag before, entities replaced, CDATA included, comments left out; blanks are kept. At the
   * first tag: what stood before the document. At most TEXT_LIMIT bytes of it.
   */
  text(): string;
  /** That text as a decimal number; NaN if it is none. */
  number(): number;
  /** An attribute of this opening tag; null: it has none of that name. */
  attribute(name: string): string | null;
}

export interface XmlHandler {
  open(name: string, place: XmlPlace): void;
  close(name: string, place: XmlPlace): void;
  /** The input is over; `place.text()` is what followed the last tag. */
  end?(place: XmlPlace): void;
}

interface XmlScanner {
  write(piece: Uint8Array): void;
  end(): void;
}

/** Bytes kept of one text; the rest of it is passed over. */
export const TEXT_LIMIT = 1 << 20;
/** Bytes kept of one tag with its attributes. */
export const TAG_LIMIT = 1 << 16;

const LESS = 0x3c;
const GREATER = 0x3e;
const SLASH = 0x2f;
const BANG = 0x21;
const QUESTION = 0x3f;
const DOUBLE = 0x22;
const SINGLE = 0x27;
const EQUALS = 0x3d;
const DASH = 0x2d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const AMPERSAND = 0x26;
const PERCENT = 0x25;

/** 1: can be in a name. */
const IN_NAME = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte > 0x20 && byte !== 0x7f && ![LESS, GREATER, SLASH, EQUALS, DOUBLE, SINGLE].includes(byte) ? 1 : 0,
);
/** 1: `<` with this byte behind it is a tag; with another it is text. `>` for the empty name, `/` for a closing tag. */
const BEGINS_TAG = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 || byte === GREATER || byte === SLASH || /[A-Za-z_:]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** Where the piece before ended. `less` is behind a `<`, `bang` behind `<!`. */
type Mode = 'text' | 'less' | 'tag' | 'bang' | 'comment' | 'cdata' | 'instruction' | 'declaration';

const NOTHING = Buffer.alloc(0);

/**
 * Reads what Grid Engine prints as XML, in any pieces (cut within tags, entities and characters) and in bounded memory;
 * never throws. No tree, no check that tags match: the handler is told of each opening and closing tag as it stands.
 *
 * Beyond XML it takes empty names (`<>`, `</>`), `%lt;`, control characters, text outside the root, bytes that are no
 * UTF-8 (Latin-1, decided for each text), a `<` that begins no tag (text), and a tag without its `>` (it ends before
 * the next `<`). `<a/>` is an opening and a closing tag. Names are strings that compare by pointer.
 */
export function scanXml(handler: XmlHandler): XmlScanner {
  const nameAt = byteStrings(1024, 64, (bytes, from, to) => internalised(bytesToText(bytes, from, to)));
  const shortText = byteStrings(4096, 32, decode);

  const notes = new Int32Array(ROOM);

  let mode: Mode = 'text';
  // In the piece at hand, behind the byte that was read last.
  let position = 0;
  // The text since the last tag: `decoded` (what stood before a comment or in CDATA), then `textOf[textFrom, textTo)`.
  let decoded = '';
  let textOf: Buffer = NOTHING;
  let textFrom = 0;
  let textTo = 0;
  // A text that was cut: its bytes so far, of which the first TEXT_LIMIT are kept.
  const held = heldBytes(TEXT_LIMIT);
  // The attributes of the tag at hand: `tagOf[tagFrom, tagTo)`.
  let tagOf: Buffer = NOTHING;
  let tagFrom = 0;
  let tagTo = 0;
  // A tag that was cut: its bytes behind `<`.
  const heldTag = heldBytes(TAG_LIMIT);
  let quote = 0;
  let last = 0;
  // Within `<!...`, comments and the like.
  let bang = '';
  let run = 0;

  const place: XmlPlace = {
    text() {
      if (textFrom === textTo) return decoded;
      const rest = textTo - textFrom > 32 ? decode(textOf, textFrom, textTo) : cached(textOf, textFrom, textTo);
      return decoded === '' ? rest : (decoded + rest).slice(0, TEXT_LIMIT);
    },
    number() {
      return decoded === '' ? bytesToNumber(textOf, textFrom, textTo) : textToNumber(place.text());
    },
    attribute(name) {
      return findAttribute(tagOf, tagFrom, tagTo, name, cached);
    },
  };

  function cached(bytes: Buffer, from: number, to: number): string {
    let hash = HASH_START;
    if (to - from <= 32) for (let at = from; at < to; at++) hash = hashByte(hash, bytes[at] as number);
    return shortText(bytes, from, to, hash);
  }

  function holdTag(bytes: Buffer, from: number, to: number): void {
    heldTag.add(bytes, from, to);
    if (to > from) last = bytes[to - 1] as number;
  }

  /** Makes the text that ends at `to` what the handler can ask for. */
  function showText(bytes: Buffer, from: number, to: number): void {
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
  }

  function forgetText(): void {
    decoded = '';
    textFrom = textTo = 0;
    held.clear();
  }

  /** A comment or the like begins: what stands before it is decoded by itself. */
  function settleText(): void {
    showText(NOTHING, 0, 0);
    const text = decoded.length < TEXT_LIMIT ? place.text() : decoded;
    forgetText();
    decoded = text;
  }

  function tell(closing: boolean, name: string, selfClosing: boolean): void {
    if (closing) handler.close(name, place);
    else {
      handler.open(name, place);
      if (selfClosing) {
        forgetText();
        handler.close(name, place);
      }
    }
    forgetText();
  }

  function tellHeldTag(): void {
    showText(NOTHING, 0, 0);
    const bytes = heldTag.bytes();
    const to = heldTag.kept();
    const closing = to > 0 && bytes[0] === SLASH;
    const nameFrom = closing ? 1 : 0;
    let nameTo = nameFrom;
    let hash = HASH_START;
    while (nameTo < to && IN_NAME[bytes[nameTo] as number] === 1) hash = hashByte(hash, bytes[nameTo++] as number);
    tagOf = bytes;
    tagFrom = nameTo;
    tagTo = to;
    const selfClosing = last === SLASH && heldTag.total() > nameTo;
    heldTag.clear();
    tell(closing, nameAt(bytes, nameFrom, nameTo, hash), selfClosing);
  }

  /** Whole tags and the text before each: the bulk of every answer. How many there were; fewer than ROOM: no more. */
  function readTags(bytes: Buffer, length: number): number {
    const count = noteTags(bytes, position, length, notes);
    for (let note = 0; note < count; note += NOTE) {
      const less = notes[note] as number;
      const nameTo = notes[note + 1] as number;
      const end = notes[note + 2] as number;
      const closing = bytes[less + 1] === SLASH;
      // Only before the first can there be a text that was cut.
      if (note === 0) showText(bytes, position, less);
      else {
        textFrom = position;
        textTo = less;
      }
      tagFrom = nameTo;
      tagTo = end;
      position = end + 1;
      const name = nameAt(bytes, closing ? less + 2 : less + 1, nameTo, notes[note + 3] as number);
      if (note === 0) {
        tagOf = bytes;
        tell(closing, name, isEmptyElement(bytes, nameTo, end));
        textOf = bytes;
      } else if (closing) handler.close(name, place);
      else if (isEmptyElement(bytes, nameTo, end)) tell(false, name, true);
      else handler.open(name, place);
    }
    return count;
  }

  /** A text and what follows it where that is no whole tag. */
  function readText(bytes: Buffer, length: number): void {
    let less = bytes.indexOf(LESS, position);
    while (less >= 0 && less + 1 < length && isText(bytes[less + 1] as number)) less = bytes.indexOf(LESS, less + 1);
    held.add(bytes, position, less < 0 ? length : less);
    position = less < 0 ? length : less + 1;
    if (less >= 0) mode = 'less';
  }

  /** Where the tag ends: at its `>`, or at a `<` that has no place in it; `length`: not in this piece. */
  function tagEnd(bytes: Buffer, from: number, length: number): number {
    for (let at = from; at < length; at++) {
      const byte = bytes[at] as number;
      if (byte === LESS || (byte === GREATER && quote === 0)) return at;
      if (byte === DOUBLE || byte === SINGLE) {
        if (quote === 0) quote = byte;
        else if (quote === byte) quote = 0;
      }
    }
    return length;
  }

  function readTag(bytes: Buffer, length: number): void {
    const end = tagEnd(bytes, position, length);
    holdTag(bytes, position, end);
    position = end;
    if (end === length) return;
    if (bytes[end] === GREATER) position++;
    mode = 'text';
    tellHeldTag();
  }

  function readLess(byte: number): void {
    if (byte === BANG || byte === QUESTION) {
      settleText();
      bang = '';
      run = 0;
      mode = byte === BANG ? 'bang' : 'instruction';
      position++;
    } else if (BEGINS_TAG[byte] === 1) {
      quote = 0;
      last = 0;
      heldTag.clear();
      mode = 'tag';
    } else {
      held.add(STRAY, 0, 1);
      mode = 'text';
    }
  }

  function readBang(byte: number): void {
    bang += String.fromCharCode(byte);
    if ('--'.startsWith(bang) || '[CDATA['.startsWith(bang)) {
      position++;
      if (bang === '--') mode = 'comment';
      else if (bang === '[CDATA[') mode = 'cdata';
      run = 0;
    } else {
      run = bang.startsWith('[') ? 1 : 0;
      mode = 'declaration';
    }
  }

  /** Up to the end of a comment (`-->`), a CDATA section (`]]>`), an instruction (`?>`) or a declaration (`>`). */
  function readRest(bytes: Buffer, length: number): void {
    const from = position;
    let at = from;
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (mode === 'declaration') {
        if (byte === OPEN_BRACKET) run++;
        else if (byte === CLOSE_BRACKET) run--;
        else if (byte === GREATER && run <= 0) break;
      } else if (byte === GREATER && run >= (mode === 'instruction' ? 1 : 2)) break;
      else run = byte === (mode === 'comment' ? DASH : mode === 'cdata' ? CLOSE_BRACKET : QUESTION) ? run + 1 : 0;
    }
    if (mode === 'cdata') held.add(bytes, from, at);
    position = at;
    if (at === length) return;
    position++;
    if (mode === 'cdata') {
      held.drop(2);
      settleRaw();
    }
    mode = 'text';
  }

  function settleRaw(): void {
    const bytes = held.bytes();
    const to = held.kept();
    const raw = bytesToText(bytes, 0, to === held.total() ? to : wholeCharacters(bytes, 0, to));
    const text = decoded.length < TEXT_LIMIT ? (decoded + raw).slice(0, TEXT_LIMIT) : decoded;
    forgetText();
    decoded = text;
  }

  return {
    write(piece) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      const length = bytes.length;
      position = 0;
      while (position < length) {
        if (mode === 'text') {
          if (readTags(bytes, length) < ROOM) readText(bytes, length);
        } else if (mode === 'tag') readTag(bytes, length);
        else if (mode === 'less') readLess(bytes[position] as number);
        else if (mode === 'bang') readBang(bytes[position] as number);
        else readRest(bytes, length);
      }
    },
    end() {
      if (mode === 'cdata') settleRaw();
      showText(NOTHING, 0, 0);
      handler.end?.(place);
      forgetText();
    },
  };
}

/** Numbers noted of a tag: where its `<` is, the end of its name, its `>`, the hash of its name. */
const NOTE = 4;
/** Numbers noted at a time: few, so that what calls for them has been called often when it is compiled. */
const ROOM = 32 * NOTE;

/**
 * Notes the whole tags that follow, with what text before them, as many as there is room for; stops before the first
 * that is cut or something else than a tag. How many numbers were noted.
 *
 * Apart from what is told of them, without a call, and with the signs as numbers: so it is compiled within a few
 * milliseconds and once, and this is most of the time that 10,000 jobs take.
 */
function noteTags(bytes: Buffer, from: number, length: number, notes: Int32Array): number {
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

const isEmptyElement = (bytes: Buffer, nameTo: number, end: number): boolean =>
  bytes[end - 1] === SLASH && end > nameTo;

const isText = (byte: number): boolean => BEGINS_TAG[byte] === 0 && byte !== BANG && byte !== QUESTION;

const STRAY = Buffer.from('<');

function decode(bytes: Buffer, from: number, to: number): string {
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
function findAttribute(
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
