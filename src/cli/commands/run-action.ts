import { existsSync, writeFileSync } from 'node:fs';
import { parseMemorySize } from '../../gridengine/memory-size';
import { renderCsv } from '../../report/csv';
import { renderJob } from '../../report/job';
import { renderJson } from '../../report/json';
import type { JobRecord } from '../../record/record';
import { loadSettings, type Settings } from '../../record/settings';
import { CommandError, EXIT, usageError } from '../command-error';
import { outputFormat, screenOf, warn, type OutputFormat } from '../output';
import { ownState } from '../run/private-state';
import { runJob, type Subject } from '../run/run-job';
import { openRowStream } from '../run/stream-rows';
import type { Terminal } from '../terminal';
import type { RunOptions } from './run';

function number(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!(value >= least && value <= most)) throw usageError(`${name} "${text}": give a number of ${least} to ${most}`);
  return value;
}

function subjectOf(words: readonly string[], pid: string | undefined): Subject {
  const [command, ...args] = words;
  if (pid !== undefined) {
    if (command !== undefined) throw usageError('--pid and a command exclude each other: give one of them');
    return { pid: number('--pid', pid, 2, 4_194_304) };
  }
  if (command === undefined) throw usageError('nothing to run: give a command behind "--", or --pid');
  return { command, args };
}

/** `--csv FILE` is where the rows go, `--csv` alone the form of the report. */
function reportFormat({ json, csv }: RunOptions): OutputFormat {
  return outputFormat({ ...(json === undefined ? {} : { json }), csv: csv === true });
}

function render(record: JobRecord, options: RunOptions, terminal: Terminal): string {
  const run = { record, attempt: 1, incarnation: 1 };
  const format = reportFormat(options);
  if (format === 'json') return renderJson([run]);
  if (format === 'csv') return renderCsv([run]);
  const report = { job_id: record.job_id, runs: [run], older: 0, newer: 0 };
  return renderJob(report, { allTasks: false }, screenOf(terminal, options))
    .map((line) => `${line}\n`)
    .join('');
}

/** The site's settings, where there are any; broken ones are told, and must not keep anyone from measuring. */
function siteSettings(path: string, terminal: Terminal): Settings | undefined {
  try {
    return existsSync(path) ? loadSettings(path) : undefined;
  } catch (error) {
    warn(terminal, `${error instanceof Error ? error.message : String(error)}; the defaults are used`);
    return undefined;
  }
}

/** Measures and reports; resolves to the command's own exit status. */
export async function runAndReport(words: readonly string[], options: RunOptions, terminal: Terminal): Promise<number> {
  reportFormat(options);
  const subject = subjectOf(words, options.pid);
  if (options.hVmem !== undefined && !parseMemorySize(options.hVmem).ok)
    throw usageError(`--h-vmem "${options.hVmem}": write it as for qsub -l h_vmem= (4G, 500M, 1.5g)`);
  const interval = options.interval === undefined ? undefined : number('--interval', options.interval, 0.05, 3600);
  const slots = number('--slots', options.slots, 1, 65_536);
  const state = ownState(terminal.env, interval, siteSettings(options.config, terminal));
  const csv = typeof options.csv === 'string' ? options.csv : undefined;
  const rows = openRowStream({ jsonl: options.jsonl, csv }, terminal.env);
  const { record, exitStatus } = await runJob(state, subject, options.hVmem ?? null, slots, rows);
  for (const problem of (await rows?.end()) ?? []) warn(terminal, problem);
  if (record === null) {
    warn(
      terminal,
      `no figures: the sampler did not answer; ${state.directory}/run may tell, "qmemacct flush" may finish it`,
    );
    if (exitStatus === 0) throw new CommandError('the command itself ended with 0', EXIT.unavailable);
    return exitStatus;
  }
  const text = render(record, options, terminal);
  if (options.report !== undefined) writeFileSync(options.report, text);
  else process.stderr.write(text);
  return exitStatus;
}
