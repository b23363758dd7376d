import { jobTaskName } from '../../record/job-name';
import { formatCount, formatNumber, formatPercent, formatRequested, plural } from '../format/units';
import { gridEngineText } from '../records/unused';
import { WAITS_TEXT, WAITS_TITLE, waitTable } from '../records/waits';
import { costText } from '../rules/class-lines';
import { shareTone } from '../screen/gauge';
import { isNamed, type ClassLine, type JobLine, type JobList, type Report, type ReportGroup } from './report';
import type { Column, Medium, Part, Piece, Row, Section, Text, Words } from './section';
import {
  causeText,
  costliestText,
  coverageText,
  DIMENSION_NAMES,
  energyText,
  farBelowText,
  isPartlyKnown,
  judgedText,
  killedText,
  leftOutText,
  lineJob,
  linesText,
  listNote,
  meanAmount,
  memoryTime,
  nextRequest,
  nextRisk,
  NONE,
  otherwiseText,
  peakAmount,
  countedNote,
  peakText,
  share,
  shortLineJob,
  silentText,
  wasteAmount,
  wasteText,
  withPeakAmount,
} from './words';

/** No more groups and hosts are shown: they would push the rest out of sight. */
const GROUPS_SHOWN = 25;
const HOSTS_NAMED = 20;

interface ColumnOf<Item> extends Column {
  readonly cell: (item: Item) => Text;
  readonly only?: Medium;
  /** The column is shown only if this holds for some item. */
  readonly if?: (item: Item) => boolean;
}

const paragraph = (text: Text | null): Part => ({ kind: 'paragraph', text });
const note = (text: Text | null): Part => ({ kind: 'note', text });

function columnsFor<Item>(
  medium: Medium,
  columns: readonly ColumnOf<Item>[],
  items: readonly Item[],
): readonly ColumnOf<Item>[] {
  return columns.filter((one) => (one.only ?? medium) === medium && (one.if === undefined || items.some(one.if)));
}

const rowsOf = <Item>(columns: readonly ColumnOf<Item>[], items: readonly Item[]): readonly Row[] =>
  items.map((item) => ({ cells: columns.map(({ cell }) => cell(item)) }));

function tableOf<Item>(medium: Medium, columns: readonly ColumnOf<Item>[], items: readonly Item[]): Part {
  const shown = columnsFor(medium, columns, items);
  return { kind: 'table', columns: shown, groups: [{ rows: rowsOf(shown, items) }] };
}

const namesOf = (all: readonly string[]): readonly Words[] =>
  all.flatMap((name, index) => (index === 0 ? [{ name }] : [', ', { name }]));

/** "node01, node02 and 7 more": the first HOSTS_NAMED hosts. */
function firstHosts(all: readonly string[]): readonly Words[] {
  const rest = all.length - HOSTS_NAMED;
  return [...namesOf(all.slice(0, HOSTS_NAMED)), rest > 0 ? ` and ${formatCount(rest)} more` : ''];
}

/** A used share of the request, in the colour of the verdict. */
export const toned = (part: number | null): Piece =>
  part === null ? NONE : { tone: shareTone(part), says: formatPercent(part) };

export function titleOf({ owner, clusters }: Report): readonly Words[] {
  if (owner !== null) return ['Jobs of ', { name: owner }];
  return clusters.length === 0 ? ['Memory report'] : ['Memory report of ', ...namesOf(clusters)];
}

/** What stands above the sections, beside the figures that each renderer draws in its own way. */
export function overview(report: Report): readonly Part[] {
  const { site } = report;
  if (site.records === 0) return [paragraph('No job ended in this time.')];
  const energy = energyText(site);
  return [
    paragraph(wasteText(report)),
    paragraph(energy === null ? null : `Energy charged to these jobs: ${energy}.`),
    note(leftOutText(site)),
    note(gridEngineText(site, '·')),
  ];
}

function silent({ silent_nodes: nodes, hosts_without_jobs: idle }: Report): Section {
  const quiet = `${plural(idle.length, 'host')} with jobs in the week before and none now: `;
  const more = nodes.length - HOSTS_NAMED;
  return {
    title: nodes.length === 0 ? 'Hosts without jobs' : 'Silent nodes',
    parts: [
      {
        kind: 'hosts',
        alert: true,
        hosts: nodes
          .slice(0, HOSTS_NAMED)
          .map((node) => ({ host: node.host, tone: 'warning', says: silentText(node) })),
      },
      note(more > 0 ? `And ${formatCount(more)} more: --format json has them all.` : null),
      note(idle.length === 0 ? null : [quiet, ...firstHosts(idle), '.']),
    ],
  };
}

function hostProblems({ host_problems: hosts }: Report): Section {
  const more = hosts.length - HOSTS_NAMED;
  return {
    title: 'Hosts with problems',
    parts: [
      {
        kind: 'hosts',
        alert: false,
        hosts: hosts.slice(0, HOSTS_NAMED).map(({ host, state, problems }) => ({
          host,
          tone: state === 'critical' ? 'bad' : 'warning',
          says: { sentence: problems.join('; ') },
        })),
      },
      note(more > 0 ? `And ${formatCount(more)} more: see "qmemacct nodes".` : null),
    ],
  };
}

const GROUP_COLUMNS: readonly ColumnOf<ReportGroup>[] = [
  { head: 'jobs', align: 'right', cell: ({ sums }) => formatCount(sums.jobs) },
  { head: 'slot h', align: 'right', dispensable: 4, wide: true, cell: ({ sums }) => formatNumber(sums.core_hours) },
  { head: 'CPU', align: 'right', dispensable: 2, wide: true, cell: ({ sums }) => share(sums.cpu_efficiency) || NONE },
  { head: 'requested', align: 'right', cell: ({ sums }) => formatNumber(sums.requested_gib_hours) },
  {
    head: 'limit',
    align: 'right',
    dispensable: 9,
    wide: true,
    cell: ({ sums }) => formatNumber(sums.limit_gib_hours),
    if: ({ sums }) => Math.abs(sums.limit_gib_hours - sums.requested_gib_hours) > 0.01 * sums.requested_gib_hours,
  },
  {
    head: 'with peak',
    align: 'right',
    dispensable: 3,
    cell: ({ sums }) => withPeakAmount(sums),
    if: ({ sums }) => isPartlyKnown(sums),
  },
  { head: 'peak', align: 'right', dispensable: 1, wide: true, cell: ({ sums }) => peakAmount(sums) },
  { head: 'mean', align: 'right', dispensable: 6, wide: true, cell: ({ sums }) => meanAmount(sums) },
  { head: 'peak %', align: 'right', cell: ({ sums }) => toned(sums.peak_efficiency) },
  { head: '', wide: true, width: '12%', only: 'html', cell: ({ sums }) => ({ gauge: sums.peak_efficiency }) },
  {
    head: 'mean %',
    align: 'right',
    dispensable: 5,
    only: 'text',
    cell: ({ sums }) => toned(sums.memory_efficiency),
  },
  { head: 'waste', align: 'right', cell: ({ sums }) => wasteAmount(sums) },
  {
    head: 'killed',
    align: 'right',
    dispensable: 7,
    wide: true,
    cell: ({ sums: { killed_by_memory: killed } }) => (killed === 0 ? '' : { tone: 'bad', says: formatCount(killed) }),
  },
  {
    head: 'kWh',
    align: 'right',
    dispensable: 8,
    wide: true,
    cell: ({ sums: { energy_kwh: energy } }) => (energy === null ? '' : formatNumber(energy)),
  },
];

function groups(report: Report, medium: Medium): Section {
  const what = DIMENSION_NAMES[report.by];
  const shown = report.groups.slice(0, GROUPS_SHOWN);
  const rest = report.groups.length - shown.length;
  const named: ColumnOf<ReportGroup> = {
    head: what,
    shrinksTo: 12,
    cell: ({ name }) => (name === null ? NONE : { name }),
  };
  const withPeak = shown.some(({ sums }) => isPartlyKnown(sums))
    ? `; with peak: what was requested where the peak is known, of which peak % and waste are${medium === 'text' ? '; mean %: where the mean is known' : ''}`
    : '';
  return {
    title: `By ${what}`,
    flush: true,
    parts: [
      tableOf(medium, [named, ...GROUP_COLUMNS], shown),
      note(rest > 0 ? `And ${formatCount(rest)} more: --format csv has them all.` : null),
      note(
        `Requested, peak, mean, waste: GiB·h, of jobs with a request where any has one; peak: the highest reached; mean: average over time; waste: requested minus peak${withPeak}.`,
      ),
    ],
  };
}

type LineColumn = ColumnOf<JobLine>;

/** The columns that name a line's jobs, and with `withOwner` their owner, whom HTML shows under the job's name. */
const jobColumns = (withOwner: boolean): readonly LineColumn[] => [
  { head: 'job', only: 'text', shrinksTo: 20, cell: shortLineJob },
  { head: 'name', only: 'text', shrinksTo: 8, cell: ({ job_name: name }) => (name === null ? '' : { name }) },
  ...(withOwner ? [OWNER] : []),
  {
    head: 'job',
    only: 'html',
    width: '36%',
    cell: (line) => [
      line.job_name === null ? NONE : { name: line.job_name },
      { small: [...(withOwner && line.owner !== null ? [{ name: line.owner }, ' · '] : []), lineJob(line)] },
    ],
  },
];
const OWNER: LineColumn = {
  head: 'owner',
  only: 'text',
  dispensable: 2,
  shrinksTo: 8,
  cell: ({ owner }) => (owner === null ? '' : { name: owner }),
};
const HOST: LineColumn = {
  head: 'host',
  hosts: true,
  dispensable: 2,
  shrinksTo: 8,
  wide: true,
  cell: ({ hosts }) => (hosts.length === 1 ? namesOf(hosts) : `${hosts.length} hosts`),
};
const LIMIT: LineColumn = {
  head: 'limit',
  align: 'right',
  dispensable: 4,
  cell: ({ limit_bytes: limit }) => (limit === null ? NONE : formatRequested(limit)),
};
const PEAK: LineColumn = { head: 'peak', align: 'right', cell: peakText };
const WASTE: LineColumn = {
  head: 'waste',
  align: 'right',
  dispensable: 3,
  wide: true,
  cell: (line) => formatNumber(line.waste_gib_hours),
};
const ENDED: LineColumn = { head: 'ended', dispensable: 1, shrinksTo: 8, wide: true, cell: ({ ending }) => ending };
const NEXT: LineColumn = {
  head: 'next time',
  shrinksTo: 20,
  cell: (line) => {
    const request = nextRequest(line);
    return request === null ? NONE : { code: request };
  },
};
const RISK: LineColumn = { head: 'risk', align: 'right', dispensable: 5, wide: true, cell: nextRisk };

function lines(medium: Medium, columns: readonly LineColumn[], list: JobList): readonly Part[] {
  return [tableOf(medium, columns, list.lines), note(countedNote(list)), note(listNote(list))];
}

function wasters(report: Report, medium: Medium): Section {
  if (report.owner !== null) {
    const columns = [...jobColumns(false), LIMIT, PEAK, WASTE, ENDED, NEXT, RISK];
    return {
      title: 'Jobs with the largest waste',
      parts: [...report.wasters.flatMap(({ jobs }) => lines(medium, columns, jobs)), note(linesText(report.wasters))],
    };
  }
  const columns = columnsFor(medium, [...jobColumns(false), LIMIT, PEAK, WASTE, NEXT, RISK], []);
  const shown = report.wasters.filter(isNamed);
  const of = shown.map(({ name, sums, share_of_waste: part, jobs }) => ({
    head: {
      name,
      says: `${memoryTime(sums.waste_gib_hours)}, ${formatPercent(part)} of all waste`,
      share: part,
      note: listNote(jobs),
    },
    rows: rowsOf(columns, jobs.lines),
  }));
  return {
    title: 'Largest waste, and the jobs that make it',
    parts: [{ kind: 'table', columns, groups: of }, note(linesText(shown))],
  };
}

function killed(report: Report, medium: Medium): Section {
  const { killed_by_memory: list, site, owner } = report;
  const columns = columnsFor(medium, [...jobColumns(owner === null), HOST, LIMIT, PEAK, ENDED, NEXT], list.lines);
  const rows = list.lines.flatMap((line) => {
    const cause = causeText(line);
    const remark = cause === null ? {} : { remark: { of: jobTaskName(line), says: { sentence: cause } } };
    return rowsOf(columns, [line]).map((row) => ({ ...row, ...remark }));
  });
  return {
    title: 'Ended by memory',
    parts: [
      paragraph(killedText(list, site)),
      { kind: 'table', columns, groups: [{ rows }] },
      note(otherwiseText(list)),
      note(countedNote(list)),
      note(listNote(list)),
    ],
  };
}

function farBelow({ far_below: list, site }: Report, medium: Medium): Section {
  const columns = [...jobColumns(true), LIMIT, PEAK, WASTE, NEXT, RISK];
  return {
    title: 'Far below their request',
    parts: [paragraph(farBelowText(list, site)), ...lines(medium, columns, list)],
  };
}

const CLASS_COLUMNS: readonly ColumnOf<ClassLine>[] = [
  { head: 'class', cell: (line) => line.class },
  { head: 'runs', align: 'right', cell: ({ runs }) => formatCount(runs) },
  { head: 'users', align: 'right', dispensable: 1, cell: ({ owners }) => formatCount(owners) },
  { head: 'cost', align: 'right', cell: (line) => costText(line, '·') },
  { head: 'the costliest', shrinksTo: 16, cell: (line) => ({ sentence: costliestText(line) }) },
];

function classes({ classes: found }: Report, medium: Medium): readonly Section[] {
  if (found === null || found.lines.length === 0) return [];
  return [{ title: 'Classes', parts: [tableOf(medium, CLASS_COLUMNS, found.lines), note(judgedText(found))] }];
}

function waits({ waits: found }: Report): readonly Section[] {
  if (found.queues.length === 0) return [];
  const { columns, rows } = waitTable(found.queues, (name) => ({ name }));
  return [
    {
      title: WAITS_TITLE,
      parts: [
        { kind: 'table', columns, groups: [{ rows: rows.map((cells) => ({ cells })) }] },
        note(WAITS_TEXT),
        note(listNote(found)),
      ],
    },
  ];
}

/** All sections between the overview and the charts, which each renderer draws in its own way. */
export function sectionsOf(report: Report, medium: Medium): readonly Section[] {
  const warnings = [silent(report), hostProblems(report)];
  if (report.site.records === 0) return warnings;
  const jobs =
    report.owner === null
      ? [groups(report, medium), wasters(report, medium), killed(report, medium), farBelow(report, medium)]
      : [killed(report, medium), wasters(report, medium), groups(report, medium)];
  return [...warnings, ...jobs, ...classes(report, medium), ...waits(report)];
}

/** The last section. */
export function coverageSection({ coverage, site }: Report): Section {
  const { records, sampled, reasons } = coverage;
  return {
    title: 'Coverage',
    parts:
      site.records === 0
        ? []
        : [
            paragraph(coverageText(coverage)),
            ...(records === 0 ? [] : [{ kind: 'bar', share: sampled / records } as const]),
            {
              kind: 'counts',
              counts: reasons.map((reason) => ({ count: formatCount(reason.records), says: reason.says })),
            },
          ],
  };
}
