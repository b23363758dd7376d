import type { HostSum } from '../../../accounting/job-sum';
import { largestOfKnown } from '../../../base/known';
import { figureOf, shareOfLimit } from '../../../record/peak-figure';
import { formatPeak } from '../../../report/format/bracket';
import { formatCount, formatPercent, formatRequested } from '../../../report/format/units';
import type { JobWhole } from '../../../report/job/job-whole';
import { seriesOfHosts } from '../../../report/job/running';
import { courseOf } from '../../../report/series/course';
import type { Screen } from '../../../report/screen/screen';
import { shareBar } from '../charts/bar';
import { courseChart } from '../charts/course';
import { distribution } from '../charts/quantiles';
import { html, named, type Child, type Html } from '../html';
import { section } from '../layout';
import { table } from '../table';
import type { ChartChoice } from './job-chart';

/** At most this many hosts are listed: those with the largest peaks. */
const LISTED = 100;
/** For fewer hosts, the table alone says enough. */
const MANY = 5;

function cellsOf(host: HostSum, link: string | null, screen: Screen): readonly Child[] {
  const share = shareOfLimit(host.peak_rss, host.limit_bytes);
  const peak = host.peak_rss === null ? screen.glyphs.none : formatPeak(host.peak_rss, screen.glyphs);
  const name = link === null ? named(host.host) : html`<a href="${link}">${named(host.host)}</a>`;
  return [
    host.master ? html`${name} (master)` : name,
    host.slots,
    host.limit_bytes === null ? '' : formatRequested(host.limit_bytes),
    host.seen ? peak : 'not sampled',
    share === null ? '' : formatPercent(share),
    share === null ? null : shareBar(share),
    host.cpu_efficiency === null ? '' : formatPercent(host.cpu_efficiency),
  ];
}

/** The distribution of the peaks of many hosts, and of their memory over time. */
function manyHosts(whole: JobWhole, hosts: readonly HostSum[]): Html | null {
  if (hosts.length < MANY) return null;
  const peaks = hosts.flatMap(({ peak_rss: peak }) => (peak === null ? [] : [figureOf(peak)]));
  const limit = largestOfKnown(hosts.map(({ limit_bytes: bytes }) => bytes));
  const drawn = distribution(peaks, limit, 'Peaks of the hosts');
  const course = courseOf(seriesOfHosts(whole).flatMap(({ series }) => series ?? []));
  const curves = course && courseChart(course, limit, 'hosts');
  return html`${drawn === null ? null : section('Peaks of the hosts, lowest first', drawn)}
  ${curves === null ? null : section('Memory of the hosts, each since its start', curves)}`;
}

/** The hosts of a parallel job, the largest peak first, each with a chart of its own. */
export function hostsPart(whole: JobWhole, { linkOf }: ChartChoice, screen: Screen): Html | null {
  if (whole.sum === null) return null;
  const { hosts } = whole.sum;
  const peakOf = ({ peak_rss: peak }: HostSum): number => (peak === null ? -1 : figureOf(peak));
  const sorted = [...hosts].sort((a, b) => peakOf(b) - peakOf(a));
  const columns = [
    { head: 'host' },
    { head: 'slots', align: 'right' },
    { head: 'limit', align: 'right' },
    { head: 'peak', align: 'right' },
    { head: 'of limit', align: 'right' },
    { head: 'share', bar: true },
    { head: 'CPU', align: 'right' },
  ] as const;
  const rest = hosts.length - LISTED;
  const linkTo = ({ host, seen }: HostSum): string | null => (seen ? linkOf({ host }) : null);
  return html`${manyHosts(whole, hosts)}
  ${section(
    'Hosts',
    table(
      'Limit and peak on each host, the largest peak first',
      columns,
      sorted.slice(0, LISTED).map((host) => cellsOf(host, linkTo(host), screen)),
    ),
    rest > 0 ? html`<p class="faint">And ${formatCount(rest)} more with smaller peaks.</p>` : null,
  )}`;
}
