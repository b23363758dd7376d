import { Latest } from '../../../base/latest';
import type { AtRisk } from '../../../live/at-risk';
import type { ClusterView, HostView, JobView } from '../../../live/cluster-view';
import { formatCount, plural } from '../../../report/format/units';
import { riskLine } from '../../../report/live/at-risk';
import { shareOfJob } from '../../../report/live/figures';
import { describeTotals, totalHosts } from '../../../report/live/host-totals';
import { HOST_COLUMNS } from '../../../report/live/hosts-table';
import { JOB_COLUMNS } from '../../../report/live/jobs-table';
import { jobNumber } from '../../../report/live/labels';
import { chooseHosts, chooseJobs, chooseRisks, JOBS_OPTIONS } from '../../../report/live/live-options';
import { chooseColumns, type LiveColumn } from '../../../report/live/live-column';
import type { Screen } from '../../../report/screen/screen';
import { accessKey } from '../../access/access';
import { HttpProblem } from '../../http/http-problem';
import { visibleOf } from '../../routes/live-answer';
import { queryCount, queryFlag, queryOptions, queryWord } from '../../routes/parameter';
import { route, type RouteRequest } from '../../routes/route';
import { memoryBar, shareBar } from '../charts/bar';
import { hostMap, HOST_SHADES, SHADE_NAMES } from '../charts/host-map';
import { field, hidden } from '../form';
import { html, linkTo, named, samePage, type Child, type Html } from '../html';
import { choices, HTML_TYPE, section, type Page } from '../layout';
import { ageOf, reloadPart } from '../live-parts';
import { pageAnswer, pageBody } from '../page';
import { webScreen } from '../screen';
import { noRows, paging, table } from '../table';

const EACH = 100;
const MOST_PARTS = 1000;
const RISKS = 20;

const { owner, project, queue, host } = queryOptions(JOBS_OPTIONS);
const PARAMETERS = {
  ...{ owner, project, queue, host },
  jobs: queryCount(`part of the jobs, ${EACH} each`, MOST_PARTS),
  hosts: queryCount(`part of the hosts, ${EACH} each`, MOST_PARTS),
  shade: queryWord('what the picture of the hosts is coloured by', HOST_SHADES),
  reload: queryFlag('have the browser reload it every 30 s'),
};

/** Columns for which only a job's own page has room. */
const LEFT_OUT: ReadonlySet<string> = new Set(['queue', 'other requests', 'vmem', 'age', 'CPU']);
const JOBS_SHOWN = JOB_COLUMNS.filter(({ head }) => !LEFT_OUT.has(head));

/** What was chosen, as values and as it was written. */
type Asked = Pick<RouteRequest<typeof PARAMETERS>, 'values' | 'query'>;

function filters({ values: { shade, reload }, query }: Asked): Html {
  return html`<form class="filters" action="/">
    ${field('owner', 'users', query.owner)} ${field('project', 'projects', query.project)}
    ${field('queue', 'queues', query.queue)} ${field('host', 'hosts', query.host)} ${hidden('shade', shade)}
    ${hidden('reload', reload === true ? 'true' : undefined)}
    <button>Show</button>
  </form>`;
}

/** A live table of the terminal as a web table, with drawn bars instead of the terminal's. */
function liveTable<T>(
  caption: string,
  all: readonly LiveColumn<T>[],
  rows: readonly T[],
  cellOf: (head: string, text: string, row: T) => Child,
  screen: Screen,
): Html {
  const columns = chooseColumns(all, rows);
  return table(
    caption,
    columns.map(({ head, align = 'left' }) =>
      head === '' || head === 'memory' ? { head: head === '' ? 'share' : head, bar: true } : { head, align },
    ),
    rows.map((row) => columns.map(({ head, cell }) => cellOf(head, cell(row, screen), row))),
  );
}

function jobCell(head: string, text: string, job: JobView): Child {
  const share = shareOfJob(job);
  if (head === '') return share === null ? null : shareBar(share);
  if (head === 'job') return html`<a href="${`/job/${jobNumber(job)}`}">${text}</a>`;
  if (head === 'owner') return html`<a href="${linkTo('/jobs', { owner: job.owner })}">${named(text)}</a>`;
  return head === 'name' ? named(text) : text;
}

function hostCell(head: string, text: string, { name, capacity, memoryTotal, peak, requested }: HostView): Child {
  const whole = capacity ?? memoryTotal;
  if (head === 'memory') return whole === null || whole <= 0 ? null : memoryBar(peak ?? 0, requested, whole);
  return head === 'host' ? html`<a href="${linkTo('/', { host: name })}">${named(text)}</a>` : text;
}

function part<T>(rows: readonly T[], page = 1): { readonly shown: readonly T[]; readonly more: boolean } {
  return { shown: rows.slice((page - 1) * EACH, page * EACH), more: rows.length > page * EACH };
}

function risksPart(risks: readonly AtRisk[], screen: Screen): Html | null {
  if (risks.length === 0) return null;
  const lines = risks
    .slice(0, RISKS)
    .map(
      (risk) =>
        html`<li><a href="${`/job/${jobNumber(risk.job)}`}">${jobNumber(risk.job)}</a>: ${riskLine(risk, screen)}</li>`,
    );
  const rest = risks.length - RISKS;
  return section(
    'At risk',
    html`<ul class="alert">
      ${lines}
    </ul>`,
    rest > 0 ? html`<p class="faint">And ${formatCount(rest)} more.</p>` : null,
  );
}

function jobsPart(jobs: readonly JobView[], { values, query }: Asked, screen: Screen): Html {
  const { shown, more } = part(jobs, values.jobs);
  return section(
    `${formatCount(jobs.length)} running jobs, those closest to their limit first`,
    shown.length === 0
      ? noRows(values.jobs ?? 1, 'No running job matches.')
      : liveTable('Running jobs', JOBS_SHOWN, shown, jobCell, screen),
    paging(values.jobs ?? 1, more, (jobsPage) => samePage('/', query, { jobs: jobsPage })),
  );
}

function hostsPart(hosts: readonly HostView[], { values, query }: Asked, screen: Screen): readonly Html[] {
  const { shade = 'used' } = values;
  const { shown, more } = part(hosts, values.hosts);
  const shades = HOST_SHADES.map(
    (by) => [SHADE_NAMES[by], by === shade ? null : samePage('/', query, { shade: by })] as const,
  );
  const totals = describeTotals(totalHosts(hosts), screen).map((line) => html`<p>${line.replace(/ {2,}/, ': ')}</p>`);
  return [
    section('All hosts', choices(shades), hostMap(hosts, shade), html`${totals}`),
    section(
      plural(hosts.length, 'host'),
      shown.length === 0
        ? noRows(values.hosts ?? 1, 'No host matches.')
        : liveTable('Hosts (used: the peak so far of the jobs there)', HOST_COLUMNS, shown, hostCell, screen),
      paging(values.hosts ?? 1, more, (hostsPage) => samePage('/', query, { hosts: hostsPage })),
    ),
  ];
}

function nowOf(view: ClusterView, asked: Asked, now: number): Page {
  const screen = webScreen(now);
  const { values } = asked;
  const cluster = view.cluster === '' ? null : html` <span class="faint">${named(view.cluster)}</span>`;
  return {
    title: 'Now',
    body: html`<h1>Now${cluster}</h1>
      ${ageOf(view, 'list', screen)}
      ${reloadPart(values.reload === true, (reload) => samePage('/', asked.query, { reload }))} ${filters(asked)}
      ${risksPart(chooseRisks(view, values, now).risks, screen)}
      ${jobsPart(chooseJobs(view, values).jobs, asked, screen)}
      ${hostsPart(chooseHosts(view, values).hosts, asked, screen)}`,
  };
}

/** The page while nothing is known of the running cluster; ended jobs may be known. */
function nothingYet({ message }: HttpProblem): Page {
  return {
    title: 'Now',
    body: html`<h1>Now</h1>
      <p class="alert">${message}</p>
      <section>
        <p>Jobs that have ended: <a href="/jobs">Jobs</a>.</p>
      </section>`,
  };
}

const MOST_SHARED = 50;

/** Pages of the latest live data, without the frame, which names the user: one for all users who may see the same. */
class SharedPages {
  private state: object | null = null;
  private pages = new Latest<string, Page>(MOST_SHARED);

  get(state: object, key: string, make: () => Page): Page {
    if (state !== this.state) this.pages = new Latest(MOST_SHARED);
    this.state = state;
    return this.pages.getOrMake(key, make);
  }
}

const shared = new SharedPages();

/** How long a page that was made for one user is shown to others: it says how old its figures are. */
const AGES_MS = 5000;

export const nowPage = route({
  path: '/',
  isForm: true,
  description: 'the running cluster: jobs at risk, running jobs, hosts',
  parameters: PARAMETERS,
  type: HTML_TYPE,
  answer: async (asked) => {
    const { site, access, signedIn, query, now, requester } = asked;
    const { reload = false } = asked.values;
    try {
      const visible = visibleOf(asked);
      const { live } = visible;
      const key = `now ${Math.floor(now / AGES_MS)} ${JSON.stringify(query)} ${accessKey(access)}`;
      const make = (): Page => shared.get(live, key, () => nowOf(visible.view, asked, now));
      const body = await site.cache.get(live, `${key} ${signedIn?.name ?? ''}`, requester, () =>
        pageBody(make(), '/', asked),
      );
      return pageAnswer(body, reload);
    } catch (error) {
      if (!(error instanceof HttpProblem) || error.httpStatus !== 503) throw error;
      return pageAnswer(pageBody(nothingYet(error), '/', asked));
    }
  },
});
