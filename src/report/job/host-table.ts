import type { HostSum, Imbalance, JobSum } from '../../accounting/job-sum';
import { figureOf, shareOf as shareOfWhole } from '../../record/peak-figure';
import { renderBar, shareTone } from '../screen/gauge';
import { formatHeld, formatPeak } from '../format/bracket';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';
import { formatCount, formatNumber, formatPercent, formatRequested, plural } from '../format/units';
import { wrap } from '../screen/layout';

/**
 * At most this many hosts are listed without --all-hosts: half with the largest peaks per slot, half with the smallest.
 */
const LISTED_UNASKED = 20;
const BAR_WIDTH = 10;
/** A smaller ratio is not reported as an imbalance. */
const REMARKABLE = 1.05;
/** At most this many hosts without a record are named. */
const NAMED = 8;

const COLUMNS: readonly Column[] = [
  { head: 'host', hosts: true, shrinksTo: 24 },
  { head: 'slots', align: 'right' },
  { head: 'tasks', dispensable: 1 },
  { head: 'limit', align: 'right', dispensable: 3 },
  { head: 'peak', align: 'right' },
  { head: '', dispensable: 2 },
  { head: 'of limit', align: 'right' },
  { head: 'CPU', align: 'right' },
  { head: '', dispensable: 4 },
];

const peakOf = ({ peak_rss: peak }: HostSum): number | null => peak && figureOf(peak);
const perSlot = (host: HostSum): number => (peakOf(host) ?? -1) / Math.max(1, host.slots ?? 1);

function tasksCell({ seen, master, tasks }: HostSum): string {
  if (!seen) return '';
  if (!master) return formatCount(tasks);
  return tasks === 0 ? 'master' : `master + ${formatCount(tasks)}`;
}

/** The peak as a share of the host's limit; without a limit, of the largest peak among the hosts. */
function shareOf(host: HostSum, largest: number): number | null {
  return shareOfWhole(peakOf(host), host.limit_bytes ?? largest);
}

function marks(host: HostSum, sum: JobSum): string {
  const mark = (imbalance: Imbalance | null, what: string): string[] => {
    if (imbalance === null || (imbalance.ratio ?? Infinity) < REMARKABLE) return [];
    if (imbalance.most === host.host) return [`most ${what}`];
    return imbalance.least === host.host ? [`least ${what}`] : [];
  };
  return [...mark(sum.memory_imbalance, 'memory'), ...mark(sum.cpu_imbalance, 'CPU')].join(', ');
}

function cellsOf(host: HostSum, sum: JobSum, largest: number, screen: Screen): string[] {
  const share = shareOf(host, largest);
  const tone = host.limit_bytes === null || share === null ? 'good' : shareTone(share);
  return [
    screen.safe(host.host),
    host.slots === null ? '' : String(host.slots),
    tasksCell(host),
    host.limit_bytes === null ? '' : formatRequested(host.limit_bytes),
    !host.seen ? 'not seen' : host.peak_rss === null ? screen.glyphs.none : formatPeak(host.peak_rss, screen.glyphs),
    share === null ? '' : renderBar(share, BAR_WIDTH, screen, screen.style[tone]),
    host.limit_bytes === null || share === null ? '' : formatPercent(share),
    host.cpu_efficiency === null ? '' : formatPercent(host.cpu_efficiency),
    marks(host, sum),
  ];
}

/**
 * Listed: the master's host, then the hosts with the largest and with the smallest peaks per slot; folded: the others.
 */
function pick(hosts: readonly HostSum[]): { readonly listed: readonly HostSum[]; readonly folded: readonly HostSum[] } {
  const sorted = [...hosts].sort((a, b) => Number(b.master) - Number(a.master) || perSlot(b) - perSlot(a));
  const half = LISTED_UNASKED / 2;
  return { listed: [...sorted.slice(0, half), ...sorted.slice(-half)], folded: sorted.slice(half, -half) };
}

function foldedLine(folded: readonly HostSum[], screen: Screen): string {
  const peaks = folded.flatMap((host) => peakOf(host) ?? []).sort((a, b) => a - b);
  const least = peaks[0];
  const most = peaks.at(-1);
  const range =
    least === undefined || most === undefined
      ? ''
      : `, ${formatHeld(least)} ${screen.glyphs.dash} ${formatHeld(most)} each`;
  return screen.style.faint(`${screen.glyphs.ellipsis} ${formatCount(folded.length)} more${range}: --all-hosts`);
}

function imbalanceWords(sum: JobSum, screen: Screen): string[] {
  const mark = (imbalance: Imbalance | null, what: string): string[] => {
    if (imbalance === null || (imbalance.ratio ?? Infinity) < REMARKABLE) return [];
    const { most, least, ratio } = imbalance;
    return ratio === null
      ? [`${what} per slot: most on ${screen.safe(most)}, none on ${screen.safe(least)}`]
      : [`${what} per slot: on ${screen.safe(most)} ${formatNumber(ratio)} times what it was on ${screen.safe(least)}`];
  };
  return [...mark(sum.memory_imbalance, 'memory'), ...mark(sum.cpu_imbalance, 'CPU time')];
}

/** "2 hosts not seen (n3, n4): ..." */
function notSeenWords(hosts: readonly HostSum[], screen: Screen): string[] {
  const missing = hosts.filter(({ seen }) => !seen).map(({ host }) => screen.safe(host));
  if (missing.length === 0) return [];
  const named = missing.slice(0, NAMED).join(', ') + (missing.length > NAMED ? ` ${screen.glyphs.ellipsis}` : '');
  const count = `${plural(missing.length, 'host')} not seen (${named})`;
  return [
    `${count}: nothing of the job ran there, it ran outside Grid Engine (ssh), or no sampler watches that host's tasks (scope = "node" does)`,
  ];
}

/** The hosts of a parallel job, each with slots, tasks, limit, peak and CPU; hosts without a record, too. */
export function renderHostTable(sum: JobSum, all: boolean, width: number, screen: Screen): string[] {
  const fold = !all && sum.hosts.length > LISTED_UNASKED;
  const { listed, folded } = fold ? pick(sum.hosts) : { listed: sum.hosts, folded: [] };
  const largest = sum.hosts.reduce((most, host) => Math.max(most, peakOf(host) ?? 0), 0);
  const rows = listed.map((host) => cellsOf(host, sum, largest, screen));
  const lines = renderTable(COLUMNS, rows, screen, width);
  const cut = lines.length - LISTED_UNASKED / 2;
  return [
    ...(fold ? [...lines.slice(0, cut), foldedLine(folded, screen), ...lines.slice(cut)] : lines),
    ...[...imbalanceWords(sum, screen), ...notSeenWords(sum.hosts, screen)]
      .flatMap((words) => wrap(words, width))
      .map(screen.style.faint),
  ];
}
