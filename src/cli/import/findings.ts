import { addDays } from 'date-fns/addDays';
import type { HistoryStore } from '../../accounting/history-store';
import type { ImportSums } from '../../accounting/import/import-file';
import { formatDay, formatMinute } from '../../report/format/local-time';
import { formatMemoryTimes, jobsText, plural } from '../../report/format/units';
import { RANKINGS } from '../../report/records/ranking';
import { rankGroups } from '../../report/records/top';
import { unusedByGridEngine, unusedOfAll } from '../../report/records/unused';
import { CUT_OFF_MS } from '../../record/record-end';
import type { Totals } from '../../record/totals';
import type { Screen } from '../../report/screen/screen';

/**
 * What the accounting DB now holds for the period of the imported lines, in three lines: the period with its jobs, the
 * largest waste, and the command that shows more. Rejects with StoreError.
 */
export async function describeFindings(
  store: Pick<HistoryStore, 'summary'>,
  cluster: string,
  { first, last }: NonNullable<ImportSums['ended']>,
  screen: Screen,
): Promise<readonly string[]> {
  // A joined record keeps our own end time, which may lie later in the second to which the line's end was cut.
  const { groups, totals } = await store.summary({ cluster, since: first, until: last + CUT_OFF_MS + 1, by: 'owner' });
  const { glyphs } = screen;
  const [from, to] = [new Date(first), new Date(last)];
  const [most] = rankGroups(groups, RANKINGS.unused);
  const owner = most?.key == null ? 'no user by name' : screen.safe(most.key);
  const waste =
    most === undefined
      ? "not known: no job has both a request of memory and a peak or Grid Engine's figure (maxvmem)"
      : `${owner}, ${wasteText(most.totals, glyphs.dot)}`;
  const until = addDays(to, 1);
  const interval = `--since ${formatDay(from)}${until < screen.now ? ` --until ${formatDay(until)}` : ''}`;
  return [
    `${formatMinute(from)} ${glyphs.arrow} ${formatMinute(to)} in the accounting DB: ${jobsText(totals.jobs)} of ${plural(groups.length, 'owner')}`,
    `Largest waste: ${waste}`,
    `Next: qmemacct report ${interval}`,
  ];
}

function wasteText(totals: Totals, dot: string): string {
  const asked = totals.requested_with_peak_gib_hours + totals.requested_with_grid_engine_gib_hours;
  const { texts, unit } = formatMemoryTimes([unusedOfAll(totals), asked], dot);
  const isAbout = unusedByGridEngine(totals) > 0;
  const figure = isAbout ? "Grid Engine's figure (maxvmem)" : 'the measured peaks';
  return `${isAbout ? '~' : ''}${texts.join(' of ')} ${unit} requested, by ${figure}`;
}
