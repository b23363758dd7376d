import { hostname } from 'node:os';
import { Argument, Option, type Command } from 'commander';
import type { RecordFilter } from '../../accounting/store';
import { isBinary, FORMAT_NAMES, type FormatName } from '../../export/format';
import { recordTable, seriesTable } from '../../export/records';
import { sampleTable } from '../../export/samples';
import type { RowPage, Table } from '../../export/table';
import { schemaPath, writeTable, writeTableFile } from '../../export/write-table';
import { PLAIN_COLUMNS, type PlainColumn } from '../../record/plain-columns';
import { loadSettings, type Settings } from '../../record/settings';
import { plural } from '../../report/format/units';
import { addIntervalOptions } from '../common-options';
import { parseInterval, type Interval } from '../arguments';
import { commandAction, type CommandContext, CommandError, EXIT, type GlobalOptions, usageError } from '../command';
import { warn } from '../output';
import { countedReaders } from '../records/counted-readers';
import { addRecordFilterOptions, recordChoiceOf, type RecordChoice } from '../records/options';
import { daysToWrite } from '../export/days';
import type { PushOptions } from '../export/push';
import { warnOfHiddenJobs } from '../records/subject';
import { describeSeries, parseMetricNames, withNodeReader } from '../stores/node-database';
import { ACCOUNTING_OPTION, realSources, emptyExitStatus, withStores, type Sources } from '../stores/stores';
import { errorOutput, interruption, progressLine, type Terminal } from '../terminal';

const SUBJECTS = ['records', 'series', 'samples'] as const;
type Subject = (typeof SUBJECTS)[number];

const NOTHING: Readonly<Record<Subject, string>> = {
  records: 'no such job in that time',
  series: 'no such job in that time has memory over time',
  samples: 'no samples of this host in that time',
};

export interface ExportOptions extends GlobalOptions {
  readonly since: string;
  readonly until?: string;
  readonly format: FormatName;
  readonly output: string;
  readonly columns?: string;
  readonly metric?: string;
  readonly eachDay?: boolean;
  readonly accounting?: string;
}

/** `qmemacct export records --since 30d --format parquet --output records.parquet` */
export function register(command: Command, context: CommandContext): void {
  const what =
    "records: the accounting DB's, one row each; series: their memory over time; samples: node.db of this host (root only)";
  addRecordFilterOptions(addIntervalOptions(command.addArgument(new Argument('<what>', what).choices(SUBJECTS))))
    .addOption(new Option('--format <format>', 'of the file').choices(FORMAT_NAMES).default('csv'))
    .option('--output <file>', 'written whole or not at all, FILE.schema.json beside it; "-": the standard output', '-')
    .option(
      '--each-day',
      '--output is a directory: a file for each UTC day that ended 6 hours ago or earlier, unless it is there; interrupted, it continues',
    )
    .option('--columns <names>', 'records: only these, in this order: job_id,owner (default: all)')
    .option('--metric <names>', 'samples: only these: "a,b"; the name of a source stands for all of its metrics')
    .option(...ACCOUNTING_OPTION)
    .action(commandAction<ExportOptions, [Subject]>(context, exportTable));
  command
    .command('push')
    .configureHelp({ ...command.configureHelp(), visibleGlobalOptions: () => [...(command.parent?.options ?? [])] })
    .hook('preAction', () => {
      const other = command.options.find((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
      if (other !== undefined) throw usageError(`${other.long ?? ''}: export push has no such option; see --help`);
    })
    .description(
      'send figures and records to the sinks of [[export]]: Graphite, InfluxDB, OpenTelemetry, Elasticsearch',
    )
    .argument('[sinks...]', 'only the sinks of these names (default: all)')
    .option('--once', 'send what is new and exit; for cron')
    .action(
      commandAction<PushOptions, [readonly string[]]>(context, async (names, options, terminal) => {
        const { push } = await import('../export/push.js');
        return push(names, options, context.version, terminal);
      }),
    );
}

function columnsOf(text: string): readonly PlainColumn[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  return names.map((name) => {
    const column = PLAIN_COLUMNS.find((known) => known.name === name);
    if (column === undefined) throw usageError(`--columns: "${name}" is not a column; docs/fields.md lists them`);
    return column;
  });
}

interface Opened {
  readonly table: (interval: Interval) => Table;
  readonly statusOfNothing: number;
}

type Write = (opened: Opened) => Promise<number>;

/** Which records are asked for, and where. */
interface Asked {
  readonly terminal: Terminal;
  readonly sources: Sources;
  readonly interval: Interval;
  readonly choice: RecordChoice;
}

async function withRecords(
  subject: 'records' | 'series',
  options: ExportOptions,
  settings: Settings,
  { terminal, sources, interval, choice }: Asked,
  write: Write,
): Promise<number> {
  if (options.metric !== undefined) throw usageError('--metric is for samples');
  if (options.columns !== undefined && subject !== 'records') throw usageError('--columns is for records');
  const columns = options.columns === undefined ? PLAIN_COLUMNS : columnsOf(options.columns);
  const filterOf = ({ since, until }: Interval): RecordFilter => ({
    ...choice,
    since: since.getTime(),
    until: until.getTime(),
  });
  return withStores(options.accounting, settings, terminal, sources, async (stores) => {
    const readers = await countedReaders(stores, filterOf(interval));
    return write({
      table: (part) =>
        subject === 'records' ? recordTable(filterOf(part), columns, readers) : seriesTable(filterOf(part), readers),
      statusOfNothing: emptyExitStatus(stores),
    });
  });
}

async function withSamples(
  options: ExportOptions,
  settings: Settings,
  choice: RecordChoice,
  write: Write,
): Promise<number> {
  const { accounting, columns } = options;
  if (Object.keys(choice).length > 0 || accounting !== undefined || columns !== undefined)
    throw usageError('samples are all of this host: only --since, --until and --metric choose among them');
  const metrics = options.metric === undefined ? [] : parseMetricNames('--metric', options.metric);
  return withNodeReader(settings.state_dir, (reader) =>
    write({
      table: ({ since, until }) =>
        sampleTable({ since: since.getTime(), until: until.getTime(), metrics }, hostname(), reader, describeSeries),
      statusOfNothing: EXIT.nothing,
    }),
  );
}

function checkOutput({ json, csv, format, output, eachDay }: ExportOptions): void {
  if (json || csv) throw usageError(`--json and --csv are not for export; write --format ${json ? 'jsonl' : 'csv'}`);
  if (output === '-' && eachDay) throw usageError('--each-day needs --output DIRECTORY');
  if (output === '-' && isBinary(format)) throw usageError(`--format ${format} needs --output FILE`);
}

const whatIsKept = ({ eachDay }: ExportOptions): string =>
  eachDay ? 'the days before are kept; run it again to continue' : 'nothing was kept; start again';

/** Writes what was asked for; resolves to the exit status. Rejects with CommandError, OutputError or StoreError. */
export async function exportTable(
  subject: Subject,
  options: ExportOptions,
  terminal: Terminal,
  sources: Sources = realSources,
  progressTo: Pick<Terminal, 'isTTY' | 'write'> = errorOutput,
): Promise<number> {
  checkOutput(options);
  const { format, output } = options;
  const interval = parseInterval(options.since, options.until, terminal.now());
  const choice = recordChoiceOf({ ...options });
  const settings = loadSettings(options.config);
  const progress = progressLine(progressTo);
  const { signal, release } = interruption();
  let isTold = false;
  const onPage = ({ done, of, shown }: RowPage): void => {
    if (signal.aborted) throw new CommandError(`interrupted: ${whatIsKept(options)}`, EXIT.unavailable);
    if (!isTold) warnOfHiddenJobs(shown, choice.owner, terminal);
    isTold ||= shown !== undefined;
    progress.show('export', done, of);
  };
  const write: Write = async (opened) => {
    if (output === '-') {
      const rows = await writeTable(
        opened.table(interval),
        format,
        { write: (bytes) => terminal.write(Buffer.from(bytes).toString()) },
        onPage,
      );
      if (rows > 0) return EXIT.found;
      warn(terminal, NOTHING[subject]);
      return opened.statusOfNothing;
    }
    const parts = options.eachDay
      ? daysToWrite(output, [subject, format], interval, terminal.now())
      : [{ path: output, interval }];
    let rows = 0;
    for (const { path, interval: part } of parts) {
      const written = await writeTableFile(opened.table(part), format, path, { ...part }, onPage);
      rows += written;
      progress.clear();
      warn(terminal, `${plural(written, 'row')} in ${path}, their columns in ${schemaPath(path)}`);
    }
    if (parts.length === 0) warn(terminal, `${output} has a file for every day that ended 6 hours ago or earlier`);
    return rows > 0 || options.eachDay ? EXIT.found : opened.statusOfNothing;
  };
  try {
    return subject === 'samples'
      ? await withSamples(options, settings, choice, write)
      : await withRecords(subject, options, settings, { terminal, sources, interval, choice }, write);
  } finally {
    progress.clear();
    release();
  }
}
