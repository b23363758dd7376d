import { scanJson, type JsonHandler } from './json/scan';
import { detectDialect, type Dialect } from './dialect';
import { heldBytes } from './held-bytes';
import { bytesToText } from './bytes-to-text';
import type { AnswerEnd, AnswerReader } from './reading';
import { scanXml, type XmlHandler, type XmlPlace } from './xml/scan';

/** What a reader of one command's answers is made of. */
export interface AnswerForms {
  /** Names of the root element of a proper answer. */
  readonly roots: readonly string[];
  readonly xml: XmlHandler;
  readonly json: JsonHandler;
}

/** Characters of a message that are passed on. */
const SAID_LIMIT = 500;
const PRELUDE_LIMIT = 4096;
const UNKNOWN_LIMIT = 100_000;

const LESS = 0x3c;
const OPEN_BRACE = 0x7b;
const NEWLINE = 0x0a;

/**
 * Takes an answer of qstat or qhost apart: text that stands before or after the document (warnings, `denied: ...`), an
 * error instead of it, ids that Grid Engine does not know; the document itself goes to the handler of its form, XML or
 * JSON. XML begins at the first `<`, JSON at a line that begins with `{`.
 */
export function readAnswer(forms: AnswerForms): AnswerReader {
  const prelude = heldBytes(PRELUDE_LIMIT);
  const said = firstLine();
  let lineIsBlank = true;
  let document: Document | null = null;

  function begin(bytes: Buffer): number {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === LESS || (byte === OPEN_BRACE && lineIsBlank)) {
        prelude.add(bytes, 0, at);
        said.offer(bytesToText(prelude.bytes(), 0, prelude.kept()));
        document = byte === LESS ? xmlDocument(forms, said) : jsonDocument(forms.json);
        return at;
      }
      if (byte === NEWLINE) lineIsBlank = true;
      else if (byte > 0x20) lineIsBlank = false;
    }
    prelude.add(bytes, 0, bytes.length);
    return bytes.length;
  }

  return {
    write(piece) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      const from = document === null ? begin(bytes) : 0;
      document?.write(from === 0 ? bytes : bytes.subarray(from));
    },
    end() {
      if (document !== null) return document.end(said);
      const text = bytesToText(prelude.bytes(), 0, prelude.kept());
      said.offer(text);
      const unknownJobs = unknownOfText(text);
      const state = unknownJobs.length > 0 ? 'complete' : stateOfText(text);
      return { state, said: said.line(), dialect: 'unknown', unknownJobs };
    },
  };
}

interface Document {
  write(bytes: Uint8Array): void;
  end(said: FirstLine): AnswerEnd;
}

function xmlDocument(forms: AnswerForms, said: FirstLine): Document {
  const unknownJobs: string[] = [];
  let root: string | null = null;
  let kind: 'answer' | 'unknown' | 'error' | 'foreign' = 'foreign';
  let dialect: Dialect = 'unknown';
  let depth = 0;
  let closed = false;
  let told: string | null = null;

  function begin(name: string, place: XmlPlace): void {
    said.offer(place.text());
    root = name;
    const address = `${place.attribute('xmlns:xsd') ?? ''} ${place.attribute('xmlns') ?? ''}`;
    dialect = detectDialect({ xmlSchema: address }).dialect;
    if (forms.roots.includes(name)) kind = 'answer';
    else if (name === 'unknown_jobs') kind = 'unknown';
    else if (name === 'comunication_error' || name === 'communication_error') kind = 'error';
  }

  function state(): AnswerEnd['state'] {
    // `<` can stand in a message, too.
    if (kind === 'foreign') return stateOfText(said.line() ?? '') === 'refused' ? 'refused' : 'foreign';
    if (kind === 'error') return 'refused';
    return closed ? 'complete' : 'truncated';
  }

  const scanner = scanXml({
    open(name, place) {
      depth++;
      if (root === null) begin(name, place);
      else if (closed) return;
      if (kind === 'answer') forms.xml.open(name, place);
    },
    close(name, place) {
      if (depth === 0 || closed) return;
      depth--;
      if (kind === 'answer') forms.xml.close(name, place);
      else if (kind === 'unknown') {
        if (name === 'ST_name' && unknownJobs.length < UNKNOWN_LIMIT) unknownJobs.push(place.text().trim());
      } else if (kind === 'error' && (told === null || name === 'AN_text')) {
        // AN_status and AN_quality are numbers.
        const text = place.text().trim();
        if (!/^\d*$/.test(text)) told = text;
      }
      if (depth === 0) closed = true;
    },
    end(place) {
      if (closed || root === null) said.offer(place.text());
    },
  });

  return {
    write: (bytes) => scanner.write(bytes),
    end() {
      scanner.end();
      if (kind === 'answer') forms.xml.end?.(NO_PLACE);
      if (kind === 'error') said.replace(told);
      return { state: state(), said: said.line(), dialect, unknownJobs };
    },
  };
}

function jsonDocument(handler: JsonHandler): Document {
  let depth = 0;
  let closed = false;
  const scanner = scanJson({
    open(key) {
      depth++;
      if (!closed) handler.open(key);
    },
    close(key) {
      depth--;
      if (!closed) handler.close(key);
      if (depth === 0) closed = true;
    },
    value(key, value) {
      if (!closed) handler.value(key, value);
    },
  });
  return {
    write: (bytes) => scanner.write(bytes),
    end(said) {
      scanner.end();
      return { state: closed ? 'complete' : 'truncated', said: said.line(), dialect: 'ocs', unknownJobs: [] };
    },
  };
}

const NO_PLACE: XmlPlace = { text: () => '', number: () => NaN, attribute: () => null };

interface FirstLine {
  offer(text: string): void;
  replace(text: string | null): void;
  line(): string | null;
}

/** Keeps the first line that says something, without control characters. */
function firstLine(): FirstLine {
  let kept: string | null = null;
  const lineOf = (text: string): string | null =>
    text
      .split(/[\r\n]+/)
      // eslint-disable-next-line no-control-regex
      .map((line) => line.replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ').trim())
      .find((line) => line !== '')
      ?.slice(0, SAID_LIMIT) ?? null;
  return {
    offer(text) {
      kept ??= lineOf(text);
    },
    replace(text) {
      kept = (text === null ? null : lineOf(text)) ?? kept;
    },
    line: () => kept,
  };
}

/** What the commands say instead of a document when qmaster is away, refuses the host, or knows nothing of the ids. */
const REFUSAL =
  /^\s*(?:error|critical|denied|warning|unable|can'?t|cannot|commlib|failed|following jobs do not exist)\b/im;

function stateOfText(text: string): AnswerEnd['state'] {
  if (text.trim() === '') return 'empty';
  return REFUSAL.test(text) ? 'refused' : 'foreign';
}

/** OCS 9.2 has no form of `unknown_jobs` in JSON: `Following jobs do not exist: 12, 13`. */
function unknownOfText(text: string): readonly string[] {
  const list = /following jobs do not exist:?([\d\s,.]*)/i.exec(text)?.[1] ?? '';
  return list.match(/\d+(?:\.\d+)?/g) ?? [];
}
