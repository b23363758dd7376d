import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FORMAT_NAMES, leastPart, type FormatName } from '../../src/export/format';
import { formatCount } from '../../src/report/format/units';
import type { Bench, BenchOptions, Row, Section } from './bench';
import type { Exported } from './export-process';
import { pushRows } from './export-push';
import { fillHistory } from './history-fill';
import { temporaryDirectory } from '../support/temporary-directory';
import type { BudgetName } from './budgets';

/** Exports of all columns of a store's records, beside the cost of each format alone for as many rows in memory. */

const SEED = 1;
const QUICK_JOBS = 100_000;
const USUAL_JOBS = 1_000_000;

const run = promisify(execFile);

async function measure(store: string, format: FormatName, rows: number | null): Promise<Exported> {
  const words = [join(__dirname, 'export-process.js'), store, format, `${store}.${format}`];
  const { stdout } = await run(process.execPath, rows === null ? words : [...words, String(rows)]);
  return JSON.parse(stdout) as Exported;
}

function row(what: string, { rows, ms, cpuMs, peakRssMib }: Exported, budget?: BudgetName): Row {
  const speed = `${formatCount(Math.round((rows / ms) * 1000))} rows/s; CPU ${((cpuMs * 1000) / rows).toFixed(1)} us a row`;
  const note = `${speed}; ${peakRssMib.toFixed(0)} MiB`;
  return { what, unit: 'us', values: [(ms * 1000) / rows], note, budget };
}

async function runBench({ quick, jobs, progress }: BenchOptions): Promise<readonly Section[]> {
  const directory = temporaryDirectory();
  const size = jobs ?? (quick ? QUICK_JOBS : USUAL_JOBS);
  const { store, records } = await fillHistory(directory, { records: size, weeks: null }, Date.now(), SEED, progress);
  const rows: Row[] = [];
  for (const format of FORMAT_NAMES) {
    progress(`export: ${format}`);
    const exported = await measure(store, format, null);
    rows.push(row(format, exported, leastPart(format) === undefined ? undefined : 'row of an export'));
    rows.push(row(`${format} alone`, await measure(store, format, records)));
  }
  progress('export: sinks');
  return [
    { title: `export: ${formatCount(records)} records with all columns, per row`, rows },
    { title: 'export push: what a server on this machine takes, per item', rows: await pushRows() },
  ];
}

export const exportBench: Bench = {
  name: 'export',
  about: `a store as ${FORMAT_NAMES.join(', ')} (--jobs 1000000), beside each format alone; what sinks are sent`,
  run: runBench,
};
