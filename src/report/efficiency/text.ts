import { renderBar, renderGauges, shareTone, type Gauge } from '../screen/gauge';
import { padEnd, padStart, widest } from '../screen/text-width';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';
import { spread } from '../job/title';
import { formatCount, formatMemoryTimes, formatPercent, formatRequested, plural } from '../format/units';
import { wrap } from '../screen/layout';
import { costText } from '../rules/class-lines';
import { gridEngineText } from '../records/unused';
import { WAITS_TEXT, WAITS_TITLE, waitTable } from '../records/waits';
import type { JobLine, JobList, KilledList, Report, ReportGroup } from './report';
import type { Sums } from './sums';
import {
  amount,
  causeText,
  costliestText,
  countText,
  coverageText,
  DIMENSION_NAMES,
  energyText,
  farBelowText,
  coreTimes,
  linesText,
  hoursText,
  isPartlyKnown,
  jobNumber,
  killedText,
  judgedText,
  leftOutText,
  listNote,
  meanAmount,
  memoryTime,
  nextRequest,
  nextRisk,
  otherwiseText,
  periodText,
  share,
  shortLineJob,
  shownWasters,
  sharesText,
  silentText,
  wasteText,
  usedOfRequested,
  peakOfRequested,
  withPeakAmount,
  peakAmount,
  peakText,
  wasteAmount,
} from './words';

/** More groups than these would push the rest off the screen; CSV and JSON have them all. */
const GROUPS_SHOWN = 20;
const HOSTS_NAMED = 10;

const ownWords = (text: string, screen: Screen): string => text.replaceAll('·', screen.glyphs.dot);

function paragraph(text: string | null, screen: Screen): string[] {
  return text === null ? [] : wrap(ownWords(text, screen), screen.width - 2).map((line) => `  ${line}`);
}

function section(title: string, lines: readonly string[], screen: Screen): string[] {
  return lines.length === 0 ? [] : ['', screen.style.title(title), ...lines];
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

function gauges({ site }: Report, screen: Screen): Gauge[] {
  return [
    { name: 'Memory, mean', share: site.memory_efficiency, amount: ownWords(usedOfRequested(site), screen) },
    { name: 'Memory, peak', share: site.peak_efficiency, amount: ownWords(peakOfRequested(site), screen) },
    {
      name: 'CPU',
      share: site.cpu_efficiency,
      amount: ownWords(coreTimes(site), screen),
    },
  ].map((gauge) => ({ ...gauge, tone: gauge.share === null ? 'good' : shareTone(gauge.share) }));
}

interface GroupColumn extends Column {
  readonly cell: (sums: Sums, screen: Screen) => string;
  /** Shown only where a group is so. */
  readonly if?: (sums: Sums) => boolean;
}

const tinted = (value: number | null, screen: Screen): string =>
  value === null ? screen.glyphs.none : screen.style[shareTone(value)](formatPercent(value));
const orNothing = (value: number): string => (value === 0 ? '' : formatCount(value));

const GROUP_COLUMNS: readonly GroupColumn[] = [
  { head: 'jobs', align: 'right', cell: ({ jobs }) => formatCount(jobs) },
  { head: 'core h', align: 'right', dispensable: 2, cell: (sums) => amount(sums.core_hours) },
  { head: 'CPU', align: 'right', cell: (sums, { glyphs }) => share(sums.cpu_efficiency) || glyphs.none },
  { head: 'requested', align: 'right', cell: (sums) => amount(sums.requested_gib_hours) },
  { head: 'limit', align: 'right', dispensable: 7, cell: (sums) => amount(sums.limit_gib_hours) },
  { head: 'with peak', align: 'right', dispensable: 1, cell: withPeakAmount, if: isPartlyKnown },
  { head: 'peak', align: 'right', cell: peakAmount },
  { head: 'mean', align: 'right', dispensable: 4, cell: meanAmount },
  { head: 'peak %', align: 'right', cell: (sums, screen) => tinted(sums.peak_efficiency, screen) },
  { head: 'mean %', align: 'right', dispensable: 3, cell: (sums, screen) => tinted(sums.memory_efficiency, screen) },
  { head: 'waste', align: 'right', cell: wasteAmount },
  { head: 'killed', align: 'right', dispensable: 5, cell: (sums) => orNothing(sums.killed_by_memory) },
  {
    head: 'kWh',
    align: 'right',
    dispensable: 6,
    cell: (sums) => (sums.energy_kwh === null ? '' : amount(sums.energy_kwh)),
  },
];

function groupName({ name }: ReportGroup, screen: Screen): string {
  return name === null ? screen.glyphs.none : screen.safe(name);
}

function renderGroups(report: Report, screen: Screen): string[] {
  const shown = report.groups.slice(0, GROUPS_SHOWN);
  const columns = GROUP_COLUMNS.filter(
    (column) => column.if === undefined || shown.some(({ sums }) => column.if?.(sums)),
  );
  const rows = shown.map((group) => [groupName(group, screen), ...columns.map(({ cell }) => cell(group.sums, screen))]);
  const rest = report.groups.length - shown.length;
  const dot = screen.glyphs.dot;
  const partly = shown.some(({ sums }) => isPartlyKnown(sums))
    ? '; with peak: what was requested where the peak is known, of which peak % and waste are; mean %: where the mean is known'
    : '';
  const legend = `requested, peak, mean, waste: GiB${dot}h, of jobs with a request where any has one; peak: the highest reached; mean: average over time; waste: requested minus peak${partly}`;
  return [
    ...renderTable([{ head: DIMENSION_NAMES[report.by], shrinksTo: 12 }, ...columns], rows, screen),
    ...(rest > 0 ? [screen.style.faint(`and ${formatCount(rest)} more: --format csv has them all`)] : []),
    ...wrap(legend, screen.width).map(screen.style.faint),
  ];
}

function bytesOr(bytes: number | null, screen: Screen, format: (bytes: number) => string): string {
  return bytes === null ? screen.glyphs.none : format(bytes);
}

interface LineColumn extends Column {
  readonly cell: (line: JobLine, screen: Screen) => string;
}

const JOB: LineColumn = { head: 'job', shrinksTo: 20, cell: (line, { glyphs }) => shortLineJob(line, glyphs.atLeast) };
const NAME: LineColumn = { head: 'name', shrinksTo: 8, cell: (line, screen) => screen.safe(line.job_name ?? '') };
const OWNER: LineColumn = {
  head: 'owner',
  dispensable: 2,
  shrinksTo: 8,
  cell: (line, screen) => screen.safe(line.owner ?? ''),
};
const HOST: LineColumn = {
  head: 'host',
  dispensable: 2,
  shrinksTo: 8,
  cell: ({ hosts }, screen) => (hosts.length === 1 ? screen.safe(hosts[0] ?? '') : `${hosts.length} hosts`),
};
const ASKED: LineColumn = {
  head: 'requested',
  align: 'right',
  dispensable: 4,
  cell: ({ limit_bytes: limit }, screen) => bytesOr(limit, screen, formatRequested),
};
const PEAK: LineColumn = {
  head: 'peak',
  align: 'right',
  cell: (line, { glyphs }) => peakText(line, glyphs.atLeast, glyphs.none),
};
const WASTE: LineColumn = {
  head: 'waste',
  align: 'right',
  dispensable: 3,
  cell: (line) => amount(line.waste_gib_hours),
};
const ENDED: LineColumn = { head: 'ended', dispensable: 1, shrinksTo: 8, cell: (line) => line.ending };
const NEXT: LineColumn = {
  head: 'next time',
  shrinksTo: 20,
  cell: (line, screen) => {
    const request = nextRequest(line);
    return request === null ? screen.glyphs.none : screen.style.accent(screen.safe(request));
  },
};
const RISK: LineColumn = { head: 'risk', align: 'right', dispensable: 5, cell: nextRisk };

function renderLines(columns: readonly LineColumn[], lines: readonly JobLine[], screen: Screen): string[] {
  const rows = lines.map((line) => columns.map((column) => column.cell(line, screen)));
  return indented(renderTable(columns, rows, screen, screen.width - 2));
}

function renderList(columns: readonly LineColumn[], list: JobList, screen: Screen): string[] {
  return [...renderLines(columns, list.lines, screen), ...paragraph(listNote(list), screen).map(screen.style.faint)];
}

/** Why the jobs of each line ended, under their table. */
function renderCauses(list: KilledList, screen: Screen): string[] {
  return [
    ...list.lines.flatMap((line) => {
      const text = causeText(line);
      return text === null ? [] : paragraph(`${jobNumber(line)}: ${screen.safe(text)}`, screen);
    }),
    ...paragraph(otherwiseText(list), screen).map(screen.style.faint),
  ];
}

function renderWasters(report: Report, screen: Screen): string[] {
  if (report.owner !== null)
    return report.wasters.flatMap(({ jobs }) =>
      renderList([JOB, NAME, ASKED, PEAK, WASTE, ENDED, NEXT, RISK], jobs, screen),
    );
  return shownWasters(report).flatMap(({ name, sums, share_of_waste: part, jobs }, index) => {
    const right = `${ownWords(memoryTime(sums.waste_gib_hours), screen)}, ${formatPercent(part)} of all waste`;
    return [
      ...(index === 0 ? [] : ['']),
      spread(`  ${screen.safe(name)}`, right, screen, screen.style.title, (text) => text),
      ...renderLines([JOB, NAME, ASKED, PEAK, WASTE, NEXT, RISK], jobs.lines, {
        ...screen,
        width: screen.width - 2,
      }).map((line) => `  ${line}`),
      ...paragraph(listNote(jobs), screen).map(screen.style.faint),
    ];
  });
}

interface Bar {
  readonly name: string;
  readonly part: number;
  /** Of the whole bar, where something is shown behind the part. */
  readonly behind?: number;
  readonly text: string;
}

function renderBars(bars: readonly Bar[], screen: Screen): string[] {
  const names = widest(bars.map(({ name }) => name));
  const texts = widest(bars.map(({ text }) => text));
  const room = Math.max(10, Math.min(60, screen.width - names - texts - 6));
  return bars.map(({ name, part, behind, text }) => {
    if (behind === undefined)
      return `  ${padEnd(name, names)}  ${renderBar(part, room, screen, screen.style.accent)}  ${padStart(text, texts)}`;
    const used = Math.round(part * room);
    const bar =
      screen.style.accent(screen.glyphs.barFull.repeat(used)) +
      screen.glyphs.barAsked.repeat(Math.max(0, Math.round(behind * room) - used));
    return `  ${padEnd(name, names)}  ${padEnd(bar, room)}  ${padStart(text, texts)}`;
  });
}

const HOURS_A_BAR = 3;

function renderHours(report: Report, screen: Screen): string[] {
  const text = hoursText(report);
  if (text === null) return [];
  const parts = Array.from({ length: 24 / HOURS_A_BAR }, (_, index) => {
    const hours = report.hours.slice(index * HOURS_A_BAR, (index + 1) * HOURS_A_BAR);
    return {
      asked: hours.reduce((sum, hour) => sum + hour.requested_gib_hours, 0),
      used: hours.reduce((sum, hour) => sum + hour.used_gib_hours, 0),
    };
  });
  const most = parts.reduce((least, { asked, used }) => Math.max(least, asked, used), 0);
  const { texts, unit } = formatMemoryTimes(
    parts.flatMap(({ used, asked }) => [used, asked]),
    screen.glyphs.dot,
  );
  const two = (hour: number): string => String(hour).padStart(2, '0');
  const bars = parts.map(({ asked, used }, index): Bar => ({
    name: `${two(index * HOURS_A_BAR)}-${two((index + 1) * HOURS_A_BAR)} h`,
    part: used / most,
    behind: asked / most,
    text: `${texts[2 * index] ?? ''} / ${texts[2 * index + 1] ?? ''} ${unit}`,
  }));
  return [...renderBars(bars, screen), ...paragraph(text, screen).map(screen.style.faint)];
}

const SHARE_STEPS = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1] as const;

function renderShares(report: Report, screen: Screen): string[] {
  const text = sharesText(report);
  if (text === null) return [];
  const within = (from: number, to: number | null): number =>
    report.shares.reduce((sum, bin) => {
      const inside = to === null ? bin.to === null : bin.to !== null && bin.from >= from - 1e-9 && bin.to <= to + 1e-9;
      return inside ? sum + bin.records : sum;
    }, 0);
  const steps = [
    ...SHARE_STEPS.map((to, index) => {
      const from = SHARE_STEPS[index - 1] ?? 0;
      return { name: `${from * 100}-${to * 100} %`, records: within(from, to) };
    }),
    { name: `${screen.glyphs.atLeast} 100 %`, records: within(1, null) },
  ];
  const most = steps.reduce((sum, { records }) => Math.max(sum, records), 1);
  const bars = steps.map(({ name, records }): Bar => ({ name, part: records / most, text: formatCount(records) }));
  return [...renderBars(bars, screen), ...paragraph(text, screen).map(screen.style.faint)];
}

function renderCoverage({ coverage }: Report, screen: Screen): string[] {
  const width = widest(coverage.reasons.map(({ records }) => formatCount(records)));
  return [
    ...paragraph(coverageText(coverage), screen),
    ...coverage.reasons.flatMap(({ says, records }) =>
      wrap(says, screen.width - width - 6).map((line, index) =>
        index === 0 ? `    ${padStart(formatCount(records), width)}  ${line}` : `${' '.repeat(width + 6)}${line}`,
      ),
    ),
  ];
}

function renderSilent(report: Report, screen: Screen): string[] {
  const { silent_nodes: nodes, hosts_without_jobs: idle } = report;
  const named = idle.slice(0, HOSTS_NAMED).map(screen.safe).join(', ');
  const more = idle.length > HOSTS_NAMED ? ` and ${formatCount(idle.length - HOSTS_NAMED)} more` : '';
  return [
    ...nodes.flatMap((node) =>
      wrap(`${screen.style.warning(screen.safe(node.host))}  ${silentText(node)}`, screen.width - 2).map(
        (line) => `  ${line}`,
      ),
    ),
    ...paragraph(
      idle.length === 0
        ? null
        : `${plural(idle.length, 'host')} with jobs in the week before and none now: ${named}${more}.`,
      screen,
    ),
  ];
}

function renderHostProblems({ host_problems: hosts }: Report, screen: Screen): string[] {
  const { style } = screen;
  const lines = hosts.slice(0, HOSTS_NAMED).flatMap(({ host, state, problems }) => {
    const name = (state === 'critical' ? style.bad : style.warning)(screen.safe(host));
    return wrap(`${name}  ${screen.safe(problems.join('; '))}`, screen.width - 2).map((line) => `  ${line}`);
  });
  const more = hosts.length - HOSTS_NAMED;
  return [...lines, ...paragraph(more > 0 ? `and ${formatCount(more)} more: see "qmemacct nodes".` : null, screen)];
}

function renderClasses({ classes }: Report, screen: Screen): string[] {
  if (classes === null || classes.lines.length === 0) return [];
  const rows = classes.lines.map((line) => {
    return [
      line.class,
      formatCount(line.runs),
      formatCount(line.owners),
      costText(line, screen.glyphs.dot),
      ownWords(screen.safe(costliestText(line)), screen),
    ];
  });
  const columns = [
    { head: 'class' },
    { head: 'runs', align: 'right' },
    { head: 'users', align: 'right', dispensable: 1 },
    { head: 'cost', align: 'right' },
    { head: 'the costliest', shrinksTo: 20 },
  ] as const;
  return [
    ...indented(renderTable(columns, rows, screen, screen.width - 2)),
    ...paragraph(judgedText(classes), screen).map(screen.style.faint),
  ];
}

function renderWaits({ waits }: Report, screen: Screen): string[] {
  if (waits.queues.length === 0) return [];
  const { columns, rows } = waitTable(waits.queues, screen.safe);
  return [
    ...indented(renderTable(columns, rows, screen, screen.width - 2)),
    ...paragraph([WAITS_TEXT, listNote(waits) ?? ''].join(' ').trim(), screen).map(screen.style.faint),
  ];
}

const ANYWHERE = [JOB, NAME, OWNER, HOST, ASKED, PEAK, ENDED, NEXT] as const;

/** The report for a terminal (or a plain text mail), as wide as it is. */
export function renderReport(report: Report, screen: Screen): string[] {
  const { style, glyphs } = screen;
  const { site, owner } = report;
  const where = report.clusters.map(screen.safe).join(', ');
  const title = owner === null ? `Memory report${where === '' ? '' : ` of ${where}`}` : `Jobs of ${screen.safe(owner)}`;
  const energy = energyText(site);
  const head = [
    spread(title, countText(site), screen, style.title, style.title),
    style.faint(periodText(report, glyphs.arrow)),
  ];
  if (site.records === 0)
    return [
      ...head,
      '',
      '  No job ended in this time.',
      ...section('Silent nodes', renderSilent(report, screen), screen),
      ...section('Hosts with problems', renderHostProblems(report, screen), screen),
    ];
  const groups = section(`By ${DIMENSION_NAMES[report.by]}`, renderGroups(report, screen), screen);
  const wasters = section(
    owner === null ? 'Largest waste, and the jobs that make it' : 'Jobs with the largest waste',
    [...renderWasters(report, screen), ...paragraph(linesText(shownWasters(report)), screen).map(style.faint)],
    screen,
  );
  const killed = section(
    'Ended by memory',
    [
      ...paragraph(killedText(report.killed_by_memory, site), screen),
      ...renderList(ANYWHERE, report.killed_by_memory, screen),
      ...renderCauses(report.killed_by_memory, screen),
    ],
    screen,
  );
  const farBelow = section(
    'Far below their request',
    [
      ...paragraph(farBelowText(report.far_below, site), screen),
      ...renderList([JOB, NAME, OWNER, ASKED, PEAK, WASTE, NEXT, RISK], report.far_below, screen),
    ],
    screen,
  );
  return [
    ...head,
    '',
    ...renderGauges(gauges(report, screen), screen),
    '',
    ...paragraph(wasteText(report), screen),
    ...paragraph(energy === null ? null : `Energy charged to these jobs: ${energy}.`, screen),
    ...paragraph(leftOutText(site), screen).map(style.faint),
    ...paragraph(gridEngineText(site, glyphs.dot), screen),
    ...section('Silent nodes', renderSilent(report, screen), screen),
    ...section('Hosts with problems', renderHostProblems(report, screen), screen),
    ...(owner === null ? [groups, wasters, killed, farBelow] : [killed, wasters, groups]).flat(),
    ...section('Classes', renderClasses(report, screen), screen),
    ...section(WAITS_TITLE, renderWaits(report, screen), screen),
    ...section('Memory by hour of the day: used / requested', renderHours(report, screen), screen),
    ...section('Peak over limit: records', renderShares(report, screen), screen),
    ...section('Coverage', renderCoverage(report, screen), screen),
  ];
}
