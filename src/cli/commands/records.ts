import type { Command } from 'commander';
import { callerName } from '../../base/user-name';
import type { JobLinesAnswer } from '../../accounting/job-line';
import { isHostPattern } from '../../accounting/filter-record';
import type { RecordSort } from '../../accounting/sorts';
import type { AccountingReader, RecordFilter, RecordsQuery } from '../../accounting/store';
import { hostNames } from '../../gridengine/host-names';
import { loadSettings } from '../../record/settings';
import type { Totals } from '../../record/totals';
import { formatInterval } from '../../report/format/local-time';
import type { Account } from '../../report/records/json';
import {
  LIST_FIELDS,
  renderRecordColumns,
  renderRecordList,
  type RecordListReport,
  type RecordTableView,
} from '../../report/records/list';
import { firstWaits, waitsOf } from '../../report/records/waits';
import { Kinds } from '../../report/rules/kinds';
import { loadRules } from '../../report/rules/rule-set';
import type { Screen } from '../../report/screen/screen';
import { formatCount } from '../../report/format/units';
import { commandAction, type CommandContext, type CommandError, EXIT, usageError } from '../command';
import { realSources, emptyExitStatus, withStores, type Sources } from '../stores/stores';
import { writeAccounts, writeAll, writerOf, type AccountSources } from '../records/accounts';
import { countedReaders } from '../records/counted-readers';
import { findRecords, findSummary, historyOf } from '../records/find';
import { findClassLines, ruleOf, withFindings, type ClassChoice } from '../records/find-class';
import { findJobLines, findJobSums, findTaskLines, type FoundLines } from '../records/find-lines';
import { outputFormat, screenOf, warn, writeLines, type OutputFormat } from '../output';
import {
  addRecordFilterOptions,
  recordChoiceOf,
  addRecordListOptions,
  type RecordListOptions,
  lineLimitOf,
  recordColumnsOf,
  recordSortOf,
} from '../records/options';
import {
  namedSubject,
  type NamedSubject,
  filterSubject,
  type RecordSubject,
  warnOfHiddenJobs,
  warnOfPrunedRecords,
} from '../records/subject';
import type { Terminal } from '../terminal';
import { furtherBack, parseInterval, type Interval } from '../arguments';

const NAME_HELP: Readonly<Record<NamedSubject, string>> = {
  owner: 'user name (default: you)',
  project: 'project name',
  queue: 'queue (all.q), or one of its instances (all.q@node01)',
  host: 'host name; with * and ? a pattern, several with commas',
};

/** `qmemacct jobs --project genome --failed --since 7d` */
export function register(command: Command, context: CommandContext): void {
  addRecordFilterOptions(command).option(
    '--class <name>',
    'of this class, by the rules: leak, idle-cores, serial ... ("qmemacct rules" lists them)',
  );
  addRecordListOptions(command).action(commandAction<RecordListOptions>(context, showChosen));
}

/** `qmemacct owner|project|queue|host NAME --since 7d` */
export const registerSubject = (subject: NamedSubject) => ({
  register(command: Command, context: CommandContext): void {
    command
      .argument(subject === 'owner' ? '[name]' : '<name>', NAME_HELP[subject])
      .option('--cluster <name>', 'of this cluster only');
    addRecordListOptions(command).action(
      commandAction<RecordListOptions, [string | undefined]>(context, (name, options, terminal) =>
        showRecords(namedSubject(subject, name ?? callerName()), options, terminal),
      ),
    );
  },
});

const LINES_ON_A_SCREEN = 50;
/** This many records take about 1 GB of memory, and their text is near the longest string that Node allows. */
const MOST_AT_ONCE = 200_000;

/** The filter; a host name without records is replaced by the longer or shorter form of it that has some. */
async function onKnownHost(filter: RecordFilter, readers: readonly AccountingReader[]): Promise<RecordFilter> {
  const { host, since, until, cluster } = filter;
  if (host === undefined || isHostPattern(host)) return filter;
  const { records } = await findRecords({ ...filter, limit: 1, totals: false, fields: ['host'] }, readers);
  if (records.length > 0) return filter;
  const interval = { since, until, ...(cluster === undefined ? {} : { cluster }) };
  const { groups } = await findSummary({ ...interval, by: 'host' }, readers);
  return { ...filter, host: hostNames(groups.flatMap(({ key }) => key ?? []))(host) };
}

function viewOf(
  subject: RecordSubject,
  options: RecordListOptions,
  terminal: Terminal,
  screen: Screen,
): RecordTableView {
  if (options.columns === undefined) return { columns: subject.columns, chosen: false, width: screen.width };
  const bounded = terminal.isTTY || terminal.env.COLUMNS !== undefined;
  return { columns: recordColumnsOf(options.columns), chosen: true, width: bounded ? screen.width : null };
}

function tooMany(records: number): CommandError {
  const words = `${formatCount(records)} records are more than can be shown at once (${formatCount(MOST_AT_ONCE)})`;
  return usageError(`${words}; shorten the period or add a filter, or give --limit with --tasks`);
}

/** The records of a class. Throws a usage error if there are too many records to look through. */
async function findOfClass(
  query: RecordsQuery,
  choice: ClassChoice,
  readers: readonly AccountingReader[],
): Promise<FoundLines> {
  const answer = await findRecords({ ...query, limit: MOST_AT_ONCE }, readers);
  if (answer.totals.records > MOST_AT_ONCE) throw tooMany(answer.totals.records);
  return findClassLines(answer, query.sort, choice, readers);
}

function nothingFound({ nothing }: RecordSubject, { since, until }: Interval, now: Date): string {
  return `${nothing} ended from ${formatInterval(since, until, 'to')}${furtherBack(since, now)}`;
}

/** The list that the options ask for. */
interface Wanted {
  readonly subject: RecordSubject;
  readonly options: RecordListOptions;
  readonly format: OutputFormat;
  readonly interval: Interval;
  readonly sort: RecordSort;
  /** At most this many lines are shown. */
  readonly most: number;
  readonly view: RecordTableView;
  readonly screen: Screen;
}

/** Throws a usage error for invalid or contradictory options. */
function wantedOf(subject: RecordSubject, options: RecordListOptions, terminal: Terminal, screen: Screen): Wanted {
  const format = outputFormat(options);
  if (options.columns !== undefined && format !== 'text')
    throw usageError('--columns is for people: --json and --csv always have all fields');
  return {
    subject,
    options,
    format,
    interval: parseInterval(options.since, options.until, terminal.now()),
    sort: recordSortOf(options.sort),
    most: lineLimitOf(options.limit, format === 'text' ? LINES_ON_A_SCREEN : MOST_AT_ONCE),
    view: viewOf(subject, options, terminal, screen),
    screen,
  };
}

/** What a list is made from. */
interface Sought extends AccountSources {
  readonly filter: RecordFilter;
  /** The readers whose jobs count in the totals. */
  readonly counted: readonly AccountingReader[];
}

/** The wanted lines. Throws a usage error if there are too many records to choose them from. */
async function findLines(
  { options, format, sort, most, view }: Wanted,
  { filter, readers, rules }: Sought,
): Promise<FoundLines> {
  const grouped = !options.tasks && format === 'text';
  const narrow = format === 'text' && !view.chosen && options.class === undefined;
  const query = {
    ...filter,
    sort,
    limit: grouped ? MOST_AT_ONCE : most,
    ...(narrow ? { fields: LIST_FIELDS } : {}),
  };
  if (options.class !== undefined)
    return findOfClass(query, { rules: ruleOf(options.class, rules), most, grouped }, readers);
  const found = await (grouped ? findJobLines : findTaskLines)(query, most, readers);
  const { records } = found.answer.totals;
  const wantsAll = (grouped && sort !== 'time') || (format !== 'text' && options.limit === undefined);
  if (wantsAll && records > MOST_AT_ONCE) throw tooMany(records);
  return found;
}

/** The newest jobs, each added up to one line; null: the options ask for more than that, or the stores can't do it. */
async function findSums(
  { subject, options, format, sort, most, view }: Wanted,
  { filter, readers }: Sought,
): Promise<JobLinesAnswer | null> {
  const { tasks = false, class: ofClass } = options;
  if (tasks || format !== 'text' || sort !== 'time' || view.chosen || ofClass !== undefined) return null;
  const waits = subject.choice.owner !== undefined;
  const wanted = { jobs: most, waits, limit: MOST_AT_ONCE, fields: LIST_FIELDS };
  return findJobSums(filter, wanted, readers);
}

/** The totals over the readers whose jobs count. */
async function countedTotals({ filter, readers, counted }: Sought, totals: Totals): Promise<Totals> {
  if (counted === readers) return totals;
  return (await findRecords({ ...filter, limit: 1, fields: ['cluster'] }, counted)).totals;
}

/** Prints the lines as a list for people, at most those wanted, nothing if there are none; returns their number. */
function writeList(
  { subject, interval, most, view, screen }: Wanted,
  { lines, totals, all, waits, read }: Omit<JobLinesAnswer, 'lines'> & Pick<RecordListReport, 'lines' | 'all'>,
  terminal: Terminal,
): number {
  const ofQueues = { queues: waitsOf(waits), records: read };
  const shown = { lines: lines.slice(0, most), more: lines.length > most };
  const report = { title: subject.title(screen), ...interval, ...shown, totals, all, view, waits: ofQueues };
  if (lines.length > 0) writeLines(terminal, renderRecordList(report, screen));
  return lines.length;
}

/** Shows the wanted lines; resolves to their number. */
async function showLines(wanted: Wanted, sought: Sought, terminal: Terminal): Promise<number> {
  const { subject, format, most } = wanted;
  // One line more than is shown, to know whether there are more.
  const search = format === 'text' ? { ...wanted, most: most + 1 } : wanted;
  const sums = await findSums(search, sought);
  if (sums !== null) {
    const totals = await countedTotals(sought, sums.totals);
    return writeList(wanted, { ...sums, totals, all: sums.totals.records }, terminal);
  }
  const { answer, lines, ofClass } = await findLines(search, sought);
  if (ofClass !== undefined && ofClass.leftOut > 0)
    warn(
      terminal,
      `${formatCount(ofClass.leftOut)} runs were left out: more than can be examined one by one; shorten the period`,
    );
  warnOfHiddenJobs(answer.shown, sought.filter.owner, terminal);
  if (format === 'text') {
    const read = answer.records.map(({ record }) => record);
    const waits = subject.choice.owner === undefined ? [] : firstWaits(read);
    const [totals, all] =
      ofClass === undefined
        ? [await countedTotals(sought, answer.totals), answer.totals.records]
        : [answer.totals, read.length];
    return writeList(wanted, { lines, totals, all, waits, read: read.length }, terminal);
  }
  const records = lines.flat();
  const judge = (found: readonly Account[]): readonly Account[] => withFindings(found, ofClass?.findings);
  await writeAccounts([records], new Kinds(records), sought, { writer: writerOf(format), terminal, judge });
  return lines.length;
}

/** Shows a subject's records; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function showRecords(
  subject: RecordSubject,
  options: RecordListOptions,
  terminal: Terminal,
  sources: Sources = realSources,
): Promise<number> {
  outputFormat(options);
  const settings = loadSettings(options.config);
  const screen = screenOf(terminal, options, settings);
  if (options.columns === 'help') {
    writeLines(terminal, renderRecordColumns(screen));
    return EXIT.found;
  }
  const wanted = wantedOf(subject, options, terminal, screen);
  const { format, interval, sort } = wanted;
  const rules = await loadRules(settings.rules_file);
  if (rules.problem !== null) warn(terminal, rules.problem);
  return withStores(options.accounting, settings, terminal, sources, async (stores) => {
    const { readers } = stores;
    const asked = {
      ...subject.choice,
      ...(options.cluster === undefined ? {} : { cluster: options.cluster }),
      since: interval.since.getTime(),
      until: interval.until.getTime(),
    };
    const filter = await onKnownHost(asked, readers);
    const counted = await countedReaders(stores, filter);
    const sought = { filter, readers, counted, rules, history: historyOf(readers, terminal.now()) };
    const isAll = sort === 'time' && options.limit === undefined && options.class === undefined;
    const shown =
      format !== 'text' && isAll
        ? await writeAll(filter, sought, { writer: writerOf(format), terminal })
        : await showLines(wanted, sought, terminal);
    const pruned = warnOfPrunedRecords(settings, interval, 'listed', terminal);
    if (shown > 0) return EXIT.found;
    if (!pruned) warn(terminal, nothingFound(subject, interval, terminal.now()));
    return emptyExitStatus(stores);
  });
}

/** `jobs`: shows the records that the options choose, as `showRecords` does. */
function showChosen(options: RecordListOptions, terminal: Terminal): Promise<number> {
  const choice = recordChoiceOf({ ...options });
  const subject = filterSubject(choice);
  const { class: name } = options;
  if (name === undefined) return showRecords(subject, options, terminal);
  const title = (screen: Screen): string =>
    `${subject.title(screen)}${Object.keys(choice).length === 0 ? ':' : ','} class ${screen.safe(name)}`;
  return showRecords({ ...subject, title, nothing: 'no such job' }, options, terminal);
}
