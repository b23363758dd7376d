import { DAY_MS, HOUR_MS } from '../../base/units';
import type { JobRecord } from '../../record/record';
import {
  dayBegin,
  READ_PER_LIST,
  recordsOn,
  type Asked,
  type Days,
  type ReportQuestion,
  type ReportReader,
} from './ask';
import { hostProblems, hostsWithoutJobs, silentNodes } from './coverage';
import { heavyDays, type DayWeight, type HeavyDays } from './heavy-days';
import type { Report } from './report';

const LOST_HOSTS = 50;
/** In a shorter period it is not remarkable if a host has no jobs. */
const SILENCE_MS = 20 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

/** The days on which samplers were lost, asked for one by one: a summary counts them for its whole interval only. */
async function daysWithLost(reader: ReportReader, all: Asked, days: readonly DayWeight[]): Promise<HeavyDays> {
  if (days.reduce((sum, { records }) => sum + records, 0) <= READ_PER_LIST) return heavyDays(days, all, READ_PER_LIST);
  const weights: DayWeight[] = [];
  for (const one of days) {
    const since = Date.parse(one.day);
    const { coverage } = await reader.summary({ ...all, since, until: since + DAY_MS, by: 'cluster' });
    weights.push({ ...one, weight: coverage['sampler-lost'] });
  }
  return heavyDays(weights, all, READ_PER_LIST);
}

async function lastOfLostHosts(
  reader: ReportReader,
  all: Asked,
  days: readonly DayWeight[],
): Promise<readonly JobRecord[]> {
  const where = await daysWithLost(reader, all, days);
  const lost = await recordsOn(reader, where, { ...all, states: ['lost'] });
  const hosts = new Set(lost.records.map(({ host }) => host));
  const last: JobRecord[] = [];
  for (const host of [...hosts].slice(0, LOST_HOSTS)) {
    const { records } = await reader.records({ ...all, host, limit: 1, totals: false });
    last.push(...records.map(({ record }) => record));
  }
  return last;
}

/** Hosts that may have fallen silent; none for one owner or a short period. `lost`: whether any sampler was lost. */
export async function askForHosts(
  reader: ReportReader,
  all: Asked,
  lost: boolean,
  days: Days,
): Promise<Pick<Report, 'silent_nodes' | 'hosts_without_jobs'>> {
  if (all.owner !== undefined || all.until - all.since < SILENCE_MS)
    return { silent_nodes: [], hosts_without_jobs: [] };
  const first = dayBegin(all.since);
  const before = await reader.summary({ ...all, since: first - WEEK_MS, until: first, by: 'host' });
  const during = await reader.summary({ ...all, by: 'host' });
  const everyDay = days(() => 1);
  const last = lost ? await lastOfLostHosts(reader, all, everyDay) : [];
  const found = { before: before.groups, during: during.groups, last };
  return { silent_nodes: silentNodes(found), hosts_without_jobs: hostsWithoutJobs(found) };
}

/**
 * Problems by the heartbeats of the last week; none for one owner, or if the period ended more than a day ago, since
 * heartbeats show the hosts as they are now.
 */
export async function askForProblems(
  reader: ReportReader,
  { owner, now, until, cluster }: ReportQuestion,
): Promise<Report['host_problems']> {
  if (owner !== null || now.getTime() - until.getTime() > DAY_MS) return [];
  const heartbeats = await reader.nodes({ since: now.getTime() - WEEK_MS });
  return hostProblems(
    heartbeats.filter((heartbeat) => cluster === null || heartbeat.cluster === cluster),
    now,
  );
}
