import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BenchOptions, Row, Section } from './bench';
import { DOCUMENTS, type DocumentName } from './live-documents';
import type { Parsed, ReaderName } from './live-parse-process';
import { median } from './statistics';
import { defectsSection } from './live-defects';

/** Reading what qstat and qhost print: each measurement in a fresh process that reads it from a pipe. */

const SIZES = [1000, 10_000, 100_000];
/** Trees of larger documents do not fit into memory. */
const RIVALS_UP_TO = 10_000;

const ABOUT: Readonly<Record<DocumentName, string>> = {
  'qstat-j': 'qstat -j',
  'qstat-r': "qstat -u '*' -r -ext -urg",
  qhost: 'qhost -F -q -j',
  recorded: 'qstat -j as recorded',
};

const run = promisify(execFile);

/** A real pipe between two processes, as from qstat; a string: why it failed. */
async function parse(reader: ReaderName, document: DocumentName, jobs: number): Promise<Parsed | string> {
  const script = join(__dirname, 'live-parse-process.js');
  const pipe = '"$0" "$1" write "$3" "$4" | "$0" "$1" read "$2" "$3"';
  try {
    const { stdout } = await run('/bin/sh', ['-c', pipe, process.execPath, script, reader, document, String(jobs)]);
    return JSON.parse(stdout) as Parsed;
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    return /heap|memory/i.test(stderr) ? 'out of memory' : (stderr.trim().split('\n').at(-1) ?? 'failed');
  }
}

/** Times in ms of one process that reads the document several times. */
async function repeated(document: DocumentName, jobs: number): Promise<readonly number[]> {
  const script = join(__dirname, 'live-parse-process.js');
  const { stdout } = await run(process.execPath, [script, 'repeat', document, String(jobs)]);
  return JSON.parse(stdout) as readonly number[];
}

interface Measured {
  readonly reader: ReaderName;
  readonly jobs: number;
  readonly runs: readonly Parsed[];
  readonly failure: string | null;
}

async function measure(reader: ReaderName, document: DocumentName, jobs: number, times: number): Promise<Measured> {
  const runs: Parsed[] = [];
  for (let time = 0; time < times; time++) {
    const parsed = await parse(reader, document, jobs);
    if (typeof parsed === 'string') return { reader, jobs, runs, failure: parsed };
    runs.push(parsed);
  }
  return { reader, jobs, runs, failure: null };
}

const HEAD = ['', 'jobs', 'MB', 'ms', 'MB/s', 'jobs/s', 'CPU ms', 'peak MiB', 'time / ours'];

function line(measured: Measured, ours: Measured | undefined): readonly string[] {
  const { reader, jobs, runs, failure } = measured;
  const name = reader === 'nothing' ? '(pipe alone)' : reader;
  if (runs.length === 0) return [name, String(jobs), '', '', '', '', '', '', failure ?? ''];
  const ms = median(runs.map((one) => one.ms));
  const megabytes = (runs[0]?.bytes ?? 0) / 1e6;
  const ratio = ours === undefined || ours === measured ? '' : (ms / median(ours.runs.map((one) => one.ms))).toFixed(1);
  const rate =
    reader === 'nothing' ? ['', ''] : [(megabytes / ms) * 1000, (jobs / ms) * 1000].map((one) => one.toFixed(0));
  return [
    name,
    String(jobs),
    megabytes.toFixed(1),
    ms.toFixed(1),
    ...rate,
    median(runs.map((one) => one.cpuMs)).toFixed(0),
    Math.max(...runs.map((one) => one.peakRssMib)).toFixed(0),
    reader === 'nothing' ? '' : ratio,
  ];
}

async function section(document: DocumentName, sizes: readonly number[], options: BenchOptions): Promise<Section> {
  const table: (readonly string[])[] = [HEAD];
  const rows: Row[] = [];
  for (const jobs of sizes) {
    options.progress(`live: ${ABOUT[document]}, ${jobs} jobs`);
    const times = jobs > RIVALS_UP_TO ? 1 : options.quick ? 3 : 7;
    const ours = await measure('ours', document, jobs, times);
    table.push(line(ours, ours));
    for (const rival of jobs > RIVALS_UP_TO ? [] : (['saxes', 'fast-xml-parser'] as const))
      table.push(line(await measure(rival, document, jobs, jobs === RIVALS_UP_TO || options.quick ? 1 : 3), ours));
    table.push(line(await measure('nothing', document, jobs, 1), undefined));
    if (document === 'qstat-r' && jobs === 10_000) {
      rows.push({
        what: '10,000 jobs, by a process that polls',
        unit: 'ms',
        values: await repeated(document, jobs),
        budget: 'list of 10,000 jobs',
      });
      rows.push({
        what: '10,000 jobs, by a process that has just begun',
        unit: 'ms',
        values: ours.runs.map((one) => one.ms),
        budget: 'list of 10,000 jobs',
        note: 'most of it is the compiling of the reader',
      });
    }
  }
  return { title: `Reading ${ABOUT[document]}`, rows, table };
}

/** Time and memory of reading qstat and qhost, beside saxes and fast-xml-parser. */
export async function parseSections(options: BenchOptions): Promise<readonly Section[]> {
  const sections: Section[] = [];
  for (const document of DOCUMENTS) {
    const sizes = document === 'recorded' ? [14] : options.quick ? SIZES.slice(0, 2) : SIZES;
    sections.push(await section(document, sizes, options));
  }
  return [...sections, defectsSection()];
}
