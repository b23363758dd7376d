import { groupBy } from '../../../base/group-by';
import type { ClusterView, JobView } from '../../../live/cluster-view';
import { jobKey } from '../../../report/job/job-run';
import { JOB_COLUMNS } from '../../../report/live/jobs-table';
import type { Screen } from '../../../report/screen/screen';
import { redactView } from '../../access/redaction';
import { arrayAnswer, jobAnswer } from '../../accounting/answer-shapes';
import { HttpProblem } from '../../http/http-problem';
import { arrayQuestion, jobQuestion } from '../../routes/accounting';
import { jobText, pathJob, queryFlag, queryName, queryTime, type JobAndTask } from '../../routes/parameter';
import { route } from '../../routes/route';
import { querySeries } from '../charts/series';
import { html, samePage, type Html } from '../html';
import { HTML_TYPE, section } from '../layout';
import { askIfKnown, type Asker, pageRoute, redirect, RELOAD_SECONDS } from '../page';
import { webScreen } from '../screen';
import { pairs } from '../table';
import { arrayPart, arrayView } from './job-array';
import type { ChartChoice } from './job-chart';
import { runPart, type JobAnswer } from './job-run';

const isAsked = ({ job, task }: JobView, asked: JobAndTask): boolean =>
  job === asked.job && (asked.task === null || task === asked.task);

/** The job's runs that qmaster knows, as the caller may see them; none where it does not answer. */
function runningViews({ site, access }: Asker, asked: JobAndTask): readonly JobView[] {
  const view: ClusterView | null = site.live.current()?.view ?? null;
  if (view === null) return [];
  const jobs = view.jobs.filter((job) => isAsked(job, asked));
  return jobs.length === 0 ? [] : redactView({ ...view, hosts: [], pending: null, jobs }, access).jobs;
}

function livePart(jobs: readonly JobView[], screen: Screen): Html | null {
  const [first, ...others] = jobs;
  if (first === undefined) return null;
  const items = JOB_COLUMNS.flatMap(({ head, cell }) => {
    const text = head === '' ? '' : cell(first, screen);
    return text === '' ? [] : [[head, text] as const];
  });
  const more = others.length === 0 ? null : html`<p class="faint">And ${others.length} more running tasks.</p>`;
  return section('Now, from Grid Engine', pairs(items), more);
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

/** `linkOf`: the page as it was asked for, with changes. */
function reloadLink(reloads: boolean, linkOf: (changes: { readonly reload: 'true' | undefined }) => string): Html {
  const path = linkOf({ reload: undefined });
  return reloads
    ? html`<p class="only-screen">This page reloads every ${RELOAD_SECONDS} s: <a href="${path}">stop</a>.</p>`
    : html`<p class="only-screen" data-live="${RELOAD_SECONDS}">
        This job is running: <a href="${path}">reload</a> now, or
        <a href="${linkOf({ reload: 'true' })}">every ${RELOAD_SECONDS} s</a>.
      </p>`;
}

const jobPage = pageRoute({
  path: '/job/{job}',
  description: 'a job: what it requested and used, how it ended, what to request next time',
  parameters: PARAMETERS,
  make: async (asked) => {
    const { job: wanted, all, at, cluster, series, host, reload = false } = asked.values;
    const linkOf = (changes: Readonly<Record<string, string | undefined>>): string =>
      samePage(`/job/${jobText(wanted)}`, asked.query, changes);
    const chart: ChartChoice = { series, host, linkOf };
    const screen = webScreen(asked.now);
    const running = at === undefined ? runningViews(asked, wanted) : [];
    // Of thousands of tasks the added up answer alone is small.
    const isNewest = wanted.task === null && all !== true && at === undefined;
    const array = isNewest
      ? await askIfKnown(asked, arrayQuestion({ job: wanted, cluster }, asked.site), arrayAnswer)
      : null;
    const answer =
      array === null
        ? await askIfKnown(asked, jobQuestion({ job: wanted, all, at, cluster }, asked.site), jobAnswer)
        : null;
    if (array === null && answer === null && running.length === 0)
      throw new HttpProblem(404, 'no such job is known here; a job appears with its first heartbeat, or when it ends');
    const groups = [...groupBy(answer?.records ?? [], jobKey).values()].reverse();
    const parts = groups.map((runs) => {
      const isArray = new Set(runs.map(({ record }) => record.task_id)).size > 1;
      const given = { runs, causes: answer?.causes ?? [] };
      return isArray ? arrayPart(arrayView(given), screen) : runPart(given, chart, screen);
    });
    if (array !== null) parts.push(arrayPart(array, screen));
    const shown = [...groups.flat(), ...(array?.closest ?? [])];
    const isRunning = running.length > 0 || shown.some(({ record }) => record.status === 'running');
    return {
      title: `Job ${jobText(wanted)}`,
      body: html`${parts.length === 0 ? html`<h1>Job ${jobText(wanted)}</h1>` : parts} ${livePart(running, screen)}
      ${isRunning ? reloadLink(reload, linkOf) : null}
      ${answer === null ? null : othersPart(answer, linkOf({ all: 'true' }))}`,
    };
  },
});

/** Where the field at the top of each page leads. */
const findJob = route({
  path: '/job',
  isForm: true,
  description: 'a job by its number',
  parameters: { job: { ...pathJob, in: 'query' as const } },
  type: HTML_TYPE,
  answer: ({ values: { job } }) => {
    if (job === undefined) throw new HttpProblem(400, 'no job was given; write its number, or number.task');
    return redirect(`/job/${jobText(job)}`);
  },
});

export const JOB_PAGES = [findJob, jobPage];
