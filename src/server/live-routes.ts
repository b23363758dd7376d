import { FULL_SHARE, jobsAtRisk, type AtRisk } from '../live/at-risk';
import type { ClusterView } from '../live/cluster-view';
import { plainSnapshot } from '../live/snapshot-json';
import { JSON_TYPE } from './body';
import { ofSnapshot, ofView } from './live-answer';
import { filterView } from './live-filter';
import { queryCount, queryFlag, queryJob, queryName, queryShare } from './parameter';
import { route, type Route } from './route';
import { component, epochMs, list, nullable, number, object, text, word } from './schema';

const FILTER = {
  owner: queryName('jobs of this user'),
  job: queryJob,
  host: queryName('this host, and the jobs that have a part on it'),
  queue: queryName('jobs in this queue, or queue instance'),
  project: queryName('jobs of this project'),
} as const;

const HEAD = { cluster: text, at: nullable(epochMs), times: component('Times'), problems: list(text) };

/** qmaster is asked for them only while somebody wants them. */
const PENDING = queryFlag(
  'also the jobs that wait: qmaster is asked for them from then on, the next answers have them',
);

const snapshotRoute = route({
  path: '/v1/snapshot',
  says: 'what qmaster said last, as qmemacct itself keeps it; for its live commands, of the same version',
  parameters: { pending: PENDING },
  type: JSON_TYPE,
  schema: object<{ version: number; cluster: string }>({ version: number, cluster: text }),
  problems: [503],
  answer: (asked) => {
    const { pending = false } = asked.values;
    if (pending) asked.site.wantPending();
    return ofSnapshot(asked, `snapshot ${pending}`, (snapshot) =>
      plainSnapshot(pending ? snapshot : { ...snapshot, pending: null }),
    );
  },
});

const liveRoute = route({
  path: '/v1/live',
  says: 'the running cluster: hosts, and the jobs and tasks that run, with their requests, limits, memory and trends',
  parameters: { ...FILTER, pending: PENDING },
  type: JSON_TYPE,
  schema: component('Cluster'),
  problems: [503],
  answer: (asked) => {
    const { pending = false, ...filter } = asked.values;
    if (pending) asked.site.wantPending();
    return ofView(asked, `live ${JSON.stringify(asked.values)}`, (view) =>
      filterView(pending ? view : { ...view, pending: null }, filter),
    );
  },
});

type Hosts = Pick<ClusterView, 'cluster' | 'at' | 'times' | 'problems' | 'hosts'>;

const hostsRoute = route({
  path: '/v1/hosts',
  says: 'the hosts, with what is requested, used and free on each, and what every job has there',
  parameters: FILTER,
  type: JSON_TYPE,
  schema: object<Hosts>({ ...HEAD, hosts: list(component('Host')) }),
  problems: [503],
  answer: (asked) =>
    ofView(asked, `hosts ${JSON.stringify(asked.values)}`, (view): Hosts => {
      const { cluster, at, times, problems, hosts } = filterView(view, asked.values);
      return { cluster, at, times, problems, hosts };
    }),
});

interface Risks extends Pick<ClusterView, 'cluster' | 'at' | 'times' | 'problems'> {
  readonly risks: readonly AtRisk[];
}

const DEFAULT_HOURS = 24;
const MOST_HOURS = 8784;
const HOUR_MS = 3_600_000;

const atRiskRoute = route({
  path: '/v1/at-risk',
  says: 'the jobs that are at their limit, or reach it soon as they grow now; the most urgent first',
  parameters: {
    ...FILTER,
    within: queryCount(`how many hours ahead (default: ${DEFAULT_HOURS})`, MOST_HOURS),
    share: queryShare(`at risk from this share of the limit on, growing or not (default: ${FULL_SHARE})`),
  },
  type: JSON_TYPE,
  schema: object<Risks>({
    ...HEAD,
    risks: list(
      object<AtRisk>({
        job: component('RunningJob'),
        part: component('Part'),
        reason: word('full', 'trend'),
        share: nullable(number),
        trend: nullable(component('Trend')),
      }),
    ),
  }),
  problems: [503],
  answer: (asked) => {
    const { within = DEFAULT_HOURS, share = FULL_SHARE, ...filter } = asked.values;
    const options = { withinMs: within * HOUR_MS, nowMs: asked.now, share };
    return ofView(asked, `at-risk ${JSON.stringify(asked.values)}`, (view): Risks => {
      const found = filterView(view, filter);
      const { cluster, at, times, problems } = found;
      return { cluster, at, times, problems, risks: jobsAtRisk(found, options) };
    });
  },
});

export const LIVE_ROUTES: readonly Route[] = [snapshotRoute, liveRoute, hostsRoute, atRiskRoute];
