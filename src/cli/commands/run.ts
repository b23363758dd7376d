import { accessSync, closeSync, constants, existsSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf } from '../../base/error-code';
import { Option, type Command } from 'commander';
import { openOutput } from '../../base/trusted-path';
import { reasonOf } from '../../base/user-error';
import { parseMemorySize } from '../../gridengine/memory-size';
import type { JobRecord } from '../../record/record';
import { loadSettings, type Settings } from '../../record/settings';
import { nextRequests } from '../../report/advice/next-request';
import { withClasses } from '../../report/rules/judge';
import { loadRules, type RuleSet } from '../../report/rules/rule-set';
import { renderCsv } from '../../report/records/csv';
import { renderJob } from '../../report/job/job';
import { renderJson } from '../../report/records/json';
import { type CommandContext, type GlobalOptions, CommandError, EXIT, usageError } from '../command';
import { outputFormat, screenOf, warn, type OutputFormat } from '../output';
import { ownState } from '../run/private-state';
import { runJob, untilDelivered, writeOrFail, type Subject } from '../run/run-job';
import { openRowStream } from '../run/stream-rows';
import { ownStorePath } from '../stores/stores';
import type { Terminal } from '../terminal';

export interface RunOptions extends Omit<GlobalOptions, 'csv'> {
  readonly hVmem?: string;
  readonly slots: string;
  readonly interval?: string;
  readonly pid?: string;
  readonly report?: string;
  readonly jsonl?: string;
  /** The file for the samples' rows; true: the report as CSV. */
  readonly csv?: string | boolean;
}

/** The global options, declared once more because this command parses every option after "run" itself. */
const SHARED = [
  new Option('--config <file>'),
  new Option('--json'),
  new Option('--no-color').default(undefined),
  new Option('--debug'),
];

function optionsOf(command: Command): RunOptions {
  for (const option of SHARED) {
    const name = option.attributeName();
    if (command.getOptionValueSource(name) === 'cli')
      command.parent?.setOptionValueWithSource(name, command.getOptionValue(name), 'cli');
  }
  const { csv } = command.opts<RunOptions>();
  return { ...command.optsWithGlobals<RunOptions>(), ...(csv === undefined ? {} : { csv }) };
}

/** `qmemacct run -- COMMAND ...` */
export function register(command: Command, context: CommandContext): void {
  for (const option of SHARED) command.addOption(option.hideHelp());
  command
    .argument('[command...]', 'the command and its arguments, after "--"')
    .option('--h-vmem <size>', 'compare against this request (4G, 500M ...); not enforced')
    .option('--slots <n>', 'slots that CPU time and the request are compared with', '1')
    .option('--interval <seconds>', 'between samples, after the first moments', undefined)
    .option('--pid <pid>', 'attach to this process and its children instead, until it ends or Ctrl-C')
    .option('--report <file>', 'write the report there instead of to standard error')
    .option('--jsonl <file>', 'a JSON object per sample, while it runs; "-": to standard output')
    .option('--csv [file]', 'a CSV row per sample, while it runs; without a file: the report as CSV')
    .action((words: readonly string[], _options: unknown, given: Command) =>
      context.finish(runAndReport(words, optionsOf(given), context.terminal)),
    );
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!(value >= least && value <= most))
    throw usageError(`${name} "${text}": give a whole number of ${least} to ${most}`);
  return value;
}

function number(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!(value >= least && value <= most)) throw usageError(`${name} "${text}": give a number of ${least} to ${most}`);
  return value;
}

function subjectOf(words: readonly string[], pid: string | undefined): Subject {
  const [command, ...args] = words;
  if (pid !== undefined) {
    if (command !== undefined) throw usageError('--pid and a command exclude each other: give one of them');
    return { pid: whole('--pid', pid, 2, 4_194_304) };
  }
  if (command === undefined) throw usageError('nothing to run: give a command after "--", or --pid');
  return { command, args };
}

function isSize(text: string): boolean {
  const size = parseMemorySize(text);
  return size.ok && size.value > 0;
}

/** The form of the report: `--csv` alone makes it CSV, while `--csv FILE` is where the samples' rows go. */
function reportFormat({ json, csv }: RunOptions): OutputFormat {
  return outputFormat({ ...(json === undefined ? {} : { json }), csv: csv === true });
}

function render(record: JobRecord, rules: RuleSet, options: RunOptions, terminal: Terminal): string {
  const runs = withClasses([{ record, attempt: 1, incarnation: 1 }], rules);
  const format = reportFormat(options);
  if (format === 'json') return renderJson(nextRequests(runs));
  if (format === 'csv') return renderCsv(nextRequests(runs));
  const report = { job_id: record.job_id, runs, older: 0, newer: 0 };
  return renderJob(report, { allTasks: false, detail: 'full' }, screenOf(terminal, options))
    .map((line) => `${line}\n`)
    .join('');
}

/** The site's settings; undefined: none, or broken, which is only a warning, as it must not prevent measuring. */
function siteSettings(path: string, terminal: Terminal): Settings | undefined {
  try {
    return existsSync(path) ? loadSettings(path) : undefined;
  } catch (error) {
    warn(terminal, `${reasonOf(error)}; the defaults are used`);
    return undefined;
  }
}

const reportProblem = (path: string, error: unknown): string =>
  `--report ${path}: can't be written (${reasonOf(error)}); give another file`;

/** Throws a usage error before the command runs if its report can't be written. The file is not changed yet. */
function requireWritable(path: string): void {
  try {
    if (existsSync(path)) closeSync(openOutput(path, constants.O_NONBLOCK));
    else accessSync(dirname(resolve(path)), constants.W_OK | constants.X_OK);
  } catch (error) {
    // ENXIO: a FIFO that nobody reads yet.
    if (codeOf(error) !== 'ENXIO') throw usageError(reportProblem(path, error));
  }
}

/** Only warns on failure: a lost report must not change the exit status of the command. */
function writeReport(path: string, text: string, terminal: Terminal): void {
  try {
    const file = openOutput(path);
    try {
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    warn(terminal, reportProblem(path, error));
  }
}

/** Measures and reports; resolves to the command's own exit status. */
async function runAndReport(words: readonly string[], options: RunOptions, terminal: Terminal): Promise<number> {
  reportFormat(options);
  const subject = subjectOf(words, options.pid);
  if (options.hVmem !== undefined && !isSize(options.hVmem))
    throw usageError(`--h-vmem "${options.hVmem}": write it as for qsub -l h_vmem= (4G, 500M, 1.5g), above 0`);
  if (options.report !== undefined) requireWritable(options.report);
  const interval = options.interval === undefined ? undefined : number('--interval', options.interval, 0.05, 3600);
  const slots = whole('--slots', options.slots, 1, 65_536);
  const settings = siteSettings(options.config, terminal);
  const state = writeOrFail(ownStorePath(terminal.env), () => ownState(terminal.env, interval, settings));
  const csv = typeof options.csv === 'string' ? options.csv : undefined;
  const rows = openRowStream({ jsonl: options.jsonl, csv }, terminal.env);
  const { record, problem, exitStatus } = await runJob(state, subject, options.hVmem ?? null, slots, rows);
  for (const problem of (await rows?.end()) ?? []) warn(terminal, problem);
  if (record === null) {
    warn(terminal, `no figures: ${problem}`);
    if (exitStatus === 0) throw new CommandError('the command itself ended with 0', EXIT.unavailable);
    return exitStatus;
  }
  const text = render(record, await loadRules(settings?.rules_file ?? ''), options, terminal);
  if (options.report === undefined) process.stderr.write(text);
  else writeReport(options.report, text, terminal);
  // A failure is ignored: the record is stored, and is delivered later.
  await untilDelivered(state).catch(() => undefined);
  return exitStatus;
}
