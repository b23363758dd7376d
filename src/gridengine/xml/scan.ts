import { byteStrings, HASH_START, hashByte, internalised } from '../byte-strings';
import { bytesToNumber, textToNumber } from '../bytes-to-number';
import { bytesToText, wholeCharacters } from '../bytes-to-text';
import { heldBytes } from '../held-bytes';
import {
  LESS,
  GREATER,
  SLASH,
  BANG,
  QUESTION,
  DOUBLE,
  SINGLE,
  DASH,
  OPEN_BRACKET,
  CLOSE_BRACKET,
  IN_NAME,
  BEGINS_TAG,
  NOTE,
  ROOM,
  noteTags,
  isEmptyElement,
  isText,
  decode,
  findAttribute,
  TEXT_LIMIT,
  TAG_LIMIT,
} from './tags';

/**
 * What a handler may ask about the tag that it is called for; valid during that call only. Nothing is decoded unless it
 * is asked for.
 */
export interface XmlContent {
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
  open(name: string, content: XmlContent): void;
  close(name: string, content: XmlContent): void;
  /** The input is over; `content.text()` is what followed the last tag. */
  end?(content: XmlContent): void;
}

/** What the piece before ended in. `less` is behind a `<`, `bang` behind `<!`. */
type Mode = 'text' | 'less' | 'tag' | 'bang' | 'comment' | 'cdata' | 'instruction' | 'declaration';

const NOTHING = Buffer.alloc(0);
const STRAY = Buffer.from('<');

/**
 * Reads what Grid Engine prints as XML, in any pieces (cut within tags, entities and characters) and in bounded memory;
 * never throws. No tree, no check that tags match: the handler is called for each opening and closing tag as it stands.
 *
 * Beyond XML it takes empty names (`<>`, `</>`), `%lt;`, control characters, text outside the root, bytes that are no
 * UTF-8 (Latin-1, decided for each text), a `<` that begins no tag (text), and a tag without its `>` (it ends before
 * the next `<`). `<a/>` is an opening and a closing tag. Names are strings that compare by pointer.
 */
export class XmlScanner implements XmlContent {
  private readonly nameAt = byteStrings(1024, 64, (bytes, from, to) => internalised(bytesToText(bytes, from, to)));
  private readonly shortText = byteStrings(4096, 32, decode);
  private readonly notes = new Int32Array(ROOM);
  private mode: Mode = 'text';
  /** The position in the piece at hand, behind the byte that was read last. */
  private position = 0;
  /** The text since the last tag: `decoded` (what stood before a comment or in CDATA), then `textOf[textFrom, textTo)`. */
  private decoded = '';
  private textOf: Buffer = NOTHING;
  private textFrom = 0;
  private textTo = 0;
  /** A text that was cut: its bytes so far, of which the first TEXT_LIMIT are kept. */
  private readonly held = heldBytes(TEXT_LIMIT);
  /** The attributes of the tag at hand: `tagOf[tagFrom, tagTo)`. */
  private tagOf: Buffer = NOTHING;
  private tagFrom = 0;
  private tagTo = 0;
  /** A tag that was cut: its bytes behind `<`. */
  private readonly heldTag = heldBytes(TAG_LIMIT);
  private quote = 0;
  private last = 0;
  /** Within `<!...`, comments and the like. */
  private bang = '';
  private run = 0;

  constructor(private readonly handler: XmlHandler) {}

  /** The next piece of the document. */
  write(piece: Uint8Array): void {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const length = bytes.length;
    this.position = 0;
    while (this.position < length) {
      if (this.mode === 'text') {
        if (this.readTags(bytes, length) < ROOM) this.readText(bytes, length);
      } else if (this.mode === 'tag') this.readTag(bytes, length);
      else if (this.mode === 'less') this.readLess(bytes[this.position] as number);
      else if (this.mode === 'bang') this.readBang(bytes[this.position] as number);
      else this.readRest(bytes, length);
    }
  }

  /** The input is over. */
  end(): void {
    if (this.mode === 'cdata') this.settleRaw();
    this.showText(NOTHING, 0, 0);
    this.handler.end?.(this);
    this.forgetText();
  }

  text(): string {
    if (this.textFrom === this.textTo) return this.decoded;
    const { textOf, textFrom, textTo } = this;
    const rest = textTo - textFrom > 32 ? decode(textOf, textFrom, textTo) : this.cached(textOf, textFrom, textTo);
    return this.decoded === '' ? rest : (this.decoded + rest).slice(0, TEXT_LIMIT);
  }

  number(): number {
    return this.decoded === '' ? bytesToNumber(this.textOf, this.textFrom, this.textTo) : textToNumber(this.text());
  }

  attribute(name: string): string | null {
    return findAttribute(this.tagOf, this.tagFrom, this.tagTo, name, (bytes, from, to) => this.cached(bytes, from, to));
  }

  private cached(bytes: Buffer, from: number, to: number): string {
    let hash = HASH_START;
    if (to - from <= 32) for (let at = from; at < to; at++) hash = hashByte(hash, bytes[at] as number);
    return this.shortText(bytes, from, to, hash);
  }

  private holdTag(bytes: Buffer, from: number, to: number): void {
    this.heldTag.add(bytes, from, to);
    if (to > from) this.last = bytes[to - 1] as number;
  }

  /** Makes the text that ends at `to` the one that the handler can ask for. */
  private showText(bytes: Buffer, from: number, to: number): void {
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
  }

  private forgetText(): void {
    this.decoded = '';
    this.textFrom = this.textTo = 0;
    this.held.clear();
  }

  /** A comment or the like begins: what stands before it is decoded by itself. */
  private settleText(): void {
    this.showText(NOTHING, 0, 0);
    const text = this.decoded.length < TEXT_LIMIT ? this.text() : this.decoded;
    this.forgetText();
    this.decoded = text;
  }

  private report(closing: boolean, name: string, selfClosing: boolean): void {
    if (closing) this.handler.close(name, this);
    else {
      this.handler.open(name, this);
      if (selfClosing) {
        this.forgetText();
        this.handler.close(name, this);
      }
    }
    this.forgetText();
  }

  private reportHeldTag(): void {
    this.showText(NOTHING, 0, 0);
    const bytes = this.heldTag.bytes();
    const to = this.heldTag.kept();
    const closing = to > 0 && bytes[0] === SLASH;
    const nameFrom = closing ? 1 : 0;
    let nameTo = nameFrom;
    let hash = HASH_START;
    while (nameTo < to && IN_NAME[bytes[nameTo] as number] === 1) hash = hashByte(hash, bytes[nameTo++] as number);
    this.tagOf = bytes;
    this.tagFrom = nameTo;
    this.tagTo = to;
    const selfClosing = this.last === SLASH && this.heldTag.total() > nameTo;
    this.heldTag.clear();
    this.report(closing, this.nameAt(bytes, nameFrom, nameTo, hash), selfClosing);
  }

  /**
   * Reads whole tags and the text before each: the bulk of every answer. Returns how many numbers `noteTags` noted;
   * fewer than ROOM: no whole tag follows.
   */
  private readTags(bytes: Buffer, length: number): number {
    const count = noteTags(bytes, this.position, length, this.notes);
    for (let note = 0; note < count; note += NOTE) {
      const less = this.notes[note] as number;
      const nameTo = this.notes[note + 1] as number;
      const end = this.notes[note + 2] as number;
      const closing = bytes[less + 1] === SLASH;
      // Only the text before the first tag can have begun in an earlier piece.
      if (note === 0) this.showText(bytes, this.position, less);
      else {
        this.textFrom = this.position;
        this.textTo = less;
      }
      this.tagFrom = nameTo;
      this.tagTo = end;
      this.position = end + 1;
      const name = this.nameAt(bytes, closing ? less + 2 : less + 1, nameTo, this.notes[note + 3] as number);
      if (note === 0) {
        this.tagOf = bytes;
        this.report(closing, name, isEmptyElement(bytes, nameTo, end));
        this.textOf = bytes;
      } else if (closing) this.handler.close(name, this);
      else if (isEmptyElement(bytes, nameTo, end)) this.report(false, name, true);
      else this.handler.open(name, this);
    }
    return count;
  }

  /** Reads a text and the `<` that follows it where no whole tag does. */
  private readText(bytes: Buffer, length: number): void {
    let less = bytes.indexOf(LESS, this.position);
    while (less >= 0 && less + 1 < length && isText(bytes[less + 1] as number)) less = bytes.indexOf(LESS, less + 1);
    this.held.add(bytes, this.position, less < 0 ? length : less);
    this.position = less < 0 ? length : less + 1;
    if (less >= 0) this.mode = 'less';
  }

  /** Where the tag ends: at its `>`, or at a `<` that has no place in it; `length`: not in this piece. */
  private tagEnd(bytes: Buffer, from: number, length: number): number {
    for (let at = from; at < length; at++) {
      const byte = bytes[at] as number;
      if (byte === LESS || (byte === GREATER && this.quote === 0)) return at;
      if (byte === DOUBLE || byte === SINGLE) {
        if (this.quote === 0) this.quote = byte;
        else if (this.quote === byte) this.quote = 0;
      }
    }
    return length;
  }

  private readTag(bytes: Buffer, length: number): void {
    const end = this.tagEnd(bytes, this.position, length);
    this.holdTag(bytes, this.position, end);
    this.position = end;
    if (end === length) return;
    if (bytes[end] === GREATER) this.position++;
    this.mode = 'text';
    this.reportHeldTag();
  }

  private readLess(byte: number): void {
    if (byte === BANG || byte === QUESTION) {
      this.settleText();
      this.bang = '';
      this.run = 0;
      this.mode = byte === BANG ? 'bang' : 'instruction';
      this.position++;
    } else if (BEGINS_TAG[byte] === 1) {
      this.quote = 0;
      this.last = 0;
      this.heldTag.clear();
      this.mode = 'tag';
    } else {
      this.held.add(STRAY, 0, 1);
      this.mode = 'text';
    }
  }

  private readBang(byte: number): void {
    this.bang += String.fromCharCode(byte);
    if ('--'.startsWith(this.bang) || '[CDATA['.startsWith(this.bang)) {
      this.position++;
      if (this.bang === '--') this.mode = 'comment';
      else if (this.bang === '[CDATA[') this.mode = 'cdata';
      this.run = 0;
    } else {
      this.run = this.bang.startsWith('[') ? 1 : 0;
      this.mode = 'declaration';
    }
  }

  /** Up to the end of a comment (`-->`), a CDATA section (`]]>`), an instruction (`?>`) or a declaration (`>`). */
  private readRest(bytes: Buffer, length: number): void {
    const from = this.position;
    let at = from;
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (this.mode === 'declaration') {
        if (byte === OPEN_BRACKET) this.run++;
        else if (byte === CLOSE_BRACKET) this.run--;
        else if (byte === GREATER && this.run <= 0) break;
      } else if (byte === GREATER && this.run >= (this.mode === 'instruction' ? 1 : 2)) break;
      else
        this.run =
          byte === (this.mode === 'comment' ? DASH : this.mode === 'cdata' ? CLOSE_BRACKET : QUESTION)
            ? this.run + 1
            : 0;
    }
    if (this.mode === 'cdata') this.held.add(bytes, from, at);
    this.position = at;
    if (at === length) return;
    this.position++;
    if (this.mode === 'cdata') {
      this.held.drop(2);
      this.settleRaw();
    }
    this.mode = 'text';
  }

  private settleRaw(): void {
    const bytes = this.held.bytes();
    const to = this.held.kept();
    const raw = bytesToText(bytes, 0, to === this.held.total() ? to : wholeCharacters(bytes, 0, to));
    const text = this.decoded.length < TEXT_LIMIT ? (this.decoded + raw).slice(0, TEXT_LIMIT) : this.decoded;
    this.forgetText();
    this.decoded = text;
  }
}
