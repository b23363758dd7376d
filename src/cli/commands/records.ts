import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { isHostPattern } from '../../accounting/filter-record';
import type { AccountingReader, RecordsAnswer, RecordsQuery } from '../../accounting/store';
import { hostNames } from '../../live/host-names';
import { loadSettings } from '../../record/settings';
import { csvPieces } from '../../report/records/csv';
import { FAR_BELOW_LIMIT } from '../../report/advice/fit';
import { jsonPieces } from '../../report/records/json';
import { formatMinute, formatZone } from '../../report/format/local-time';
import { LIST_FIELDS, renderRecordList, renderRecordColumns, type RecordTableView } from '../../report/records/list';
import { waitsOf } from '../../report/records/waits';
import { Kinds } from '../../report/rules/kinds';
import { loadRules } from '../../report/rules/rule-set';
import type { Screen } from '../../report/screen/screen';
import { formatCount } from '../../report/format/units';
import { type CommandContext, CommandError, EXIT, usageError } from '../command';
import { commandStores, realSources, type Sources, noStoreMessage, statusOfNothing } from '../stores/stores';
import { findAttempts, findRecords, findSummary, historyOf } from '../records/find';
import { findClassLines, ruleOf, withFindings, type ClassChoice } from '../records/find-class';
import { findJobLines, findTaskLines, type FoundLines } from '../records/find-lines';
import { outputFormat, screenOf, warn, writeLines, writePieces } from '../output';
import {
  addRecordFilterOptions,
  type RecordFilterOptions,
  recordChoiceOf,
  addRecordListOptions,
  type RecordListOptions,
  lineLimitOf,
  recordColumnsOf,
  recordSortOf,
} from '../records/options';
import { namedSubject, type NamedSubject, filterSubject, type RecordSubject, sayShown } from '../records/subject';
import type { Terminal } from '../terminal';
import { parseInterval, type Interval } from '../arguments';

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
  addRecordListOptions(command).action((_options: unknown, given: Command) =>
    context.finish(showChosen(given.optsWithGlobals<RecordListOptions & RecordFilterOptions>(), context.terminal)),
  );
}

/** `qmemacct owner|project|queue|host NAME --since 7d` */
export const registerSubject = (subject: NamedSubject) => ({
  register(command: Command, context: CommandContext): void {
    command
      .argument(subject === 'owner' ? '[name]' : '<name>', NAME_HELP[subject])
      .option('--cluster <name>', 'of this cluster only');
    addRecordListOptions(command).action((name: string | undefined, _options: unknown, given: Command) =>
      context.finish(
        showRecords(
          namedSubject(subject, name ?? userInfo().username),
          given.optsWithGlobals<RecordListOptions>(),
          context.terminal,
        ),
      ),
    );
  },
});

const LINES_ON_A_SCREEN = 50;
/** About a GB of memory, and near the longest text that a program can make of them. */
const MOST_AT_ONCE = 200_000;

/**
 * The records of a query. A host of which there are none may be known under a longer or shorter spelling of its name:
 * then of that.
 */
async function findOnHost(query: RecordsQuery, readers: readonly AccountingReader[]): Promise<RecordsAnswer> {
  const answer = await findRecords(query, readers);
  const { host, since, until, cluster } = query;
  if (host === undefined || isHostPattern(host) || answer.records.length > 0) return answer;
  const interval = { since, until, ...(cluster === undefined ? {} : { cluster }) };
  const { groups } = await findSummary({ ...interval, by: 'host' }, readers);
  const known = hostNames(groups.flatMap(({ key }) => key ?? []))(host);
  return known === host ? answer : findRecords({ ...query, host: known }, readers);
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

/** The records of a class. Throws a usage error where there are too many to look through. */
async function findOfClass(
  query: RecordsQuery,
  choice: ClassChoice,
  readers: readonly AccountingReader[],
  find: (query: RecordsQuery) => Promise<RecordsAnswer>,
): Promise<FoundLines> {
  return findClassLines({ ...query, limit: MOST_AT_ONCE }, choice, readers, async (asked) => {
    const answer = await find(asked);
    if (answer.totals.records > MOST_AT_ONCE) throw tooMany(answer.totals.records);
    return answer;
  });
}

function nothingFound({ nothing }: RecordSubject, { since, until }: Interval): string {
  return `${nothing} ended from ${formatMinute(since)} to ${formatMinute(until)} ${formatZone(until)}; --since 30d looks further back`;
}

/** Shows the records of a subject; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function showRecords(
  subject: RecordSubject,
  options: RecordListOptions,
  terminal: Terminal,
  sources: Sources = realSources,
): Promise<number> {
  const format = outputFormat(options);
  const settings = loadSettings(options.config);
  const screen = screenOf(terminal, options, settings);
  if (options.columns === 'help') {
    writeLines(terminal, renderRecordColumns(screen));
    return EXIT.found;
  }
  if (options.columns !== undefined && format !== 'text')
    throw usageError('--columns is for people: --json and --csv always have all fields');
  const interval = parseInterval(options.since, options.until, terminal.now());
  const grouped = !options.tasks && format === 'text';
  const lines = lineLimitOf(options.limit, format === 'text' ? LINES_ON_A_SCREEN : MOST_AT_ONCE);
  const sort = recordSortOf(options.sort);
  const view = viewOf(subject, options, terminal, screen);
  const rules = await loadRules(settings.rules_file);
  if (rules.problem !== null) warn(terminal, rules.problem);
  const stores = await commandStores(options.accounting, settings, terminal, sources);
  if (stores.readers.length === 0) throw new CommandError(noStoreMessage(stores), EXIT.unavailable);
  try {
    stores.problems.forEach((problem) => warn(terminal, problem));
    const query = {
      ...subject.choice,
      ...(options.cluster === undefined ? {} : { cluster: options.cluster }),
      since: interval.since.getTime(),
      until: interval.until.getTime(),
      sort,
      limit: grouped ? MOST_AT_ONCE : lines,
      far_below: FAR_BELOW_LIMIT,
      ...(format === 'text' && !view.chosen && options.class === undefined ? { fields: LIST_FIELDS } : {}),
    };
    const find = (asked: RecordsQuery): Promise<RecordsAnswer> => findOnHost(asked, stores.readers);
    const choice = options.class === undefined ? null : { rules: ruleOf(options.class, rules), most: lines, grouped };
    const {
      answer,
      lines: shown,
      ofClass,
    } = await (choice !== null
      ? findOfClass(query, choice, stores.readers, find)
      : grouped
        ? findJobLines(query, lines, stores.readers, find)
        : findTaskLines(query, lines, find));
    if (ofClass !== undefined && ofClass.leftOut > 0)
      warn(terminal, `${formatCount(ofClass.leftOut)} runs, which are read one by one, were not; shorten the period`);
    sayShown(answer.shown, subject.choice.owner, terminal);
    const wantsAll = (grouped && sort !== 'time') || (format !== 'text' && options.limit === undefined);
    if (wantsAll && answer.totals.records > MOST_AT_ONCE) throw tooMany(answer.totals.records);
    if (answer.records.length === 0) {
      warn(terminal, nothingFound(subject, interval));
      if (format === 'text') return statusOfNothing(stores);
    }
    if (format === 'text') {
      const read = answer.records.map(({ record }) => record);
      const waits = { queues: subject.choice.owner === undefined ? [] : waitsOf(read), records: read.length };
      const report = { title: subject.title(screen), ...interval, lines: shown, totals: answer.totals, view, waits };
      writeLines(terminal, renderRecordList(report, screen));
    } else {
      const judging = { rules, kindOf: new Kinds(shown.flat()).of };
      const history = historyOf(stores.readers, terminal.now());
      const found = await findAttempts(shown.flat(), stores.readers, history, judging);
      const accounts = withFindings(found, ofClass?.findings);
      writePieces(terminal, format === 'json' ? jsonPieces(accounts) : csvPieces(accounts));
    }
    return shown.length > 0 ? EXIT.found : statusOfNothing(stores);
  } finally {
    await Promise.all(stores.readers.map((reader) => reader.close()));
  }
}

/** Shows whatever the options choose, as `showRecords` does. */
function showChosen(options: RecordListOptions & RecordFilterOptions, terminal: Terminal): Promise<number> {
  const choice = recordChoiceOf(options);
  const subject = filterSubject(choice);
  const { class: name } = options;
  if (name === undefined) return showRecords(subject, options, terminal);
  const title = (screen: Screen): string =>
    `${subject.title(screen)}${Object.keys(choice).length === 0 ? ':' : ','} class ${screen.safe(name)}`;
  return showRecords({ ...subject, title, nothing: 'no such job' }, options, terminal);
}
