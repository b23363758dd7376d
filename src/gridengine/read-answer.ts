import { JsonScanner, type JsonHandler } from './json/scan';
import type { AnswerEnd, AnswerReader } from './reading';
import type { XmlHandler } from './xml/scan';
import { readXmlAnswer } from './xml/xml-answer';

/** What reads the document of one command, in its two forms. */
interface AnswerForms {
  /** The root element of the XML. */
  readonly root: string;
  readonly xml: XmlHandler;
  readonly json: JsonHandler;
}

const LESS = 0x3c;
const OPEN_BRACE = 0x7b;
const NEWLINE = 0x0a;

/**
 * Reads an answer in XML or in JSON (Open Cluster Scheduler from 9.2, `-fmt json`): JSON begins at a line that begins
 * with `{`, XML at the first `<`. What stands around the document, or instead of it, goes into the end.
 */
export function readAnswer({ root, xml, json }: AnswerForms): AnswerReader {
  const asXml = readXmlAnswer(root, xml);
  let asJson: JsonAnswer | null = null;
  let isXml = false;
  let lineIsBlank = true;

  /** Where JSON begins in this piece; its length: not in it. */
  function jsonStart(piece: Uint8Array): number {
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at] as number;
      if (byte === OPEN_BRACE && lineIsBlank) return at;
      if (byte === LESS) {
        isXml = true;
        break;
      }
      if (byte === NEWLINE) lineIsBlank = true;
      else if (byte > 0x20) lineIsBlank = false;
    }
    return piece.length;
  }

  return {
    write(piece) {
      if (isXml) asXml.write(piece);
      else if (asJson !== null) asJson.write(piece);
      else {
        const start = jsonStart(piece);
        // What stands before the document is text to it.
        asXml.write(start === piece.length ? piece : piece.subarray(0, start));
        if (start === piece.length) return;
        asJson = readJson(json);
        asJson.write(piece.subarray(start));
      }
    },
    end() {
      const end = asXml.end();
      if (asJson !== null) return { ...end, state: asJson.end(), dialect: 'ocs' };
      const unknownJobs = isXml ? [] : unknownIn(end.said ?? '');
      return unknownJobs.length === 0 ? end : { ...end, state: 'complete', unknownJobs };
    },
  };
}

interface JsonAnswer {
  write(piece: Uint8Array): void;
  end(): AnswerEnd['state'];
}

function readJson(handler: JsonHandler): JsonAnswer {
  let depth = 0;
  let closed = false;
  const scanner = new JsonScanner({
    open(key) {
      depth++;
      if (!closed) handler.open(key);
    },
    close(key) {
      depth--;
      if (closed) return;
      handler.close(key);
      closed = depth === 0;
    },
    value(key, value) {
      if (!closed) handler.value(key, value);
    },
  });
  return {
    write: (piece) => scanner.write(piece),
    end() {
      scanner.end();
      return closed ? 'complete' : 'truncated';
    },
  };
}

/** There is no `unknown_jobs` in JSON: `Following jobs do not exist: 12, 13`. */
function unknownIn(line: string): readonly string[] {
  const list = /following jobs do not exist:?([\d\s,.]*)/i.exec(line)?.[1] ?? '';
  return list.match(/\d+(?:\.\d+)?/g) ?? [];
}
