import { dialectOfSchema, type Dialect } from '../dialect';
import type { AnswerEnd, AnswerReader } from '../reading';
import { firstLine, soundsLikeGridEngine } from '../said';
import { XmlScanner, type XmlHandler, type XmlContent } from './scan';

/** At most this many unknown ids are kept: a few thousand are asked for at a time. */
const mostUnknown = 100_000;

const schemaAttributes = ['xmlns:xsd', 'xsi:schemaLocation', 'xsi:noNamespaceSchemaLocation', 'xmlns'];

/** What stands around the document, or in its place: `comunication_error`, `unknown_jobs`, or words. */
class Around {
  said: string | null = null;
  dialect: Dialect = 'unknown';
  refused = false;
  inUnknown = false;
  readonly unknownJobs: string[] = [];

  hear(content: XmlContent): void {
    this.said ??= firstLine(content.text());
  }

  open(tag: string, content: XmlContent): void {
    this.hear(content);
    if (tag === 'comunication_error' || tag === 'communication_error') this.refused = true;
    else if (tag === 'unknown_jobs') {
      this.inUnknown = true;
      this.dialect = dialectOf(content);
    }
  }

  /** Returns whether this was the end of `unknown_jobs`. */
  close(tag: string, content: XmlContent): boolean {
    if (this.inUnknown && tag === 'unknown_jobs') {
      this.inUnknown = false;
      return true;
    }
    if (this.inUnknown) {
      const id = firstLine(content.text());
      if (id !== null && this.unknownJobs.length < mostUnknown) this.unknownJobs.push(id);
    } else if (this.refused) this.hearReason(tag, content);
    else this.hear(content);
    return false;
  }

  /** `comunication_error` holds Grid Engine's answer list: `AN_status`, `AN_text`, `AN_quality`. */
  private hearReason(tag: string, content: XmlContent): void {
    const line = firstLine(content.text());
    if (line !== null && (tag === 'AN_text' || (this.said === null && !/^\d+$/.test(line)))) this.said = line;
  }
}

/**
 * Reads an answer in XML: the document that `root` opens goes to `handler`, from its root tag to its end; what stands
 * around it goes into the `AnswerEnd`. `job_info` is root and child, so the document ends where as many are closed as
 * were opened.
 */
export function readXmlAnswer(root: string, handler: XmlHandler): AnswerReader {
  const around = new Around();
  let opened = false;
  let nested = 0;
  let complete = false;
  let tags = false;

  const scanner = new XmlScanner({
    open(tag, content) {
      tags = true;
      if (opened) {
        if (complete) return;
        if (tag === root) nested += 1;
        handler.open(tag, content);
      } else if (tag === root) {
        around.hear(content);
        around.dialect = dialectOf(content);
        opened = true;
        nested = 1;
        handler.open(tag, content);
      } else around.open(tag, content);
    },
    close(tag, content) {
      tags = true;
      if (!opened) complete = around.close(tag, content) || complete;
      else if (!complete) {
        handler.close(tag, content);
        if (tag === root) nested -= 1;
        complete = nested === 0;
      }
    },
    end(content) {
      if (!opened || complete) around.hear(content);
    },
  });

  function state(): AnswerEnd['state'] {
    if (complete) return 'complete';
    if (opened || around.inUnknown) return 'truncated';
    if (around.refused || (around.said !== null && soundsLikeGridEngine(around.said))) return 'refused';
    return tags || around.said !== null ? 'foreign' : 'empty';
  }

  return {
    write: (piece) => scanner.write(piece),
    end() {
      scanner.end();
      const { said, dialect, unknownJobs } = around;
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
  return dialectOfSchema(schemaAttributes.map((name) => content.attribute(name) ?? '').join(' '));
}
