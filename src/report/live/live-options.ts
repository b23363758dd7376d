import { DAY_MS, readSpan } from '../../base/units';
import { parsePatterns } from '../../accounting/filter-record';
import type { Schema } from '../../base/shape';
import { FULL_SHARE, jobsAtRisk } from '../../live/at-risk';
import type { ClusterView } from '../../live/cluster-view';
import { keepsJob, NO_FILTER, type LiveFilter } from './filter';
import { HOST_ORDERS, JOB_ORDERS } from './orders';
import type { HostsReport } from './hosts';
import type { JobsReport, RisksReport } from './jobs';
import type { Sorting } from './watch-state';
import { selectHosts, selectJobs, selectPending } from './watch-selection';

/**
 * What can be asked of the running cluster, said once: the options of `live` and `hosts` and the parameters of
 * /v1/live, /v1/hosts and /v1/at-risk are made from these tables, and both are answered by the functions below.
 */
export interface LiveOption<T> {
  /** On the command line: `-o, --owner <names>`. */
  readonly flags: string;
  readonly help: string;
  /** What is wrong with a text for which `read` returns null, and what to write instead. */
  readonly wrong: string;
  readonly write: string;
  readonly schema: Schema;
  /** null: the text is not valid. */
  readonly read: (text: string) => T | null;
}

export type LiveOptions = Readonly<Record<string, LiveOption<unknown>>>;

/** The options of a table that were given. */
export type Given<O extends LiveOptions> = {
  readonly [Name in keyof O]?: (O[Name] extends LiveOption<infer T> ? T : never) | undefined;
};

const LONGEST = 512;
/** Bounds the time of filtering the cluster's view, for which all other requests wait. */
const MOST_PATTERNS = 32;

function names(flags: string, help: string): LiveOption<readonly string[]> {
  return {
    flags,
    help,
    wrong: `names nothing, or more than ${MOST_PATTERNS}`,
    write: 'a name or a glob, several with commas',
    schema: { type: 'string', minLength: 1, maxLength: LONGEST },
    read: (text) => {
      const patterns = text.length <= LONGEST ? [...new Set(parsePatterns(text))] : [];
      return patterns.length === 0 || patterns.length > MOST_PATTERNS ? null : patterns;
    },
  };
}

function word(flags: string, help: string, words: readonly string[]): LiveOption<string> {
  return {
    flags,
    help: `${help}: ${words.join(', ')} (default: ${words[0] ?? ''})`,
    wrong: 'is not a key',
    write: `one of ${words.join(', ')}`,
    schema: { type: 'string', enum: words },
    read: (text) => (words.includes(text) ? text : null),
  };
}

/** How a flag is written in a URL, also without a value. */
export const FLAG: Pick<LiveOption<boolean>, 'write' | 'schema' | 'read'> = {
  write: 'true or false',
  schema: { type: 'string', enum: ['', '1', 'true', '0', 'false'] },
  read: (text) => (['', '1', 'true'].includes(text) ? true : ['0', 'false'].includes(text) ? false : null),
};

/** A flag: on the command line it has no value. */
const flag = (flags: string, help: string): LiveOption<boolean> => ({ flags, help, wrong: 'is neither', ...FLAG });

/** How a share of a whole is written. */
export const SHARE: Pick<LiveOption<number>, 'write' | 'schema' | 'read'> = {
  write: 'a number of 0 to 1',
  schema: { type: 'number', minimum: 0, maximum: 1 },
  read: (text) => (/^\d(?:\.\d{1,9})?$/.test(text) && Number(text) <= 1 ? Number(text) : null),
};

const FILTER = {
  owner: names('-o, --owner <names>', 'jobs of these users: names and globs, "alice,bob*"'),
  job: names('-j, --job <jobs>', 'these jobs or tasks: 4711, 4711.3, "47*"'),
  host: names('-H, --host <names>', 'these hosts, and jobs on them: "node0*,big1"'),
  queue: names('-q, --queue <names>', 'jobs in these queues: all.q, "*@node01"'),
  project: names('-P, --project <names>', 'jobs of these projects'),
};

const ORDER = { reverse: flag('-r, --reverse', 'the other way round') };

const LIMIT: LiveOption<number> = {
  flags: '--limit <n>',
  help: 'at most this many jobs (default: all)',
  wrong: 'is not a number of jobs',
  write: '1 or more',
  schema: { type: 'integer', minimum: 1 },
  read: (text) => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : null),
};

export const JOBS_OPTIONS = {
  ...FILTER,
  sort: word(
    '--sort <key>',
    'order of the jobs',
    JOB_ORDERS.map(({ key }) => key),
  ),
  ...ORDER,
  limit: LIMIT,
  pending: flag('--pending', 'also pending jobs: a server asks qmaster for them from then on'),
};

/** Options for Grid Engine's own XML. */
export const XML_OPTIONS = {
  ...JOBS_OPTIONS,
  full: flag('--full', 'with --xml: as "qstat -F", the queue instances with their resources and the jobs in each'),
};

export const HOSTS_OPTIONS = {
  ...FILTER,
  sort: word(
    '--sort <key>',
    'order of the hosts',
    HOST_ORDERS.map(({ key }) => key),
  ),
  ...ORDER,
};

export const RISK_OPTIONS = {
  ...FILTER,
  limit: LIMIT,
  within: {
    flags: '--within <time>',
    help: 'jobs that will reach their limit within this time, as they grow now: 30m, 2h (default: 1d)',
    wrong: 'is not a span of time',
    write: '30m, 2h or 1d',
    schema: { type: 'string', pattern: '^[0-9]{1,6}[smhdw]$' },
    read: readSpan,
  } satisfies LiveOption<number>,
  share: {
    flags: '--share <part>',
    help: `jobs that use this share of their limit, growing or not (default: ${FULL_SHARE})`,
    wrong: 'is not a share',
    ...SHARE,
  } satisfies LiveOption<number>,
};

/** The filter that the given options make. */
export function filterOf({ owner, job, host, queue, project }: Given<typeof FILTER>): LiveFilter {
  const { any } = NO_FILTER;
  return { owner: owner ?? [], job: job ?? [], host: host ?? [], queue: queue ?? [], project: project ?? [], any };
}

export function jobsSorting({ sort = JOB_ORDERS[0].key, reverse = false }: Given<typeof JOBS_OPTIONS>): Sorting {
  return { key: sort, reverse };
}

export function hostsSorting({ sort = HOST_ORDERS[0].key, reverse = false }: Given<typeof HOSTS_OPTIONS>): Sorting {
  return { key: sort, reverse };
}

function withoutPending(view: ClusterView): ClusterView {
  return { ...view, pending: null, times: { ...view.times, pending: null } };
}

/** The running jobs that are asked for, and the waiting ones if they are. */
export function chooseJobs(known: ClusterView, given: Given<typeof JOBS_OPTIONS>): JobsReport {
  const view = given.pending === true ? known : withoutPending(known);
  const filter = filterOf(given);
  const { limit = Infinity } = given;
  return {
    view,
    jobs: selectJobs(view, filter, jobsSorting(given)).slice(0, limit),
    pending: selectPending(view, filter, { key: 'priority', reverse: false })?.slice(0, limit) ?? null,
  };
}

/** The hosts that are asked for, each with the jobs that are. */
export function chooseHosts(view: ClusterView, given: Given<typeof HOSTS_OPTIONS>): Omit<HostsReport, 'details'> {
  return { view: withoutPending(view), hosts: selectHosts(view, filterOf(given), hostsSorting(given)) };
}

/** The jobs at risk that are asked for, the most urgent first. */
export function chooseRisks(view: ClusterView, given: Given<typeof RISK_OPTIONS>, nowMs: number): RisksReport {
  const { within: withinMs = DAY_MS, share = FULL_SHARE, limit = Infinity } = given;
  const filter = filterOf(given);
  const jobs = view.jobs.filter((job) => keepsJob(filter, job));
  const risks = jobsAtRisk({ jobs }, { withinMs, nowMs, share }).slice(0, limit);
  return { view: withoutPending(view), risks };
}
