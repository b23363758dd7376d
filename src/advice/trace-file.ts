import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { reasonOf } from '../base/user-error';
import { failure, success, type Result } from '../base/result';
import { ManyRuns } from './many-runs';
import type { PastRun } from './replay';

const COLUMNS = ['trace', 'submit', 'end', 'class', 'peak_bytes', 'runtime_seconds', 'request_bytes'] as const;

/**
 * The runs of a CSV file (or .gz), by trace. Columns: trace, submit, end (s), class, peak_bytes, runtime_seconds and
 * request_bytes (empty or 0: no request). An error names the line.
 */
export async function readTraceFile(path: string): Promise<Result<ReadonlyMap<string, ManyRuns>>> {
  try {
    const file = createReadStream(path);
    if (!path.endsWith('.gz')) return await readTraces(path, file);
    const unzipped = createGunzip();
    // Passes a read error on to the reader: pipe() alone would leave it waiting.
    file.on('error', (error) => unzipped.destroy(error));
    return await readTraces(path, file.pipe(unzipped));
  } catch (error) {
    return failure(`${path}: ${reasonOf(error)}`);
  }
}

async function readTraces(path: string, input: Readable): Promise<Result<ReadonlyMap<string, ManyRuns>>> {
  const traces = new Map<string, ManyRuns>();
  let indexes: readonly number[] | null = null;
  let number = 0;
  for await (const line of linesOf(input)) {
    number++;
    const cells = line.split(',');
    if (indexes === null) {
      const missing = COLUMNS.filter((column) => !cells.includes(column));
      if (missing.length > 0) return failure(`${path}: no column ${missing.join(', ')} in its first line`);
      indexes = COLUMNS.map((column) => cells.indexOf(column));
      continue;
    }
    const [trace = '', ...rest] = indexes.map((index) => cells[index] ?? '');
    const run = runOf(rest);
    if (run === null) return failure(`${path}, line ${number}: a number is missing or is not a number`);
    const runs = traces.get(trace) ?? new ManyRuns();
    traces.set(trace, runs);
    runs.add(run);
  }
  return indexes === null ? failure(`${path}: the file is empty`) : success(traces);
}

/** NaN: an empty or missing cell. */
const numberIn = (cell = ''): number => (cell.trim() === '' ? NaN : Number(cell));

function runOf([submit, end, name = '', peak, seconds, request = '']: readonly string[]): PastRun | null {
  // Number('') is 0, and a request of 0 means none.
  const asked = Number(request);
  const run: PastRun = {
    submit: numberIn(submit),
    end: numberIn(end),
    classes: [name],
    needed: numberIn(peak),
    stoppedAt: null,
    seconds: numberIn(seconds),
    requested: asked === 0 ? null : asked,
  };
  const areNumbers = [run.submit, run.end, run.seconds, run.needed, asked].every(Number.isFinite);
  return areNumbers && run.needed > 0 && asked >= 0 ? run : null;
}

/** Not readline, which swallows the errors of its input. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
