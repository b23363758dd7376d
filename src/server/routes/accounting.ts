import { DAY_MS, HOUR_MS } from '../../base/units';
import { TOTALS_NAMES } from '../../record/totals';
import { RECORD_SORTS } from '../../accounting/sorts';
import type { RecordFilter, RecordsQuery } from '../../accounting/store';
import type { SummaryQuery } from '../../accounting/summary';
import type { Dialect } from '../../gridengine/dialect';
import type { JobOrTask } from '../../live/unfinished-job';
import { MANY_TASKS, MOST_IDS } from '../../accounting/tasks';
import { FIELD_NAMES, STATUSES } from '../../record/fields';
import { nameClass } from '../../record/name-class';
import { programsOf } from '../../record/programs';
import { RISK } from '../../report/advice/class-history';
import type { AccountingQuery } from '../accounting/answer-query';
import { classAnswer } from '../accounting/class-shape';
import { JSON_TYPE, makeBody } from '../http/body';
import { HttpProblem } from '../http/http-problem';
import {
  pathJob,
  pathName,
  queryAmount,
  queryCount,
  queryFlag,
  queryName,
  queryNumbers,
  queryShare,
  queryTime,
  queryWord,
  queryWords,
  type Parameters,
  type Values,
} from './parameter';
import { route, type RouteAnswer, type RouteRequest, type Route, type Site } from './route';
import {
  arrayAnswer,
  jobAnswer,
  MOST_ADVISED,
  MOST_GROUPS,
  MOST_RECORDS,
  nodesAnswer,
  recordsAnswer,
  runningAnswer,
  SUMMARY_KEYS,
  summaryAnswer,
  tasksAnswer,
} from '../accounting/answer-shapes';

/** Not kept by clients: the history changes whenever a job ends. */
async function ask(
  { site, access, requester }: RouteRequest<Parameters>,
  question: AccountingQuery,
): Promise<RouteAnswer> {
  return { body: makeBody(JSON_TYPE, await site.accounting.ask(question, access, requester)), maxAge: 0 };
}

/** The values that were given. */
export function definedOnly<T extends object>(values: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };
}

/** As configured, or else what qmaster's own answers show. */
function dialectOf({ settings, live }: Site): Dialect {
  return settings.grid_engine === 'unknown' ? (live.current()?.snapshot.dialect ?? 'unknown') : settings.grid_engine;
}

/** What an address says of a job. */
interface JobValues {
  readonly job: JobOrTask;
  readonly all?: boolean | undefined;
  readonly at?: number | undefined;
  readonly cluster?: string | undefined;
}

export function jobQuestion({ job, ...choice }: JobValues, site: Site): AccountingQuery {
  const task = job.task === null ? {} : { task_id: job.task };
  const query = { job_id: job.job, ...task, ...definedOnly(choice) };
  return { what: 'job', query, dialect: dialectOf(site), rulesFile: site.settings.rules_file };
}

const jobRoute = route({
  path: '/v1/job/{job}',
  description:
    'the records of a job out of the accounting DB, run by run, and why those ended that ended badly (schema 1)',
  parameters: {
    job: pathJob,
    all: queryFlag('every job that has had this number, not only the newest'),
    at: queryTime('the job that had this number at that time'),
    cluster: queryName('of this cluster only'),
  },
  schema: jobAnswer.schema,
  problems: [404, 413, 503],
  answer: (asked) => ask(asked, jobQuestion(asked.values, asked.site)),
});

export function arrayQuestion({ job, cluster }: JobValues, site: Site): AccountingQuery {
  const query = { job_id: job.job, ...definedOnly({ cluster }) };
  return { what: 'array', query, dialect: dialectOf(site), rulesFile: site.settings.rules_file };
}

const arrayRoute = route({
  path: '/v1/array/{job}',
  description:
    'the newest array job of this number, its tasks added up: their peaks, those closest to their limit, how they ended and why, what to request next time',
  parameters: { job: pathJob, cluster: queryName('of this cluster only') },
  schema: arrayAnswer.schema,
  problems: [404, 503],
  answer: (asked) => {
    const { job } = asked.values;
    if (job.task !== null) throw new HttpProblem(404, `a task is not an array; ask /v1/job/${job.job}.${job.task}`);
    return ask(asked, arrayQuestion(asked.values, asked.site));
  },
});

const tasksRoute = route({
  path: '/v1/tasks/{job}',
  description: `the runs of the tasks of an array of more than ${MANY_TASKS} records, in their order, a list for each column: of thousands of tasks many times as fast as /v1/job; ids: some of them, with all columns of the fields`,
  parameters: {
    job: pathJob,
    fields: queryWords('with the columns of these fields (default: all)', FIELD_NAMES),
    ids: queryNumbers('the runs with these ids only', MOST_IDS),
  },
  schema: tasksAnswer.schema,
  problems: [404, 503],
  answer: (asked) => {
    const { job, fields = FIELD_NAMES, ids } = asked.values;
    const rows = ids === undefined ? { more_than: MANY_TASKS } : { ids };
    return ask(asked, { what: 'tasks', query: { job_id: job.job, fields, rows } });
  },
});

/** The interval asked for; by default the last week. Throws HttpProblem if it is empty. */
export function intervalOf(
  since: number | undefined,
  until: number | undefined,
  now: number,
): Pick<RecordFilter, 'since' | 'until'> {
  const interval = { since: since ?? now - 7 * DAY_MS, until: until ?? now };
  if (interval.since >= interval.until)
    throw new HttpProblem(400, '"since" is not before "until": nothing lies between them');
  return interval;
}

/**
 * Extends an interval of two days or more to the beginning of its first day (UTC), so that sums of days answer all of
 * it but today. A shorter one stays as it is.
 */
export function wholeDays({ since, until }: ReturnType<typeof intervalOf>): ReturnType<typeof intervalOf> {
  return { since: until - since < 2 * DAY_MS ? since : Math.floor(since / DAY_MS) * DAY_MS, until };
}

const INTERVAL = {
  since: queryTime('start of the period (default: 7d)'),
  until: queryTime('end of the period, not included (default: now)'),
} as const;

/** Every part of a filter under its own name. */
export const FILTER = {
  ...INTERVAL,
  cluster: queryName('of this cluster'),
  job_id: queryCount('of the jobs that have had this number', Number.MAX_SAFE_INTEGER),
  owner: queryName('of this user'),
  project: queryName('of this project'),
  queue: queryName('in this queue'),
  host: queryName('on this host; names and patterns with * and ?, several with commas'),
  pe: queryName('in this parallel environment'),
  job_name: queryName('of this name, or pattern with * and ?'),
  name_class: queryName('of names that differ in their digits only, each run of which is one #'),
  states: queryWords('in one of these states', STATUSES),
  failed: queryFlag('that ended badly (false: that did not)'),
  sampled: queryFlag('that have samples (false: that have none)'),
  peak_at_least: queryAmount('with a peak, else maxvmem, of at least this many bytes'),
  peak_at_most: queryAmount('with a peak, else maxvmem, of at most this many bytes'),
  limit_at_least: queryAmount('with requested memory on the host of at least this many bytes'),
  limit_at_most: queryAmount('with requested memory on the host of at most this many bytes'),
  share_at_least: queryAmount('with a peak, else maxvmem, of at least this share of the limit (1: all of it)'),
  share_at_most: queryAmount('with a peak, else maxvmem, of at most this share of the limit'),
  wallclock_at_least: queryAmount('that ran at least this many seconds'),
} as const satisfies Readonly<Record<Exclude<keyof RecordFilter, 'self_reported'>, unknown>>;

const next_time = queryFlag(
  `with what to request for the next run of each record, as /v1/job has it (at most ${MOST_ADVISED} records)`,
);

/** Throws HttpProblem if advice is asked for on more records than one answer may have. */
function recordsQuestion(query: RecordsQuery, nextTime = false): AccountingQuery {
  if (!nextTime) return { what: 'records', query };
  if ((query.limit ?? 0) > MOST_ADVISED)
    throw new HttpProblem(400, `next_time goes with at most ${MOST_ADVISED} records; write limit=${MOST_ADVISED}`);
  return { what: 'records', query, nextTime };
}

/** Every part of RecordsQuery: whatever a reader can ask, this route takes. */
const RECORDS = {
  ...FILTER,
  sort: queryWord('largest or latest first (default: time)', RECORD_SORTS),
  limit: queryCount('at most this many records (default: 50)', MOST_RECORDS),
  totals: queryFlag('false: only the records are wanted, and the totals may be zeros'),
} as const satisfies Readonly<Record<Exclude<keyof RecordsQuery, 'self_reported' | 'fields'>, unknown>>;

const SUMMARY = {
  ...FILTER,
  by: queryWord('one group for each of these (default: owner); names that differ in digits are one', SUMMARY_KEYS),
  sort: queryWord(
    'the groups with most of this first (default: requested_gib_hours; days in their order)',
    TOTALS_NAMES,
  ),
  limit: queryCount(`at most this many groups (default: ${MOST_GROUPS})`, MOST_GROUPS),
} as const satisfies Readonly<Record<Exclude<keyof SummaryQuery, 'self_reported'>, unknown>>;

const recordsRoute = route({
  path: '/v1/records',
  description:
    'the records of a time that satisfy every filter given, out of the accounting DB, without their series, and totals over all of them',
  parameters: { ...RECORDS, next_time },
  schema: recordsAnswer.schema,
  problems: [403, 503],
  answer: (asked) => {
    const { since, until, totals, next_time: nextTime, ...choice } = asked.values;
    const query = { ...intervalOf(since, until, asked.now), ...definedOnly(choice) };
    return ask(asked, recordsQuestion(totals === false ? { ...query, totals } : query, nextTime));
  },
});

const summaryRoute = route({
  path: '/v1/summary',
  description:
    'sums over the records of a time that satisfy every filter given: by owner, project ..., by hour of the day, by share of the limit, and why records have no samples',
  parameters: SUMMARY,
  schema: summaryAnswer.schema,
  problems: [403, 503],
  answer: (asked) => {
    const { since, until, by = 'owner', limit = MOST_GROUPS, ...choice } = asked.values;
    const query = { ...intervalOf(since, until, asked.now), by, limit, ...definedOnly(choice) };
    return ask(asked, { what: 'summary', query });
  },
});

const ownerRoute = route({
  path: '/v1/owner/{owner}',
  description:
    "a user's records of a time out of the accounting DB, without their series, and totals over all of that time",
  parameters: {
    owner: pathName('user name'),
    ...INTERVAL,
    sort: queryWord('largest or latest first (default: time)', RECORD_SORTS),
    limit: queryCount('at most this many records (default: 50)', MOST_RECORDS),
    cluster: queryName('of this cluster only'),
    next_time,
  },
  schema: recordsAnswer.schema,
  problems: [403, 503],
  answer: (asked) => {
    const { since, until, next_time: nextTime, ...choice } = asked.values;
    return ask(asked, recordsQuestion({ ...intervalOf(since, until, asked.now), ...definedOnly(choice) }, nextTime));
  },
});

/** A kind of job: its owner and name; the more else is given, the better the advice fits. */
export const CLASS = {
  owner: queryName('of this user'),
  job_name: queryName('of this name; digits stand for any'),
  slots: queryCount('with this many slots', 1_000_000),
  pe: queryName('in this parallel environment'),
  project: queryName('of this project'),
  queue: queryName('in this queue'),
  program: queryName('with this digest of what they run'),
  cluster: queryName('of this cluster (default: that of the newest run)'),
  risk: queryShare('the share of runs that may need more (default: 0.01)'),
} as const;

/** Throws HttpProblem if the owner or the job name is missing. */
export function classQuestion(values: Values<typeof CLASS>): AccountingQuery {
  const { owner, job_name: name, slots = null, pe = null, project = null, queue = null, cluster = null } = values;
  if (owner === undefined || name === undefined)
    throw new HttpProblem(400, 'a kind of job is a user and a job name; write owner=USER&job_name=NAME');
  const programs = programsOf(values.program ?? null, null);
  const fields = { owner, jobName: nameClass(name), slots, pe, project, queue, programs, cluster, complex: null };
  return { what: 'class', query: { fields, risk: values.risk ?? RISK } };
}

const classRoute = route({
  path: '/v1/class',
  description:
    'the latest runs of a kind of job in the last year: what each needed, what to request next and at which risk, what that advice would have done for them, and how their memory went over time',
  parameters: CLASS,
  schema: classAnswer.schema,
  problems: [403, 503],
  answer: (asked) => ask(asked, classQuestion(asked.values)),
});

const runningRoute = route({
  path: '/v1/running',
  description:
    'the last heartbeats of running jobs, from the samplers of all hosts (schema 1); "revision" is their time',
  parameters: {
    since: queryTime('with a heartbeat since then (default: 1h)'),
    cluster: queryName('of this cluster only'),
  },
  schema: runningAnswer.schema,
  problems: [503],
  answer: (asked) => {
    const { since = asked.now - HOUR_MS, ...choice } = asked.values;
    return ask(asked, { what: 'running', query: { since, ...definedOnly(choice) } });
  },
});

const nodesRoute = route({
  path: '/v1/nodes',
  description:
    "what the qmemacct of each host last said of itself, with its deliveries: version, records that wait, listener, clock (schema 1); offset: the host's clock minus the accounting DB's",
  parameters: { since: queryTime('a heartbeat since then (default: 7d)') },
  schema: nodesAnswer.schema,
  problems: [503],
  answer: (asked) => ask(asked, { what: 'nodes', query: { since: asked.values.since ?? asked.now - 7 * DAY_MS } }),
});

export const ACCOUNTING_ROUTES: readonly Route[] = [
  jobRoute,
  arrayRoute,
  tasksRoute,
  ownerRoute,
  recordsRoute,
  summaryRoute,
  classRoute,
  runningRoute,
  nodesRoute,
];
