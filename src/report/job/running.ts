import type { Trend } from '../../live/cluster-view';
import { trendOf } from '../../live/trend';
import type { JobRecord, MemorySeries } from '../../record/record';
import { limitOf } from '../../record/request';
import { endOf } from '../../record/record-end';
import { sumOfSeries } from '../../record/sum-of-series';
import { formatClock, formatDay, formatMinute, formatMoment } from '../format/local-time';
import { formatBytes, formatDuration } from '../format/units';
import { unbroken, wrap } from '../screen/layout';
import type { Screen } from '../screen/screen';
import type { JobWhole } from './job-whole';

const CONFIDENCE: Readonly<Record<Trend['confidence'], string>> = {
  high: 'it grows steadily',
  medium: 'it grows fairly evenly',
  low: 'a guess: it grows unevenly, or samples are few',
};

/** What the job held over time on each host that was seen, and the record of that host. */
export function seriesOfHosts({
  sum,
  hosts,
  parts,
}: JobWhole): readonly { readonly record: JobRecord; readonly series: MemorySeries | null }[] {
  return hosts.map((record, index) => {
    const tasks = (parts[index] ?? []).map((task) => ({ series: task.series, to: endOf(task) }));
    return { record, series: sum === null ? record.series : (sumOfSeries(tasks)?.series ?? null) };
  });
}

const timeOf = (ms: number, screen: Screen): string => {
  const date = new Date(ms);
  return formatDay(date) === formatDay(screen.now) ? formatClock(date).slice(0, -3) : formatMinute(date);
};

/**
 * "At this rate it reaches its limit at 14:53 ..."; no lines where it does not, or where the last heartbeat is too old.
 */
export function renderTrend(whole: JobWhole, screen: Screen): string[] {
  const { sum, total } = whole;
  if (total.status !== 'running' || heartbeatOf(total, screen)?.silent) return [];
  const now = screen.now.getTime();
  const trends = seriesOfHosts(whole).flatMap(({ record, series }) => {
    const trend = series === null ? null : trendOf(series, limitOf(record), now, Math.min(now, total.revision));
    return trend?.limitAt == null ? [] : [{ host: record.host, trend, at: trend.limitAt }];
  });
  const [first] = trends.sort((a, b) => a.at - b.at);
  if (first === undefined) return [];
  const { host, trend, at } = first;
  const where = sum === null ? '' : ` on ${screen.safe(host)}`;
  const rate = `${formatBytes(trend.slope * 60)} a minute over the last ${formatDuration(trend.overSeconds)}`;
  const words =
    at <= now
      ? `It has reached its limit${where}, and grows by ${rate}.`
      : `At this rate it reaches its limit${where} at ${timeOf(at, screen)}: ${rate}; ${CONFIDENCE[trend.confidence]}.`;
  return wrap(words, screen.width - 2).map((line) => `  ${screen.style.warning(line)}`);
}

/** Samplers save every 5 s, the node's service every 20 s: figures no older than this are shown without their age. */
const FRESH_SECONDS = 25;
/** So many heartbeats may be missed before a job's node is called silent. */
const MISSED_HEARTBEATS = 5;
/** The interval assumed where heartbeats are switched off. */
const USUAL_HEARTBEAT = 60;

/** The age of a running job's last heartbeat. */
interface Heartbeat {
  readonly seconds: number;
  /** Too many heartbeats are overdue: its node, or the way from there, is down, or it has ended unseen. */
  readonly silent: boolean;
}

/** null: the record does not say that the job runs, or it is fresh. */
export function heartbeatOf(record: JobRecord, screen: Screen): Heartbeat | null {
  if (record.status !== 'running') return null;
  const seconds = (screen.now.getTime() - record.revision) / 1000;
  if (seconds <= FRESH_SECONDS) return null;
  return { seconds, silent: seconds > MISSED_HEARTBEATS * (screen.heartbeatSeconds || USUAL_HEARTBEAT) };
}

const SUSPENDERS: readonly (readonly [letter: string, words: (job: number) => string])[] = [
  ['s', (job) => `Its owner or an admin has suspended it; ${unbroken(`qmod -usj ${job}`)} lets it go on.`],
  ['S', () => 'Its queue is suspended: by an admin, by a calendar, or while jobs run in a queue above it.'],
  ['T', () => 'Its queue suspends it while the load of its host is too high (suspend_thresholds).'],
];

/** What suspends a job with these state letters of Grid Engine; empty: nothing does. */
export const suspendedBy = (letters: string, job: number): readonly string[] =>
  SUSPENDERS.flatMap(([letter, words]) => (letters.includes(letter) ? [words(job)] : []));

/** "running", "running, 43 s ago", "no heartbeat since 2026-11-20 13:02:11". */
export function runningLabel(record: JobRecord, screen: Screen): string {
  const heartbeat = heartbeatOf(record, screen);
  if (heartbeat === null) return 'running';
  if (heartbeat.silent) return `no heartbeat since ${formatMoment(new Date(record.revision))}`;
  return `running, ${formatDuration(heartbeat.seconds)} ago`;
}
