import { addDays } from 'date-fns/addDays';
import type { HistoryStore } from '../../accounting/history-store';
import type { ImportSums } from '../../accounting/import/import-file';
import { plural } from '../../report/efficiency/words';
import { formatDay, formatMinute } from '../../report/format/local-time';
import { formatMemoryTimes } from '../../report/format/units';
import { rankingOf } from '../../report/records/ranking';
import { rankGroups } from '../../report/records/top';
import type { Screen } from '../../report/screen/screen';

/**
 * What the accounting DB knows now of the time of the imported lines, in three lines: the period with its jobs, the
 * largest waste, and the command that shows more. Rejects with StoreError.
 */
export async function describeFindings(
  store: Pick<HistoryStore, 'summary'>,
  cluster: string,
  { first, last }: NonNullable<ImportSums['ended']>,
  screen: Screen,
): Promise<readonly string[]> {
  const { groups, totals } = await store.summary({ cluster, since: first, until: last + 1, by: 'owner' });
  const { glyphs } = screen;
  const [from, to] = [new Date(first), new Date(last)];
  const ranking = rankingOf('unused', totals);
  const [most] = rankGroups(groups, ranking);
  const asked =
    most?.totals[ranking.byGridEngine ? 'requested_with_grid_engine_gib_hours' : 'requested_with_peak_gib_hours'];
  const { texts, unit } = formatMemoryTimes([most === undefined ? 0 : ranking.of(most.totals), asked ?? 0], glyphs.dot);
  const owner = most?.key == null ? 'nobody by name' : screen.safe(most.key);
  const figure = ranking.byGridEngine ? "Grid Engine's figure (maxvmem)" : 'the measured peaks';
  const waste =
    most === undefined
      ? "not known: no job has both a request of memory and a peak or Grid Engine's figure (maxvmem)"
      : `${owner}, ${ranking.byGridEngine ? '~' : ''}${texts.join(' of ')} ${unit} requested, by ${figure}`;
  const until = addDays(to, 1);
  const interval = `--since ${formatDay(from)}${until < screen.now ? ` --until ${formatDay(until)}` : ''}`;
  return [
    `${formatMinute(from)} ${glyphs.arrow} ${formatMinute(to)}: ${plural(totals.jobs, 'job')} of ${plural(groups.length, 'owner')}`,
    `Largest waste: ${waste}`,
    `Next: qmemacct report ${interval}`,
  ];
}
