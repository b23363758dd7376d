import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { metricFacts } from '../../../src/cli/metric-facts';
import { renderMetrics } from '../../../src/export/prometheus/metric';
import { nodeMetrics } from '../../../src/export/prometheus/node-metrics';
import { viewCluster } from '../../../src/live/view';
import type { NodeHeartbeat } from '../../../src/record/node-status';
import type { JobRecord } from '../../../src/record/record';
import { USUAL_RULES } from '../../../src/record/request-rules';
import type { Settings } from '../../../src/record/settings';
import { LiveState } from '../../../src/server/live/live-state';
import { statusOf } from '../../accounting/suite/node-suite';
import { HOSTILE_OWNER, running, sampleRecords, sampleSnapshot } from '../../live/snapshots';
import { killedAtLimit, ordinary } from '../../report/sample-records';
import { memoryAccounting } from '../../server/accounting/memory-accounting';
import { accountOf } from '../../support/records';
import { NOW, startTestSite, type TestSite } from '../../server/test-site';

/** An hour with a limit of 16 GiB, of which 6 were used by Grid Engine's figures. */
const unsampledHour: JobRecord = {
  ...ordinary,
  ...{ wallclock_seconds: 3600, peak_rss: null, grid_engine: accountOf({ maxvmem_bytes: 6 * 1024 ** 3 }) },
};

/** A site in which every metric for Prometheus has a value. */

const HOUR_MS = 3_600_000;
const ago = (hours: number): string => new Date(NOW - hours * HOUR_MS).toISOString();

function ended(job_id: number, owner: string, from: JobRecord = ordinary): JobRecord {
  const times = { submitted_at: ago(4), started_at: ago(3), ended_at: ago(1), revision: NOW - HOUR_MS };
  return { ...from, ...times, job_id, job_name: `${from.job_name ?? ''}_${job_id}`, owner, project: 'genome' };
}

const heartbeat: NodeHeartbeat = {
  ...statusOf('node01', { waiting: 3, waiting_since: ago(2), refused: 1, last_job_at: ago(0.5) }),
  failing_sources: [{ source: 'ipmi', reason: 'ipmitool took longer than 5 s' }],
  heartbeat_at: ago(0.01),
  clock_offset_seconds: -0.25,
};

/** The server of such a site. */
export function fullSite(t: TestContext, settings: Partial<Settings> = {}): Promise<TestSite> {
  const samples = sampleRecords();
  const live = new LiveState({
    makeView: (given) => viewCluster(given, samples, { rules: USUAL_RULES, nowMs: NOW }),
    log: (line) => assert.fail(line),
    overdueMs: 600_000,
    now: () => NOW,
  });
  live.put(sampleSnapshot());
  return startTestSite(t, {
    live,
    accounting: memoryAccounting(
      [ended(1, 'alice'), ended(2, 'bob', killedAtLimit), ended(3, 'a"b\\c\nd', unsampledHour)],
      [heartbeat, { ...heartbeat, host: 'node02', failing_sources: [], listener: null, waiting_since: null }],
    ),
    inbox: () => ({ settled: 5, unreadable: 1 }),
    settings,
  });
}

/** The metrics of a node that has every source. */
export function fullNodeText(): string {
  const facts = metricFacts();
  const series = facts.map(({ name, instance, unit, kind }) => ({
    metric: name,
    instance: instance === null ? '' : 'a"b\\c\nd',
    unit,
    kind: kind === 'counter' ? ('counter' as const) : ('gauge' as const),
    at: [NOW - 1000, NOW],
    values: [1, 42],
  }));
  const limit = { h_vmem: ordinary.h_vmem };
  const records = [
    running(1, 'node01', [5e6, 6e6], limit),
    running(2, 'node01', [7e6], { ...limit, owner: HOSTILE_OWNER }),
  ];
  const outbox = { waiting: 2, oldest: NOW - 5000, refused: 0, reason: null };
  return renderMetrics(nodeMetrics(facts), { series, records, outbox, version: '1.2.3', nowMs: NOW, mostJobs: 1 });
}
