import { METRICS_TYPE, renderMetrics } from '../../export/prometheus/metric';
import { SERVER_METRICS } from '../../export/prometheus/server-metrics';
import { makeBody } from '../http/body';
import { redactView } from '../access/redaction';
import { route } from './route';

export const metricsRoute = route({
  path: '/metrics',
  description:
    "for Prometheus: hosts, queues, owners, projects, kinds of jobs, the waste of the last 24 hours, heartbeats of hosts, and the server's health",
  parameters: {},
  type: METRICS_TYPE,
  answer: async ({ site, access, now, requester }) => {
    const [day, heartbeats] = await Promise.all([site.metrics.day(access), site.metrics.heartbeats(access)]);
    const live = site.live.current();
    const figures = {
      snapshot: live?.snapshot ?? null,
      day,
      heartbeats: heartbeats ?? [],
      accountingProblem: site.accounting.problem(),
      inbox: site.inbox(),
      version: site.version,
      startedAt: site.startedAt,
      nowMs: now,
      mostJobs: site.settings.metrics_jobs,
    };
    const body = await site.turns.take(requester, () => {
      const view = live?.view ? redactView(live.view, access) : null;
      return makeBody(METRICS_TYPE, renderMetrics(SERVER_METRICS, { ...figures, view }));
    });
    return { body, maxAge: 0 };
  },
});
