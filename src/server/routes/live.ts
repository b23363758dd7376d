import { integer, object, string } from '../../base/shape';
import { snapshotToJson } from '../../live/snapshot-json';
import { escapeJson } from '../../report/format/escape';
import { HOSTS_SCHEMA, JOBS_SCHEMA, hostsJson, jobsJson, risksJson, RISKS_SCHEMA } from '../../report/live/json';
import {
  chooseHosts,
  chooseJobs,
  chooseRisks,
  HOSTS_OPTIONS,
  JOBS_OPTIONS,
  RISK_OPTIONS,
} from '../../report/live/live-options';
import { answerFromLive } from './live-answer';
import { queryOptions } from './parameter';
import { route, type Route } from './route';

const snapshotRoute = route({
  path: '/v1/snapshot',
  description: 'what qmaster said last, as qmemacct itself keeps it; for its live commands, of the same version',
  parameters: queryOptions({ pending: JOBS_OPTIONS.pending }),
  schema: object({ version: integer(), cluster: string }).schema,
  problems: [503],
  answer: (asked) => {
    const { pending = false } = asked.values;
    // qmaster is asked for pending jobs only while somebody wants them.
    if (pending) void asked.site.wantPending();
    return answerFromLive(
      asked,
      { key: `snapshot ${pending}` },
      ({ snapshot }) => `${escapeJson(snapshotToJson(pending ? snapshot : { ...snapshot, pending: null }))}\n`,
    );
  },
});

const liveRoute = route({
  path: '/v1/live',
  description: 'the jobs and tasks that run, with their requests, limits, memory and trends: what "live --json" prints',
  parameters: queryOptions(JOBS_OPTIONS),
  schema: JOBS_SCHEMA,
  problems: [503],
  answer: (asked) => {
    if (asked.values.pending === true) void asked.site.wantPending();
    return answerFromLive(asked, { key: `live ${JSON.stringify(asked.values)}` }, ({ view }) =>
      jobsJson(chooseJobs(view, asked.values)),
    );
  },
});

const hostsRoute = route({
  path: '/v1/hosts',
  description:
    'the hosts, with what is requested, used and free on each, and every job there: what "hosts --json" prints',
  parameters: queryOptions(HOSTS_OPTIONS),
  schema: HOSTS_SCHEMA,
  problems: [503],
  answer: (asked) =>
    answerFromLive(asked, { key: `hosts ${JSON.stringify(asked.values)}` }, ({ view }) =>
      hostsJson({ ...chooseHosts(view, asked.values), details: true }),
    ),
});

const atRiskRoute = route({
  path: '/v1/at-risk',
  description:
    'the jobs that are at their limit, or reach it soon as they grow now: what "live --at-risk --json" prints',
  parameters: queryOptions(RISK_OPTIONS),
  schema: RISKS_SCHEMA,
  problems: [503],
  answer: (asked) =>
    answerFromLive(asked, { key: `at-risk ${JSON.stringify(asked.values)}` }, ({ view }) =>
      risksJson(chooseRisks(view, asked.values, asked.now)),
    ),
});

export const LIVE_ROUTES: readonly Route[] = [snapshotRoute, liveRoute, hostsRoute, atRiskRoute];
