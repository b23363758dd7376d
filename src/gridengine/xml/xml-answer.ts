import { detectDialect, type Dialect } from '../dialect';
import type { AnswerEnd, AnswerReader } from '../reading';
import { firstLine, soundsLikeGridEngine } from '../said';
import { XmlScanner, type XmlHandler, type XmlContent } from './scan';

/** Names asked for at a time are a few thousand; more than this is no answer to us. */
const mostUnknown = 100_000;

const schemaAttributes = ['xmlns:xsd', 'xsi:schemaLocation', 'xsi:noNamespaceSchemaLocation', 'xmlns'];

/**
 * An answer in XML: the document that `root` opens goes to `handler`, from its root tag to the end of it; what stands
 * around it, and the documents by which Grid Engine says that it can't answer (`comunication_error`, `unknown_jobs`), go
 * into the end. `job_info` is root and child, so the end of the document is where as many are closed as were opened.
 */
export function readXmlAnswer(root: string, handler: XmlHandler): AnswerReader {
  let opened = false;
  let nested = 0;
  let complete = false;
  let dialect: Dialect = 'unknown';
  let said: string | null = null;
  let tags = false;
  let refused = false;
  let inUnknown = false;
  const unknownJobs: string[] = [];

  function hear(content: XmlContent): void {
    said ??= firstLine(content.text());
  }

  function openOther(tag: string, content: XmlContent): void {
    hear(content);
    if (tag === 'comunication_error' || tag === 'communication_error') refused = true;
    else if (tag === 'unknown_jobs') {
      inUnknown = true;
      dialect = dialectOf(content);
    }
  }

  function closeOther(tag: string, content: XmlContent): void {
    if (inUnknown && tag === 'unknown_jobs') {
      inUnknown = false;
      complete = true;
    } else if (inUnknown) {
      const id = firstLine(content.text());
      if (id !== null && unknownJobs.length < mostUnknown) unknownJobs.push(id);
    } else if (refused) hearReason(tag, content);
    else hear(content);
  }

  /** `comunication_error` holds Grid Engine's answer list: `AN_status`, `AN_text`, `AN_quality`. */
  function hearReason(tag: string, content: XmlContent): void {
    const line = firstLine(content.text());
    if (line !== null && (tag === 'AN_text' || (said === null && !/^\d+$/.test(line)))) said = line;
  }

  const scanner = new XmlScanner({
    open(tag, content) {
      tags = true;
      if (opened) {
        if (complete) return;
        if (tag === root) nested += 1;
        handler.open(tag, content);
      } else if (tag === root) {
        hear(content);
        opened = true;
        nested = 1;
        dialect = dialectOf(content);
        handler.open(tag, content);
      } else openOther(tag, content);
    },
    close(tag, content) {
      tags = true;
      if (!opened) closeOther(tag, content);
      else if (!complete) {
        handler.close(tag, content);
        if (tag === root) nested -= 1;
        complete = nested === 0;
      }
    },
    end(content) {
      if (!opened || complete) hear(content);
    },
  });

  function state(): AnswerEnd['state'] {
    if (complete) return 'complete';
    if (opened || inUnknown) return 'truncated';
    if (refused || (said !== null && soundsLikeGridEngine(said))) return 'refused';
    return tags || said !== null ? 'foreign' : 'empty';
  }

  return {
    write: (piece) => scanner.write(piece),
    end() {
      scanner.end();
      const ids = tags ? [] : unknownIn(said ?? '');
      if (ids.length > 0) return { state: 'complete', said, dialect, unknownJobs: ids };
      return { state: state(), said, dialect, unknownJobs };
    },
  };
}

/** Some dialects print a line instead of `unknown_jobs`: `Following jobs do not exist: 12, 13`. */
function unknownIn(line: string): readonly string[] {
  const list = /following jobs do not exist:?([\d\s,.]*)/i.exec(line)?.[1] ?? '';
  return list.match(/\d+(?:\.\d+)?/g) ?? [];
}

function dialectOf(content: XmlContent): Dialect {
  const xmlSchema = schemaAttributes.map((name) => content.attribute(name) ?? '').join(' ');
  return detectDialect({ xmlSchema }).dialect;
}
