import type { AtRisk } from '../../src/live/at-risk';
import type { ClusterView } from '../../src/live/cluster-view';
import { viewCluster } from '../../src/live/view';
import { USUAL_RULES } from '../../src/record/request-rules';
import { addToSeries, filled, newSeries } from '../../src/sampler/series/series';
import { answer, hard, listed, running, snapshot } from '../live/snapshots';
import type { MemoryCourse } from './memory-courses';

/** The jobs at risk in a view of the running cluster, computed at each heartbeat. */
export type Watch = (view: ClusterView, nowMs: number) => readonly AtRisk[];

/** When a job was first at risk for each reason, ms since its start; null: never. */
export type Warnings = Readonly<Record<AtRisk['reason'], number | null>>;

const HEARTBEAT_MS = 60_000;
/** Most heartbeats that are played of one job. */
const MOST_LOOKS = 200;
const START = Date.UTC(2026, 0, 1);

/** Plays one job: at each heartbeat the sampler's series so far, in the view that a server makes of it. */
export function replayCourse({ samples, limit, endMs }: MemoryCourse, watch: Watch): Warnings {
  const warned: Record<AtRisk['reason'], number | null> = { full: null, trend: null };
  const startedAt = START;
  const job = listed(1, 'all.q@a', { startedAt, requests: [hard(String(Math.floor(limit)))] });
  const shot = snapshot({ running: answer([job]) });
  const series = newSeries(START);
  const everyMs = Math.max(HEARTBEAT_MS, endMs / MOST_LOOKS);
  let next = 0;
  for (let at = everyMs; at < endMs; at += everyMs) {
    for (let sample = samples[next]; sample !== undefined && sample.at <= at; sample = samples[++next])
      addToSeries(series, START + sample.at, sample.bytes);
    const start = new Date(START).toISOString();
    const record = running(1, 'a', [], {
      revision: START + at,
      started_at: start,
      series: { start, step_seconds: series.stepMs / 1000, others: {}, rss_bytes: [...filled(series)] },
    });
    const nowMs = START + at;
    for (const { reason } of watch(viewCluster(shot, [record], { rules: USUAL_RULES, nowMs }), nowMs))
      warned[reason] ??= at;
    if (warned.full !== null && warned.trend !== null) break;
  }
  return warned;
}
