import { COMES_ROUND_MS } from '../../../accounting/attempts';
import { groupBy } from '../../../base/group-by';
import type { ValueOf } from '../../../base/shape';
import { hasTask } from '../../../gridengine/qstat/expand-tasks';
import type { ClusterView, JobView, PendingView } from '../../../live/cluster-view';
import type { JobOrTask } from '../../../live/unfinished-job';
import type { JobRecord } from '../../../record/record';
import { jobKey } from '../../../report/job/job-run';
import { JOB_COLUMNS } from '../../../report/live/jobs-table';
import { jobNumber } from '../../../report/live/labels';
import type { LiveColumn } from '../../../report/live/live-column';
import { PENDING_COLUMNS } from '../../../report/live/pending-table';
import type { Screen } from '../../../report/screen/screen';
import { redactView } from '../../access/redaction';
import { arrayAnswer, jobAnswer } from '../../accounting/answer-shapes';
import { HttpProblem } from '../../http/http-problem';
import { arrayQuestion, jobQuestion } from '../../routes/accounting';
import { pathJob, queryFlag, queryName, queryTime } from '../../routes/parameter';
import { route, type RouteRequest } from '../../routes/route';
import { querySeries } from '../charts/series';
import { html, samePage, type Html } from '../html';
import { HTML_TYPE, section } from '../layout';
import { ageOf, reloadPart } from '../live-parts';
import { askIfKnown, pageRoute, redirect } from '../page';
import { webScreen } from '../screen';
import { pairs } from '../table';
import { arrayPart, arrayView } from './job-array';
import type { ChartChoice } from './job-chart';
import { runPart, type JobAnswer } from './job-run';

const isRunning = ({ job, task }: JobView, asked: JobOrTask): boolean =>
  job === asked.job && (asked.task === null || task === asked.task);

const isWaiting = ({ job, tasks }: PendingView, asked: JobOrTask): boolean =>
  job === asked.job && (asked.task === null || hasTask(tasks ?? '', asked.task));

/**
 * The cluster as the caller may see it, with only the job asked for; null: nothing is known, or another time or cluster
 * is asked for.
 */
function viewOf({ site, access, values: { job, at, cluster } }: Asked): ClusterView | null {
  const view = site.live.current()?.view ?? null;
  if (view === null || at !== undefined || (cluster ?? view.cluster) !== view.cluster) return null;
  const jobs = view.jobs.filter((one) => isRunning(one, job));
  const pending = view.pending?.filter((one) => isWaiting(one, job)) ?? null;
  return redactView({ ...view, hosts: [], jobs, pending }, access);
}

function rowPart<T>(columns: readonly LiveColumn<T>[], row: T, screen: Screen): Html | null {
  const items = columns.flatMap(({ head, cell }) => {
    const text = head === '' ? '' : cell(row, screen);
    return text === '' ? [] : [[head, text] as const];
  });
  return pairs(items);
}

function livePart(view: ClusterView, screen: Screen): Html | null {
  const [first, ...others] = view.jobs;
  if (first === undefined) return null;
  return section(
    'Now, from Grid Engine',
    ageOf(view, 'list', screen),
    rowPart(JOB_COLUMNS, first, screen),
    others.length === 0 ? null : html`<p class="faint">And ${others.length} more running tasks.</p>`,
  );
}

/** Most rows shown: Grid Engine lists the pending tasks of an array in one row for each state. */
const MOST_ROWS = 20;

function waitingPart(view: ClusterView, screen: Screen): Html | null {
  const rows = view.pending ?? [];
  if (rows.length === 0) return null;
  return section(
    'Waiting, by Grid Engine',
    ageOf(view, 'pending', screen),
    ...rows.slice(0, MOST_ROWS).map((row) => rowPart(PENDING_COLUMNS, row, screen)),
  );
}

function othersPart({ older_incarnations: older, newer_incarnations: newer }: JobAnswer, link: string): Html | null {
  if (older + newer === 0) return null;
  return html`<p>Other jobs with this number: ${older + newer}. <a href="${link}">Show all</a></p>`;
}

const PARAMETERS = {
  job: pathJob,
  all: queryFlag('every job that has had this number, not only the newest'),
  at: queryTime('the job that had this number at that time'),
  cluster: queryName('of this cluster only'),
  series: querySeries,
  host: queryName('of a parallel job: the host whose memory is charted'),
  reload: queryFlag('have the browser reload it every 30 s'),
};

type Asked = RouteRequest<typeof PARAMETERS>;

interface Records {
  readonly array: ValueOf<typeof arrayAnswer> | null;
  readonly answer: JobAnswer | null;
  /** Why the accounting DB does not answer; null: it does. */
  readonly problem: HttpProblem | null;
}

/** The records of the job, added up if it is an array job. `here`: the cluster in which it runs. */
async function recordsOf(asked: Asked, here: string | undefined): Promise<Records> {
  const { job, all, at, cluster = here } = asked.values;
  // For thousands of tasks, only the answer that adds them up is small.
  const isNewest = job.task === null && all !== true && at === undefined;
  try {
    const array = isNewest ? await askIfKnown(asked, arrayQuestion({ job, cluster }, asked.site), arrayAnswer) : null;
    const question = jobQuestion({ job, all, at, cluster }, asked.site);
    return { array, answer: array === null ? await askIfKnown(asked, question, jobAnswer) : null, problem: null };
  } catch (error) {
    if (!(error instanceof HttpProblem) || error.httpStatus !== 503) throw error;
    return { array: null, answer: null, problem: error };
  }
}

/** The cluster with the pending job; null: the job is not pending. */
async function viewWhileWaiting(asked: Asked): Promise<ClusterView | null> {
  if (asked.values.at !== undefined) return null;
  await asked.site.wantPending();
  const view = viewOf(asked);
  return view === null || (view.pending ?? []).length === 0 ? null : view;
}

/** Whether the jobs are so long over that another may wait under their number, since job numbers have begun again. */
const mayComeRound = (runs: readonly { readonly record: JobRecord }[], nowMs: number): boolean =>
  runs.length > 0 &&
  runs.every(
    ({ record: { ended_at: end, revision } }) => nowMs - (end === null ? revision : Date.parse(end)) > COMES_ROUND_MS,
  );

/** The parts of the page that show the records, job by job. */
function recordParts({ array, answer }: Records, chart: ChartChoice, screen: Screen): readonly Html[] {
  const groups = [...groupBy(answer?.records ?? [], jobKey).values()].reverse();
  const parts = groups.map((runs) => {
    const isArray = new Set(runs.map(({ record }) => record.task_id)).size > 1;
    const given = { runs, causes: answer?.causes ?? [] };
    return isArray ? arrayPart(arrayView(given), screen) : runPart(given, chart, screen);
  });
  return array === null ? parts : [...parts, arrayPart(array, screen)];
}

interface Found {
  /** The cluster with the job, if it runs. */
  readonly now: ClusterView | null;
  readonly records: Records;
  /** The cluster with the job, if it is pending. */
  readonly waiting: ClusterView | null;
  /** null: it has ended. */
  readonly doing: 'running' | 'waiting' | null;
}

/** All that is known of the job. Throws HttpProblem if nothing is. */
async function lookUp(asked: Asked): Promise<Found> {
  const now = viewOf(asked);
  const isListed = now !== null && now.jobs.length > 0;
  const records = await recordsOf(asked, isListed && asked.values.all !== true ? now.cluster : undefined);
  const { array, answer, problem } = records;
  const isKnown = array !== null || answer !== null || isListed;
  const shown = [...(answer?.records ?? []), ...(array?.closest ?? [])];
  const mayWait = !isKnown || (!isListed && mayComeRound(shown, asked.now));
  const waiting = mayWait ? await viewWhileWaiting(asked) : null;
  if (!isKnown && waiting === null)
    throw problem ?? new HttpProblem(404, 'no such job is known here; one that has ended appears with its record');
  const runs = isListed || shown.some(({ record }) => record.status === 'running');
  return { now, records, waiting, doing: runs ? 'running' : waiting === null ? null : 'waiting' };
}

const jobPage = pageRoute({
  path: '/job/{job}',
  description: 'a job: what it requested and used, how it ended, what to request next time',
  parameters: PARAMETERS,
  make: async (asked) => {
    const { job, series, host, reload = false } = asked.values;
    const linkOf = (changes: Readonly<Record<string, string | undefined>>): string =>
      samePage(`/job/${jobNumber(job)}`, asked.query, changes);
    const screen = webScreen(asked.now);
    const { now, records, waiting, doing } = await lookUp(asked);
    const { answer, problem } = records;
    const parts = recordParts(records, { series, host, linkOf }, screen);
    return {
      title: `Job ${jobNumber(job)}`,
      body: html`${parts.length === 0 ? html`<h1>Job ${jobNumber(job)}</h1>` : parts}
      ${problem === null ? null : html`<p class="alert">${problem.message}</p>`}
      ${now === null ? null : livePart(now, screen)} ${waiting === null ? null : waitingPart(waiting, screen)}
      ${doing === null ? null : reloadPart(reload, (next) => linkOf({ reload: next }), `This job is ${doing}: `)}
      ${answer === null ? null : othersPart(answer, linkOf({ all: 'true' }))}`,
    };
  },
});

/** Blanks come with a number that is copied from a terminal. */
const trimmed: typeof pathJob.read = (text, now) => pathJob.read(text.trim(), now);

/** Where the field at the top of each page leads. */
const findJob = route({
  path: '/job',
  isForm: true,
  description: 'a job by its number',
  parameters: { job: { ...pathJob, in: 'query' as const, read: trimmed } },
  type: HTML_TYPE,
  answer: ({ values: { job } }) => {
    if (job === undefined) throw new HttpProblem(400, 'no job was given; write its number, or number.task');
    return redirect(`/job/${jobNumber(job)}`);
  },
});

export const JOB_PAGES = [findJob, jobPage];
