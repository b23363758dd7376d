import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { SaxesParser } from 'saxes';
import type { JobDetail } from '../../src/gridengine/qstat/job-detail';
import { readJobDetails } from '../../src/gridengine/qstat/read-job-details';
import type { Section } from './bench';

/** How each parser reads output of Grid Engine that XML forbids or that is misleading. */

const job = (name: string | Buffer, around: (inner: Buffer) => Buffer = (inner) => inner): Buffer => {
  const text = Buffer.concat([
    Buffer.from('<JB_job_number>7</JB_job_number><JB_job_name>'),
    Buffer.from(name as string),
    Buffer.from('</JB_job_name>'),
  ]);
  return Buffer.concat([
    Buffer.from("<?xml version='1.0'?>\n<detailed_job_info><djob_info>"),
    around(text),
    Buffer.from('</djob_info></detailed_job_info>'),
  ]);
};

const CASES: readonly { readonly what: string; readonly document: Buffer; readonly name: string }[] = [
  { what: 'well-formed', document: job('a&amp;b'), name: 'a&b' },
  {
    what: 'elements without a name',
    document: job('x', (inner) => Buffer.concat([Buffer.from('<>'), inner, Buffer.from('</>')])),
    name: 'x',
  },
  { what: 'control characters', document: job('a\x1b[1mb'), name: 'a\x1b[1mb' },
  { what: '"<" written as %lt;', document: job('a%lt;b'), name: 'a<b' },
  { what: 'Latin-1 undeclared', document: job(Buffer.from('M\xfcller', 'latin1')), name: 'Müller' },
  { what: 'text before', document: Buffer.concat([Buffer.from('warning: x\n'), job('x')]), name: 'x' },
  { what: 'cut at the end', document: job('x').subarray(0, -20), name: 'x' },
];

function ours(document: Buffer): string | null {
  const found: JobDetail[] = [];
  const reader = readJobDetails((one) => found.push(one));
  reader.write(document);
  const { state } = reader.end();
  return found[0]?.name ?? `(${state})`;
}

function saxes(document: Buffer): string | null {
  const parser = new SaxesParser();
  let text = '';
  let name: string | null = null;
  parser.on('text', (own) => {
    text = own;
  });
  parser.on('closetag', (tag) => {
    if (tag.name === 'JB_job_name') name = text;
  });
  parser.on('error', (error) => {
    throw error;
  });
  parser.write(document.toString('utf8')).close();
  return name;
}

function fastXmlParser(document: Buffer): string | null {
  const parsed: unknown = new XMLParser().parse(document.toString('utf8'));
  const name = /"JB_job_name":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(parsed))?.[1];
  return name === undefined ? null : (JSON.parse(name) as string);
}

function outcome(read: (document: Buffer) => string | null, document: Buffer, name: string): string {
  try {
    const found = read(document);
    return found === name
      ? 'read'
      : found === null
        ? 'lost'
        : found.startsWith('(')
          ? found
          : `wrong: ${JSON.stringify(found)}`;
  } catch (error) {
    return `refused: ${(error instanceof Error ? error.message : String(error)).split('\n')[0]?.slice(0, 40) ?? ''}`;
  }
}

export function defectsSection(): Section {
  return {
    title: 'What Grid Engine prints and XML forbids: the name of a job, by each parser',
    rows: [],
    table: [
      ['', 'ours', 'saxes', 'fast-xml-parser', 'its validator'],
      ...CASES.map(({ what, document, name }) => [
        what,
        outcome(ours, document, name),
        outcome(saxes, document, name),
        outcome(fastXmlParser, document, name),
        XMLValidator.validate(document.toString('utf8')) === true ? 'valid' : 'invalid',
      ]),
    ],
  };
}
