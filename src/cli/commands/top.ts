import type { Command } from 'commander';
import { rolledQuery } from '../../accounting/sums/plan';
import { loadSettings } from '../../record/settings';
import { describeFilter } from '../../report/records/filter-text';
import { formatInterval } from '../../report/format/local-time';
import { RANKING_NAMES, RANKINGS, type RankingName } from '../../report/records/ranking';
import {
  rankGroups,
  renderRankings,
  renderTop,
  renderTopCsv,
  renderTopJson,
  type TopReport,
} from '../../report/records/top';
import { commandAction, type CommandContext, type GlobalOptions, EXIT, usageError } from '../command';
import { ACCOUNTING_OPTION, realSources, emptyExitStatus, withStores, type Sources } from '../stores/stores';
import { countedReaders } from '../records/counted-readers';
import { findSummary } from '../records/find';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import { addRecordFilterOptions, lineLimitOf, recordChoiceOf } from '../records/options';
import { warnOfHiddenJobs, warnOfPrunedRecords } from '../records/subject';
import type { Terminal } from '../terminal';
import { addIntervalOptions, SUMMED, type Summed } from '../common-options';
import { furtherBack, parseInterval } from '../arguments';

interface TopOptions extends GlobalOptions {
  readonly by: string;
  readonly since: string;
  readonly until?: string;
  readonly limit?: string;
  readonly accounting?: string;
}

/** `qmemacct top owners --by unused --since 30d` */
export function register(command: Command, context: CommandContext): void {
  command
    .argument('[what]', 'owners, projects, queues, hosts, names', 'owners')
    .option(
      '--by <key>',
      'unused, requested, used, cpu, jobs, failed, killed, energy ... ("help" lists all)',
      'unused',
    );
  addRecordFilterOptions(addIntervalOptions(command))
    .option('--limit <n>', 'at most this many lines (default: 20; all with --json and --csv)')
    .option(...ACCOUNTING_OPTION)
    .action(commandAction<TopOptions, [string]>(context, showTop));
}

const LINES_ON_A_SCREEN = 20;
const EVERYTHING = 1_000_000_000;

function rankedOf(text: string): Summed {
  const ranked = SUMMED.find(({ one, many }) => text === one || text === many);
  if (ranked === undefined)
    throw usageError(`top: "${text}" can't be ranked; write ${SUMMED.map(({ many }) => many).join(', ')}`);
  return ranked;
}

function rankingNameOf(text: string): RankingName {
  const name = RANKING_NAMES.find((known) => known === text || known === text.replace('-', '_'));
  if (name === undefined) throw usageError(`--by: "${text}" is not a key; write ${RANKING_NAMES.join(', ')}`);
  return name;
}

/** Shows a ranking; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function showTop(
  what: string,
  options: TopOptions,
  terminal: Terminal,
  sources: Sources = realSources,
): Promise<number> {
  const format = outputFormat(options);
  const ranked = rankedOf(what);
  if (options.by === 'help') {
    writeLines(terminal, renderRankings(screenOf(terminal, options)));
    return EXIT.found;
  }
  const by = rankingNameOf(options.by);
  const choice = recordChoiceOf({ ...options });
  const interval = parseInterval(options.since, options.until, terminal.now());
  const lines = lineLimitOf(options.limit, format === 'text' ? LINES_ON_A_SCREEN : EVERYTHING);
  const settings = loadSettings(options.config);
  return withStores(options.accounting, settings, terminal, sources, async (stores) => {
    const { since, until } = interval;
    const asked = { ...choice, since: since.getTime(), until: until.getTime() };
    const query = { ...asked, by: ranked.by };
    const answer = await findSummary(query, await countedReaders(stores, asked));
    warnOfHiddenJobs(answer.shown, choice.owner, terminal);
    const pruned = rolledQuery(query) === null && warnOfPrunedRecords(settings, interval, 'counted', terminal);
    const groups = rankGroups(answer.groups, RANKINGS[by]);
    const screen = screenOf(terminal, options, settings);
    if (groups.length === 0) {
      const { records, without_peak: unknown } = answer.totals;
      const none = records === 0 ? 'no such job ended' : `nothing to rank by ${RANKINGS[by].name}`;
      const fix =
        records > 0 && unknown === records
          ? '; none of these jobs has a peak: --by requested ranks them by their requests'
          : furtherBack(since, terminal.now());
      if (!pruned) warn(terminal, `top ${ranked.many}: ${none} from ${formatInterval(since, until, 'to')}${fix}`);
      if (format === 'text') return emptyExitStatus(stores);
    }
    const filter = describeFilter(choice, screen);
    const shown = groups.slice(0, lines);
    const report: TopReport = {
      ...ranked,
      ...interval,
      by,
      filter,
      groups: shown,
      all: groups.length,
      totals: answer.totals,
    };
    if (format === 'text') writeLines(terminal, renderTop(report, screen));
    else terminal.write(format === 'json' ? renderTopJson(report) : renderTopCsv(report));
    return groups.length > 0 ? EXIT.found : emptyExitStatus(stores);
  });
}
