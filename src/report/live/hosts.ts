import { H_VMEM } from '../../gridengine/memory-complex';
import type { ClusterView, HostView } from '../../live/cluster-view';
import type { Screen } from '../screen/screen';
import { unbroken, wrap } from '../screen/layout';
import { renderHeadline } from './headline';
import { describeTotals, totalHosts } from './host-totals';
import { HOST_COLUMNS } from './hosts-table';
import { countText } from './jobs';
import { chooseColumns, renderRows, type LiveColumn } from './live-column';
import { memoryBarLegend } from './memory-bar';
import { hostRows, PART_COLUMNS, type PartRow } from './parts-table';

/** What `qmemacct hosts` shows: hosts chosen from those of a view. */
export interface HostsReport {
  readonly view: ClusterView;
  readonly hosts: readonly HostView[];
  /** With the jobs of each. */
  readonly details: boolean;
}

const INDENT = 2;

/** Columns for all hosts, of which only some may be shown at a time. */
export interface HostColumns {
  readonly hosts: readonly LiveColumn<HostView>[];
  readonly parts: readonly LiveColumn<PartRow>[] | null;
}

export function chooseHostColumns(hosts: readonly HostView[], details: boolean): HostColumns {
  return {
    hosts: chooseColumns(HOST_COLUMNS, hosts),
    parts: details ? chooseColumns(PART_COLUMNS, hosts.flatMap(hostRows)) : null,
  };
}

/** A line of the list: a host, or what a job has on the host above. */
export type HostLine = { readonly host: HostView } | { readonly row: PartRow };

/** All lines in order. */
export function hostLines(hosts: readonly HostView[], details: boolean): readonly HostLine[] {
  return hosts.flatMap((host): HostLine[] => [
    { host },
    ...(details ? hostRows(host).map((row): HostLine => ({ row })) : []),
  ]);
}

const hostsOf = (lines: readonly HostLine[]): readonly HostView[] =>
  lines.flatMap((line) => ('host' in line ? [line.host] : []));

const rowsOf = (lines: readonly HostLine[]): readonly PartRow[] =>
  lines.flatMap((line) => ('row' in line ? [line.row] : []));

/** The heads of the columns, and these lines, some of the list or all, rendered; `beside` as in renderRows. */
export function renderHostLines(
  lines: readonly HostLine[],
  columns: HostColumns,
  screen: Screen,
  beside: readonly HostLine[] = [],
): { readonly head: readonly string[]; readonly body: readonly string[] } {
  const [hostHead, ...hostBody] = renderRows(columns.hosts, hostsOf(lines), screen, { beside: hostsOf(beside) });
  const indent = ' '.repeat(INDENT);
  const [partHead, ...partBody] = renderRows(columns.parts ?? [], rowsOf(lines), screen, {
    width: screen.width - INDENT,
    beside: rowsOf(beside),
  }).map((line) => `${indent}${line}`);
  let host = 0;
  let row = 0;
  const body = lines.map((line) => ('host' in line ? hostBody[host++] : partBody[row++]) ?? '');
  // There are as many lines of heads whatever part of the list is shown.
  const heads = columns.parts === null ? [hostHead] : [hostHead, partHead];
  return { head: heads.map((head) => head ?? ''), body };
}

/** What the columns mean. */
function hostsLegend(hosts: readonly HostView[], screen: Screen): readonly string[] {
  const { strandedMemory, strandedSlots } = totalHosts(hosts);
  const complex = screen.safe(hosts[0]?.complex ?? H_VMEM);
  return [
    `${memoryBarLegend(screen)}      used: peak so far; %: used of requested; total: ${complex} of the host, else its memory`,
    ...(strandedMemory > 0 || strandedSlots > 0
      ? ['stranded: memory on a host without a free slot, or slots on a host without free memory']
      : []),
  ];
}

/** The hosts, a line each, with their jobs below where asked for, and sums over the hosts. */
export function renderHosts({ view, hosts, details }: HostsReport, screen: Screen): string[] {
  const columns = chooseHostColumns(hosts, details);
  const { head, body } = renderHostLines(hostLines(hosts, details), columns, screen);
  return [
    renderHeadline(countText(hosts.length, view.hosts.length, 'hosts'), view, 'hosts', screen),
    '',
    ...(hosts.length === 0 ? ['No host matches.'] : [...head, ...body, '']),
    ...describeTotals(totalHosts(hosts), screen).flatMap((line) => wrapIndented(line, screen)),
    '',
    ...hostsLegend(hosts, screen).flatMap((line) => wrap(line, screen.width)),
  ];
}

const TOTALS_INDENT = 10;

/** Wraps a line; a number stays on the line of its unit. */
function wrapIndented(line: string, screen: Screen): string[] {
  return wrap(line.replace(/\d (?=[%BKMGTPE])/g, unbroken), screen.width - TOTALS_INDENT).map((part, index) =>
    index === 0 ? part : ' '.repeat(TOTALS_INDENT) + part,
  );
}
