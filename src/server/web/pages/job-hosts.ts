import type { HostSum, JobSum } from '../../../accounting/job-sum';
import { figureOf, shareOfLimit } from '../../../record/peak-figure';
import { formatPeak } from '../../../report/format/bracket';
import { formatCount, formatPercent, formatRequested } from '../../../report/format/units';
import type { Screen } from '../../../report/screen/screen';
import { shareBar } from '../charts/bar';
import { html, named, type Child, type Html } from '../html';
import { section } from '../layout';
import { table } from '../table';

/** So many hosts are listed: those with the largest peaks. */
const LISTED = 100;

function cellsOf(host: HostSum, screen: Screen): readonly Child[] {
  const share = shareOfLimit(host.peak_rss, host.limit_bytes);
  const peak = host.peak_rss === null ? screen.glyphs.none : formatPeak(host.peak_rss, screen.glyphs);
  return [
    host.master ? html`${named(host.host)} (master)` : named(host.host),
    host.slots,
    host.limit_bytes === null ? '' : formatRequested(host.limit_bytes),
    host.seen ? peak : 'not sampled',
    share === null ? '' : formatPercent(share),
    share === null ? null : shareBar(share),
    host.cpu_efficiency === null ? '' : formatPercent(host.cpu_efficiency),
  ];
}

/** The hosts of a parallel job, the largest peak first. */
export function hostsPart({ hosts }: JobSum, screen: Screen): Html {
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
  return section(
    'Hosts',
    table(
      'Limit and peak on each host, the largest peak first',
      columns,
      sorted.slice(0, LISTED).map((host) => cellsOf(host, screen)),
    ),
    rest > 0 ? html`<p class="faint">And ${formatCount(rest)} more with smaller peaks.</p>` : null,
  );
}
