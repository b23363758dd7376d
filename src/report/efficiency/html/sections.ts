import { escapeForTerminal } from '../../format/escape';
import { formatCount, formatPercent, formatRequested, plural } from '../../format/units';
import type { JobLine, JobList, Report } from '../report';
import type { Sums } from '../sums';
import { WAITS_TEXT, WAITS_TITLE, waitTable } from '../../records/waits';
import { costText } from '../../rules/class-lines';
import {
  amount,
  causeText,
  costliestText,
  coverageText,
  DIMENSION_NAMES,
  farBelowText,
  coreTimes,
  GIB_HOURS,
  judgedText,
  isPartlyKnown,
  meanAmount,
  memoryTime,
  killedText,
  lineJob,
  linesText,
  listNote,
  nextRequest,
  nextRisk,
  otherwiseText,
  peakAmount,
  peakOfRequested,
  withPeakAmount,
  peakText,
  wasteAmount,
  share,
  shownWasters,
  silentText,
} from '../words';
import { hoursChart, sharesChart } from './charts';
import { FONT, look, lookAs, element, fragment, type Child, type Html } from './markup';
import {
  bar,
  card,
  code,
  layout,
  named,
  note,
  sentence,
  shareBar,
  table,
  toned,
  type Column,
  type Under,
} from './parts';

const GROUPS_SHOWN = 25;
const HOSTS_NAMED = 20;
const NONE = '–';

interface Tile {
  readonly name: string;
  readonly value: Child;
  readonly says: string;
  readonly bar?: Html;
}

function tile({ name, value, says, bar: drawn }: Tile): Html {
  return element(
    'td',
    { ...lookAs('tile', `padding:0 16px 8px 0;vertical-align:top;${FONT}`, 'ink'), width: '25%' },
    element('div', look('font-size:12px;line-height:16px', 'faint'), name),
    element(
      'div',
      look('font-size:24px;line-height:32px;font-weight:600;font-variant-numeric:tabular-nums', 'ink'),
      value,
    ),
    drawn === undefined ? null : element('div', { style: 'padding:2px 0 4px' }, drawn),
    element('div', look('font-size:12px;line-height:17px', 'faint'), says),
  );
}

/** The figures that matter most, in large type. */
export function tiles({ site }: Report): Html {
  const [waste, wasteUnit] =
    site.without_peak < site.records ? memoryTime(site.waste_gib_hours).split(' ') : [NONE, ''];
  const fits =
    waste === NONE
      ? 'no job has a peak'
      : site.waste_slot_hours === null || site.waste_jobs === null
        ? 'requested above the peaks'
        : `requested above the peaks: as much as ${amount(site.waste_slot_hours)} slot hours, or ${amount(site.waste_jobs)} jobs`;
  const items: readonly Tile[] = [
    {
      name: 'Memory at the peak',
      value: toned(site.peak_efficiency),
      says: `${peakOfRequested(site)} requested; ${share(site.memory_efficiency) || 'an unknown share'} in the mean`,
      bar: shareBar(site.peak_efficiency, 6),
    },
    {
      name: 'CPU',
      value: share(site.cpu_efficiency) || NONE,
      says: coreTimes(site),
      bar: bar(site.cpu_efficiency ?? 0, 'used', 6),
    },
    {
      name: 'Waste',
      value: fragment(
        waste ?? '',
        element('span', look('font-size:14px;font-weight:400', 'faint'), ` ${wasteUnit ?? ''}`),
      ),
      says: fits,
    },
    {
      name: 'Ended by memory',
      value: element('span', look('', site.killed_by_memory > 0 ? 'bad' : 'ink'), formatCount(site.killed_by_memory)),
      says: `of ${plural(site.failed, 'record')} that ended badly`,
    },
  ];
  return layout('', element('tr', {}, ...items.map(tile)));
}

interface GroupColumn extends Column {
  readonly cell: (sums: Sums) => Child;
  /** Shown only where a group has something there. */
  readonly if?: (sums: Sums) => boolean;
}

const GROUP_COLUMNS: readonly GroupColumn[] = [
  { head: 'jobs', align: 'right', cell: ({ jobs }) => formatCount(jobs) },
  { head: 'core h', align: 'right', wide: true, cell: (sums) => amount(sums.core_hours) },
  { head: 'CPU', align: 'right', wide: true, cell: (sums) => share(sums.cpu_efficiency) || NONE },
  { head: 'requested', align: 'right', cell: (sums) => amount(sums.requested_gib_hours) },
  {
    head: 'limit',
    align: 'right',
    wide: true,
    cell: (sums) => amount(sums.limit_gib_hours),
    if: (sums) => Math.abs(sums.limit_gib_hours - sums.requested_gib_hours) > 0.01 * sums.requested_gib_hours,
  },
  { head: 'with peak', align: 'right', cell: (sums) => withPeakAmount(sums) || NONE, if: isPartlyKnown },
  { head: 'peak', align: 'right', wide: true, cell: (sums) => peakAmount(sums) || NONE },
  { head: 'mean', align: 'right', wide: true, cell: (sums) => meanAmount(sums) || NONE },
  { head: '% of requested', align: 'right', cell: (sums) => toned(sums.peak_efficiency) },
  {
    head: '',
    wide: true,
    width: '12%',
    cell: (sums) => element('div', { style: 'padding:6px 0' }, shareBar(sums.peak_efficiency, 6)),
  },
  { head: 'waste', align: 'right', cell: (sums) => wasteAmount(sums) || NONE },
  {
    head: 'killed',
    align: 'right',
    wide: true,
    cell: ({ killed_by_memory: killed }) => (killed === 0 ? '' : element('span', look('', 'bad'), formatCount(killed))),
    if: ({ killed_by_memory: killed }) => killed > 0,
  },
  {
    head: 'kWh',
    align: 'right',
    wide: true,
    cell: ({ energy_kwh: energy }) => (energy === null ? '' : amount(energy)),
    if: ({ energy_kwh: energy }) => energy !== null,
  },
];

export function groupsCard(report: Report): Html {
  const shown = report.groups.slice(0, GROUPS_SHOWN);
  const columns = GROUP_COLUMNS.filter(
    (column) => column.if === undefined || shown.some(({ sums }) => column.if?.(sums)),
  );
  const rows = shown.map(({ name, sums }): Child[] => [
    name === null ? NONE : named(name),
    ...columns.map(({ cell }) => cell(sums)),
  ]);
  const rest = report.groups.length - shown.length;
  const partly = shown.some(({ sums }) => isPartlyKnown(sums))
    ? ' With peak: what was requested where the peak is known, of which % of requested and waste are.'
    : '';
  return card(
    `By ${DIMENSION_NAMES[report.by]}`,
    table([{ head: DIMENSION_NAMES[report.by] }, ...columns], rows),
    note(
      `${rest > 0 ? `And ${formatCount(rest)} more, which the CSV has. ` : ''}Requested, peak, mean and waste in ${GIB_HOURS}, of jobs with a request where any has one: peak is the highest that a job reached, mean its memory-hours, waste requested minus peak.${partly}`,
    ),
  );
}

const lineName = ({ job_name: name }: JobLine): Child => (name === null ? NONE : named(name));

/** Whose, and which: in small letters under the name. */
function jobNumber(line: JobLine, withOwner: boolean): Html {
  const owner = withOwner && line.owner !== null ? [named(line.owner), ' · '] : [];
  return element('span', look('', 'faint'), ...owner, lineJob(line, '≥ '));
}

const bytesOr = (bytes: number | null, format: (bytes: number) => string): string =>
  bytes === null ? NONE : format(bytes);
const next = (line: JobLine): Child => {
  const request = nextRequest(line);
  return request === null ? NONE : code(request);
};
const hostOf = ({ hosts }: JobLine): Child => (hosts.length === 1 ? named(hosts[0] ?? '') : `${hosts.length} hosts`);

interface LineColumn extends Column {
  readonly cell: (line: JobLine) => Child;
}

const nameColumn = (withOwner: boolean): LineColumn => ({
  head: 'job',
  width: '36%',
  cell: (line) => fragment(lineName(line), element('br', {}), jobNumber(line, withOwner)),
});
const NAME = nameColumn(false);
const NAME_AND_OWNER = nameColumn(true);
const HOST: LineColumn = { head: 'host', wide: true, cell: hostOf };
const ASKED: LineColumn = {
  head: 'requested',
  align: 'right',
  cell: (line) => bytesOr(line.limit_bytes, formatRequested),
};
const PEAK: LineColumn = {
  head: 'peak',
  align: 'right',
  cell: (line) => peakText(line, '≥', NONE),
};
const WASTE: LineColumn = { head: 'waste', align: 'right', wide: true, cell: (line) => amount(line.waste_gib_hours) };
const ENDED: LineColumn = { head: 'ended', wide: true, cell: ({ ending }) => ending };
const NEXT: LineColumn = { head: 'next time', align: 'right', cell: next };
const RISK: LineColumn = { head: 'risk', align: 'right', wide: true, cell: nextRisk };

function lines(columns: readonly LineColumn[], list: JobList): Html {
  return fragment(
    table(
      columns,
      list.lines.map((line) => columns.map(({ cell }) => cell(line))),
    ),
    note(listNote(list)),
  );
}

export function wastersCard(report: Report): Html {
  if (report.owner !== null)
    return card(
      'Jobs with the largest waste',
      ...report.wasters.flatMap(({ jobs }) => [
        lines([NAME, ASKED, PEAK, WASTE, ENDED, NEXT, RISK], jobs),
        note(linesText(report.wasters)),
      ]),
    );
  const columns = [NAME, ASKED, PEAK, WASTE, NEXT, RISK];
  const rows = shownWasters(report).flatMap(({ name, sums, share_of_waste: part, jobs }): (readonly Child[])[] => {
    const amountText = `${memoryTime(sums.waste_gib_hours)}, ${formatPercent(part)} of all waste`;
    const head = layout(
      '',
      element(
        'tr',
        {},
        element(
          'td',
          look('font-size:14px;line-height:20px;font-weight:600;overflow-wrap:anywhere', 'ink'),
          named(name),
        ),
        element(
          'td',
          { ...look('font-size:13px;line-height:20px;padding-left:10px', 'ink'), align: 'right' },
          amountText,
        ),
      ),
    );
    const of = listNote(jobs);
    return [
      [fragment(head, element('div', { style: 'padding:3px 0' }, bar(part, 'used', 4)), note(of))],
      ...jobs.lines.map((line) => columns.map(({ cell }) => cell(line))),
    ];
  });
  return card('Largest waste, and the jobs that make it', table(columns, rows), note(linesText(shownWasters(report))));
}

export function killedCard(report: Report): Html {
  const killed = report.killed_by_memory;
  if (report.owner !== null && killed.records === 0) return fragment();
  const columns = [report.owner === null ? NAME_AND_OWNER : NAME, HOST, ASKED, PEAK, ENDED, NEXT];
  return card(
    'Ended by memory',
    sentence(killedText(killed, report.site)),
    table(
      columns,
      killed.lines.flatMap((line): (readonly Child[] | Under)[] => {
        const cause = causeText(line);
        return [
          columns.map(({ cell }) => cell(line)),
          ...(cause === null ? [] : [{ under: element('span', look('', 'faint'), escapeForTerminal(cause)) }]),
        ];
      }),
    ),
    note(otherwiseText(killed)),
    note(listNote(killed)),
  );
}

/** Of one owner the jobs with the largest waste say it. */
export function farBelowCard(report: Report): Html {
  if (report.owner !== null) return fragment();
  return card(
    'Far below their request',
    sentence(farBelowText(report.far_below, report.site)),
    lines([NAME_AND_OWNER, ASKED, PEAK, WASTE, NEXT, RISK], report.far_below),
  );
}

export function classesCard({ classes }: Report): Html {
  if (classes === null || classes.lines.length === 0) return fragment();
  const columns: readonly Column[] = [
    { head: 'class' },
    { head: 'runs', align: 'right' },
    { head: 'users', align: 'right' },
    { head: 'cost', align: 'right' },
    { head: 'the costliest' },
  ];
  return card(
    'Classes',
    table(
      columns,
      classes.lines.map((line) => [
        line.class,
        formatCount(line.runs),
        formatCount(line.owners),
        costText(line, '·'),
        escapeForTerminal(costliestText(line)),
      ]),
    ),
    note(judgedText(classes)),
  );
}

export function waitsCard({ waits }: Report): Html {
  if (waits.queues.length === 0) return fragment();
  const { columns, rows } = waitTable(waits.queues, escapeForTerminal);
  return card(WAITS_TITLE, table(columns, rows), note([WAITS_TEXT, listNote(waits) ?? ''].join(' ').trim()));
}

export function chartsCard(report: Report): Html {
  const half = (title: string, chart: Html | null, side: 'left' | 'right'): Html | null =>
    chart === null
      ? null
      : element(
          'td',
          {
            ...lookAs(
              'half whole',
              `vertical-align:top;padding:0 ${side === 'left' ? '16px 12px 0' : '0 12px 16px'}`,
              'ink',
            ),
            width: '50%',
          },
          element('div', look('font-size:13px;line-height:18px;font-weight:600;margin:0 0 6px', 'ink'), title),
          chart,
        );
  const hours = half('Memory by hour of the day', hoursChart(report), 'left');
  const shares = half('Peak over limit', sharesChart(report), 'right');
  return hours === null && shares === null
    ? fragment()
    : card('When, and how much', layout('', element('tr', {}, hours, shares)));
}

export function coverageCard({ coverage }: Report): Html {
  return card(
    'Coverage',
    sentence(coverageText(coverage)),
    coverage.records === 0 ? null : bar(coverage.sampled / coverage.records, 'used', 6),
    coverage.reasons.length === 0
      ? null
      : table(
          [{ head: '', align: 'right', width: '1%' }, { head: '' }],
          coverage.reasons.map(({ records, says }) => [formatCount(records), says]),
        ),
  );
}

export function silentCard(report: Report): Html {
  const { silent_nodes: nodes, hosts_without_jobs: idle } = report;
  if (nodes.length === 0 && idle.length === 0) return fragment();
  const items = nodes.map((node) =>
    element(
      'p',
      look('margin:0 0 4px;font-size:14px;line-height:20px', 'ink'),
      element('strong', look('', 'warning'), named(node.host)),
      `: ${silentText(node)}`,
    ),
  );
  const more = idle.length > HOSTS_NAMED ? ` and ${formatCount(idle.length - HOSTS_NAMED)} more` : '';
  const names = idle.slice(0, HOSTS_NAMED).flatMap((host, index) => [index === 0 ? '' : ', ', named(host)]);
  const quiet =
    idle.length === 0
      ? null
      : element(
          'p',
          look('margin:6px 0 0;font-size:13px;line-height:18px', 'faint'),
          `${plural(idle.length, 'host')} with jobs in the week before and none now: `,
          ...names,
          `${more}.`,
        );
  if (nodes.length === 0) return card('Hosts without jobs', quiet);
  const box = layout(
    '',
    element('tr', {}, element('td', look(`padding:10px 12px;border-radius:6px;${FONT}`, 'alert', 'ink'), ...items)),
  );
  return card('Silent nodes', box, quiet);
}

export function hostProblemsCard({ host_problems: hosts }: Report): Html {
  if (hosts.length === 0) return fragment();
  const items = hosts
    .slice(0, HOSTS_NAMED)
    .map(({ host, state, problems }) =>
      element(
        'p',
        look('margin:0 0 4px;font-size:14px;line-height:20px', 'ink'),
        element('strong', look('', state === 'critical' ? 'bad' : 'warning'), named(host)),
        ': ',
        element('bdi', {}, problems.join('; ')),
      ),
    );
  const more = hosts.length - HOSTS_NAMED;
  return card(
    'Hosts with problems',
    ...items,
    more > 0 ? note(`and ${formatCount(more)} more: see "qmemacct nodes".`) : null,
  );
}
