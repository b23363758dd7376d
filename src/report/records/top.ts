import type { Totals } from '../../record/totals';
import type { SummaryGroup } from '../../accounting/summary';
import { renderBar, shareText } from '../screen/gauge';
import { renderCsvRows } from './csv';
import { escapeJson } from '../format/escape';
import { formatInterval } from '../format/local-time';
import { RANKINGS, type Ranking, type RankingName } from './ranking';
import { gridEngineText, unusedOfAll, unusedText, usedShare } from './unused';
import type { Screen } from '../screen/screen';
import { renderExplained, renderTable, type Column } from '../screen/table';
import { spread } from '../job/title';
import { formatCount, formatNumber, formatPercent, jobsText } from '../format/units';
import { wrap } from '../screen/layout';

export interface TopReport {
  /** What is ranked, in the singular ("owner", "host") and in the plural ("owners"). */
  readonly one: string;
  readonly many: string;
  readonly by: RankingName;
  /** The filter that selected the jobs, as escaped text; '' for none. */
  readonly filter: string;
  readonly since: Date;
  readonly until: Date;
  /** The groups to show, in their order. */
  readonly groups: readonly SummaryGroup[];
  /** How many groups there are with any of what is ranked. */
  readonly all: number;
  readonly totals: Totals;
}

/** Groups that have any of what they are ranked by, the largest first; equal ones by name. */
export function rankGroups(groups: readonly SummaryGroup[], { of }: Ranking): SummaryGroup[] {
  return groups
    .filter(({ totals }) => of(totals) > 0)
    .sort((a, b) => of(b.totals) - of(a.totals) || ((a.key ?? '') < (b.key ?? '') ? -1 : 1));
}

const BAR_WIDTH = 16;

interface TopColumn extends Column {
  /** The column is left out where jobs are ranked by this, as it would say the same twice. */
  readonly rank?: RankingName;
  readonly cell: (group: SummaryGroup, screen: Screen) => string;
}

const some = (value: number, format: (value: number) => string): string => (value > 0 ? format(value) : '');

const CONTEXT: readonly TopColumn[] = [
  { head: 'jobs', align: 'right', rank: 'jobs', cell: ({ totals }) => formatCount(totals.jobs) },
  {
    head: 'requested',
    align: 'right',
    rank: 'requested',
    dispensable: 3,
    cell: ({ totals }) => some(totals.requested_gib_hours, formatNumber),
  },
  {
    head: 'used',
    align: 'right',
    rank: 'used',
    dispensable: 3,
    cell: ({ totals }) => some(totals.used_gib_hours, formatNumber),
  },
  { head: 'used %', align: 'right', cell: ({ totals }, screen) => shareText(usedShare(totals), screen) },
  {
    head: 'unused',
    align: 'right',
    rank: 'unused',
    dispensable: 4,
    cell: ({ totals }) => some(unusedOfAll(totals), () => unusedText(totals, formatNumber)),
  },
  {
    head: 'CPU',
    align: 'right',
    cell: ({ totals }) => some(totals.slot_seconds, (slots) => formatPercent(totals.cpu_seconds / slots)),
  },
  {
    head: 'failed',
    align: 'right',
    rank: 'failed',
    dispensable: 1,
    cell: ({ totals }) => some(totals.failed, formatCount),
  },
  {
    head: 'killed',
    align: 'right',
    rank: 'killed',
    dispensable: 5,
    cell: ({ totals }) => some(totals.killed_by_memory, formatCount),
  },
];

/** At most 1: what some held above their requests is taken off the unused memory of all. */
function shareOfAll({ by, totals }: TopReport, group: Totals): number | null {
  const { of } = RANKINGS[by];
  return of(totals) > 0 ? Math.min(1, of(group) / of(totals)) : null;
}

function columnsOf(report: TopReport, screen: Screen): readonly TopColumn[] {
  const { one, by, groups } = report;
  const ranking: Ranking = RANKINGS[by];
  const format = ranking.count ? formatCount : formatNumber;
  const most = groups[0] === undefined ? 0 : ranking.of(groups[0].totals);
  const bar = (group: SummaryGroup): string =>
    most > 0 ? renderBar(ranking.of(group.totals) / most, BAR_WIDTH, screen, screen.style.accent) : '';
  return [
    { head: one, shrinksTo: 14, cell: ({ key }) => (key === null ? screen.glyphs.none : screen.safe(key)) },
    {
      head: ranking.head(screen.glyphs.dot),
      align: 'right',
      cell: (group) => ranking.text?.(group.totals, format) ?? format(ranking.of(group.totals)),
    },
    { head: '', dispensable: 2, cell: bar },
    {
      head: 'share',
      align: 'right',
      cell: (group) => {
        const share = shareOfAll(report, group.totals);
        return share === null ? '' : formatPercent(share);
      },
    },
    ...CONTEXT.filter(({ rank }) => rank !== by),
  ];
}

/** Who, or what, has most of something: a line each, with a bar, its share of the whole, and sums of the same jobs. */
export function renderTop(report: TopReport, screen: Screen): string[] {
  const { style, glyphs } = screen;
  const { totals, groups, all } = report;
  const ranking = RANKINGS[report.by];
  const columns = columnsOf(report, screen);
  const rows = groups.map((group) => columns.map(({ cell }) => cell(group, screen)));
  const count = jobsText(totals.jobs);
  const share =
    totals.requested_with_used_gib_hours > 0 ? '; used %: of what was requested where the use is known' : '';
  const legend = `requested, used, unused: GiB${glyphs.dot}h; unused: requested minus peak${share}`;
  const byGridEngine = gridEngineText(totals, glyphs.dot);
  const notes = [
    legend,
    ...(byGridEngine === null ? [] : [byGridEngine]),
    ...(groups.length < all ? [`${formatCount(groups.length)} of ${formatCount(all)} shown: --limit N`] : []),
  ];
  return [
    spread(`Top ${report.many} by ${ranking.name}`, count, screen, style.title, style.title),
    ...(report.filter === '' ? [] : wrap(report.filter, screen.width)),
    style.faint(formatInterval(report.since, report.until, glyphs.arrow)),
    '',
    ...renderTable(columns, rows, screen),
    '',
    ...notes.flatMap((note) => wrap(note, screen.width)).map(style.faint),
  ];
}

/** What can be ranked by, for `--by help`. */
export function renderRankings(screen: Screen): string[] {
  const rows = Object.entries<Ranking>(RANKINGS).map(([name, { says }]) => [name, says]);
  return renderExplained(['--by', 'ranks by'], rows, screen);
}

/**
 * The ranking as JSON:
 * `{"schema":1,"ranked":"owner","by":"unused","groups":[{"key","value","share",...totals}],"totals":{}}`.
 */
export function renderTopJson(report: TopReport): string {
  const { one, by, groups, totals } = report;
  const shown = groups.map(({ key, totals: own }) => {
    return { key, value: RANKINGS[by].of(own), share: shareOfAll(report, own), totals: own };
  });
  const lines = shown.map((group) => escapeJson(JSON.stringify(group))).join(',\n');
  return `{"schema":1,"ranked":${JSON.stringify(one)},"by":${JSON.stringify(by)},"groups":[${lines}],\n"totals":${JSON.stringify(totals)}}\n`;
}

/** One line per group: its key, value and share, then its totals under their names. */
export function renderTopCsv(report: TopReport): string {
  const { one, by, groups, totals } = report;
  const names = Object.keys(totals) as (keyof Totals)[];
  return renderCsvRows([
    [one, 'value', 'share', ...names],
    ...groups.map(({ key, totals: own }) => [
      key,
      RANKINGS[by].of(own),
      shareOfAll(report, own),
      ...names.map((name) => own[name]),
    ]),
  ]);
}
