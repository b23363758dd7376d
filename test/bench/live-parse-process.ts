import { readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { XMLParser } from 'fast-xml-parser';
import { SaxesParser } from 'saxes';
import { readQhost } from '../../src/gridengine/qhost/read-qhost';
import { readJobDetails } from '../../src/gridengine/qstat/read-job-details';
import { readJobList } from '../../src/gridengine/qstat/read-job-list';
import type { AnswerReader } from '../../src/gridengine/reading';
import { document, isDocumentName, type DocumentName } from './live-documents';

/**
 * A process of its own for each measurement: `write DOCUMENT JOBS` prints a document, `read READER DOCUMENT` reads one
 * from standard input and prints a `Parsed` as JSON. Only the time within the reader counts. `repeat DOCUMENT JOBS` reads
 * a document repeatedly, as a polling process does, and prints the times in ms from the third on.
 */
export interface Parsed {
  readonly bytes: number;
  /** Records (jobs, or hosts of qhost) that the reader gave, or elements where it gives none. */
  readonly records: number;
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakRssMib: number;
}

export const READERS = ['ours', 'saxes', 'fast-xml-parser', 'nothing'] as const;
export type ReaderName = (typeof READERS)[number];

interface Reader {
  write(piece: Uint8Array): void;
  /** Gives the records. */
  end(): number;
}

function ours(name: DocumentName): Reader {
  let records = 0;
  const count = (): void => {
    records++;
  };
  const readers: Readonly<Record<DocumentName, () => AnswerReader>> = {
    'qstat-j': () => readJobDetails(count),
    recorded: () => readJobDetails(count),
    'qstat-r': () => readJobList(count),
    qhost: () => readQhost(count),
  };
  const reader = readers[name]();
  return {
    write: (piece) => reader.write(piece),
    end() {
      const { state } = reader.end();
      if (state !== 'complete') throw new Error(`the document is ${state}`);
      return records;
    },
  };
}

/** Only events, the text of each element as a string: the least that a reader built on it needs. */
function saxes(): Reader {
  const decoder = new StringDecoder('utf8');
  const parser = new SaxesParser();
  let records = 0;
  let text = '';
  let characters = 0;
  parser.on('opentag', () => {
    text = '';
  });
  parser.on('text', (own) => {
    text += own;
  });
  parser.on('closetag', () => {
    records++;
    characters += text.length;
    text = '';
  });
  parser.on('error', (error) => {
    throw error;
  });
  return {
    write: (piece) => void parser.write(decoder.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))),
    end() {
      parser.close();
      return characters > 0 ? records : 0;
    },
  };
}

/** The whole tree, without use of it. */
function fastXmlParser(): Reader {
  const kept: Buffer[] = [];
  return {
    write: (piece) => void kept.push(Buffer.from(piece)),
    end() {
      const parser = new XMLParser({ ignoreAttributes: false, parseTagValue: false, parseAttributeValue: false });
      return Object.keys(parser.parse(Buffer.concat(kept).toString('utf8')) as object).length;
    },
  };
}

/** The cost of the process without a parser. */
function nothing(): Reader {
  return { write: () => undefined, end: () => 0 };
}

function readAll(reader: Reader): Parsed {
  const buffer = Buffer.alloc(1 << 16);
  let bytes = 0;
  let ms = 0;
  let cpu = 0;
  const timed = <T>(work: () => T): T => {
    const before = process.cpuUsage();
    const start = performance.now();
    const result = work();
    ms += performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    cpu += (user + system) / 1000;
    return result;
  };
  for (;;) {
    const count = readSync(0, buffer);
    if (count === 0) break;
    bytes += count;
    timed(() => reader.write(buffer.subarray(0, count)));
  }
  const records = timed(() => reader.end());
  return { bytes, records, ms, cpuMs: cpu, peakRssMib: process.resourceUsage().maxRSS / 1024 };
}

const REPEATS = 9;

function repeat(name: DocumentName, jobs: number): readonly number[] {
  const pieces = [...document(name, jobs)];
  const times = Array.from({ length: REPEATS }, () => {
    const start = performance.now();
    const reader = ours(name);
    for (const piece of pieces) reader.write(piece);
    reader.end();
    return performance.now() - start;
  });
  return times.slice(2);
}

function readerOf(name: string | undefined, of: DocumentName): Reader {
  if (name === 'ours') return ours(of);
  if (name === 'saxes') return saxes();
  if (name === 'fast-xml-parser') return fastXmlParser();
  return nothing();
}

async function print(name: DocumentName, jobs: number): Promise<void> {
  for (const piece of document(name, jobs))
    if (!process.stdout.write(piece)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}

async function main([task, first, second]: readonly string[]): Promise<void> {
  const name = task === 'read' ? second : first;
  if (!isDocumentName(name))
    throw new TypeError('usage: write DOCUMENT JOBS | read READER DOCUMENT | repeat DOCUMENT JOBS');
  if (task === 'write') await print(name, Number(second));
  else if (task === 'repeat') process.stdout.write(`${JSON.stringify(repeat(name, Number(second)))}\n`);
  else process.stdout.write(`${JSON.stringify(readAll(readerOf(first, name)))}\n`);
}

if (require.main === module)
  main(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
