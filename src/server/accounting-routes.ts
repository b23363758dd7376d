import type { RecordSort } from '../accounting/store';
import { MOST_RECORDS, type Question } from './accounting-question';
import { JSON_TYPE, makeBody } from './body';
import { HttpProblem } from './http-problem';
import {
  pathJob,
  pathName,
  queryCount,
  queryFlag,
  queryName,
  queryShare,
  queryTime,
  queryWord,
  type Parameters,
} from './parameter';
import { route, type Answered, type Asked, type Route } from './route';
import { component } from './schema';

const SORTS = ['time', 'wallclock', 'cpu', 'peak', 'requested', 'unused'] as const satisfies readonly RecordSort[];

/** The history changes whenever a job ends: asked for anew each time. */
async function ask({ site, sight }: Asked<Parameters>, question: Question): Promise<Answered> {
  return { body: makeBody(JSON_TYPE, await site.accounting.ask(question, sight)), maxAge: 0 };
}

/** What of the values was given. */
function given<T extends object>(values: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };
}

const jobRoute = route({
  path: '/v1/job/{job}',
  says: 'the records of a job out of the accounting DB, run by run (schema 1)',
  parameters: {
    job: pathJob,
    all: queryFlag('every job that has had this number, not only the newest'),
    at: queryTime('the job that had this number at that time'),
    cluster: queryName('of this cluster only'),
  },
  type: JSON_TYPE,
  schema: component('Job'),
  problems: [404, 413, 503],
  answer: (asked) => {
    const { job, ...choice } = asked.values;
    const task = job.task === null ? {} : { task_id: job.task };
    return ask(asked, { what: 'job', query: { job_id: job.job, ...task, ...given(choice) } });
  },
});

const DAY_MS = 86_400_000;

const ownerRoute = route({
  path: '/v1/owner/{owner}',
  says: "a user's records of a time out of the accounting DB, without their series, and totals over all of that time",
  parameters: {
    owner: pathName('user name'),
    since: queryTime('from then on (default: 7d)'),
    until: queryTime('up to, and without, then (default: now)'),
    sort: queryWord('largest or latest first (default: time)', SORTS),
    limit: queryCount('at most so many records (default: 50)', MOST_RECORDS),
    far_below: queryShare('a peak below this share of the limit counts as far below it (default: 0.25)'),
    cluster: queryName('of this cluster only'),
  },
  type: JSON_TYPE,
  schema: component('Owner'),
  problems: [403, 503],
  answer: (asked) => {
    const { owner, since = asked.now - 7 * DAY_MS, until = asked.now, ...choice } = asked.values;
    if (since >= until) throw new HttpProblem(400, '"since" is not before "until": nothing lies between them');
    return ask(asked, { what: 'owner', query: { owner, since, until, ...given(choice) } });
  },
});

const HOUR_MS = 3_600_000;

const runningRoute = route({
  path: '/v1/running',
  says: 'what the samplers of all hosts have told of jobs that run (schema 1), each with the time it is of ("revision")',
  parameters: {
    since: queryTime('heard of then or later (default: 1h)'),
    cluster: queryName('of this cluster only'),
  },
  type: JSON_TYPE,
  schema: component('Running'),
  problems: [503],
  answer: (asked) => {
    const { since = asked.now - HOUR_MS, ...choice } = asked.values;
    return ask(asked, { what: 'running', query: { since, ...given(choice) } });
  },
});

export const ACCOUNTING_ROUTES: readonly Route[] = [jobRoute, ownerRoute, runningRoute];
