import { RECORD_SORTS, type RecordSort } from '../../../accounting/sorts';
import { prunedWords } from '../../../accounting/upkeep';
import { STATUSES } from '../../../record/fields';
import { formatInterval } from '../../../report/format/local-time';
import { formatCount } from '../../../report/format/units';
import {
  MANY_OWNERS_COLUMNS,
  OWNER_COLUMNS,
  RECORD_COLUMNS,
  summedLine,
  type RecordColumn,
  type RecordColumnName,
} from '../../../report/records/columns';
import { toJobLines, type RecordLine } from '../../../report/records/lines';
import type { Screen } from '../../../report/screen/screen';
import { recordsAnswer } from '../../accounting/answer-shapes';
import { FILTER, definedOnly, intervalOf, wholeDays } from '../../routes/accounting';
import { queryCount, queryFlag, queryTime, queryWord, type Values } from '../../routes/parameter';
import type { RouteRequest } from '../../routes/route';
import { field, hidden, select } from '../form';
import { html, named, samePage, type Child, type Html } from '../html';
import { section } from '../layout';
import { askAccounting, pageRoute } from '../page';
import { webScreen } from '../screen';
import { noRows, paging, table, type WebColumn } from '../table';
import { jobLink } from './job-links';
import { sumsOfJobs } from './job-sums';

/** Records on one page of the list. */
const EACH = 50;
/** At most this many pages: to see more, a user narrows the filter. */
const MOST_PARTS = 40;

const PARAMETERS = {
  cluster: FILTER.cluster,
  owner: FILTER.owner,
  project: FILTER.project,
  queue: FILTER.queue,
  host: FILTER.host,
  job_name: FILTER.job_name,
  states: FILTER.states,
  failed: FILTER.failed,
  since: queryTime('start of the period; of two days or more, of that day, UTC (default: 7d)'),
  until: queryTime('end of the period, not included (default: now)'),
  sort: queryWord('largest or latest first (default: time)', RECORD_SORTS),
  all_sums: queryFlag('add up all of them, however many records have to be read'),
  page: queryCount(`part of the list, ${EACH} records each`, MOST_PARTS),
};

/** What was chosen, as values and as it was written. */
type Asked = Pick<RouteRequest<typeof PARAMETERS>, 'values' | 'query'>;

const ANY = ['', 'any'] as const;
const ENDS = [ANY, ['true', 'badly'], ['false', 'well']] as const;
const STATES = [ANY, ...STATUSES.map((state) => [state, state] as const)];

function filters({ values, query }: Asked): Html {
  const ended = values.failed === undefined ? '' : String(values.failed);
  const { since = '7d', states = '', sort = 'time', cluster } = query;
  return html`<form class="filters" action="/jobs">
    ${field('owner', 'user', query.owner)} ${field('project', 'project', query.project)}
    ${field('job_name', 'name or pattern', query.job_name)} ${field('queue', 'queue', query.queue)}
    ${field('host', 'hosts', query.host)} ${field('since', 'since', since)} ${field('until', 'until', query.until)}
    ${select('failed', 'ended', ENDS, ended)} ${select('states', 'state', STATES, states)}
    ${select('sort', 'order', Object.entries(SORT_NAMES), sort)} ${hidden('cluster', cluster)}
    <button>Show</button>
  </form>`;
}

const SORT_NAMES: Readonly<Record<RecordSort, string>> = {
  time: 'latest first',
  wallclock: 'longest first',
  cpu: 'most CPU time',
  peak: 'largest peak',
  requested: 'most requested memory-hours',
  unused: 'most unused memory-hours',
};

/** The order that a column's head leads to. Limit and CPU have none: they don't show memory-hours and CPU time. */
const SORT_OF: Partial<Readonly<Record<RecordColumnName, RecordSort>>> = {
  until: 'time',
  ran: 'wallclock',
  peak: 'peak',
  unused: 'unused',
};

function jobsTable(lines: readonly RecordLine[], { values, query }: Asked, screen: Screen): Html {
  const names = values.owner === undefined ? MANY_OWNERS_COLUMNS : OWNER_COLUMNS;
  const { sort = 'time' } = values;
  const columns = names.map((name): WebColumn => {
    const { head, align = 'left' }: RecordColumn = RECORD_COLUMNS[name];
    const by = SORT_OF[name];
    if (by === undefined) return { head, align };
    const title = html`<a href="${samePage('/jobs', query, { sort: by, page: null })}">${head}</a>`;
    return { head, align, title, sorted: by === sort };
  });
  const cellOf = (name: RecordColumnName, line: RecordLine): Child => {
    const text = RECORD_COLUMNS[name].cell(line, screen);
    if (name === 'job') {
      const [first] = line;
      const tasks = new Set(line.map(({ task_id: task }) => task)).size;
      return html`<a href="${jobLink(first, tasks > 1)}">${text}</a>`;
    }
    const { value: owner } = summedLine(line).owner;
    if (name === 'owner' && owner !== null)
      return html`<a href="${samePage('/jobs', query, { owner, page: null })}">${named(text)}</a>`;
    return name === 'name' ? named(text) : text;
  };
  return table(
    'One line for each job: its tasks and runs that match and are on this page; unused: GiB·h',
    columns,
    lines.map((line) => names.map((name) => cellOf(name, line))),
  );
}

function titleOf({
  owner: user,
  project: group,
}: Pick<Values<typeof PARAMETERS>, 'owner' | 'project'>): readonly [string, Html] {
  if (user !== undefined) return [`Jobs of ${user}`, html`Jobs of ${named(user)}`];
  if (group !== undefined) return [`Jobs of project ${group}`, html`Jobs of project ${named(group)}`];
  return ['Jobs', html`Jobs`];
}

function keptOnly({ site, now }: Pick<RouteRequest<typeof PARAMETERS>, 'site' | 'now'>, since: number): Html | null {
  const words = prunedWords(site.settings.keep_records_days, since, now, 'listed');
  return words === null ? null : html`<p class="faint">${words.replace(/^j/, 'J')}.</p>`;
}

export const jobsPage = pageRoute({
  path: '/jobs',
  isForm: true,
  description: 'the jobs of a user, a project, or of all: sums, kinds of jobs, and each job, by filters',
  parameters: PARAMETERS,
  make: async (asked) => {
    const { since, until, page = 1, sort = 'time', all_sums: all = false, ...filter } = asked.values;
    const query = { ...wholeDays(intervalOf(since, until, asked.now)), ...definedOnly(filter) };
    const wanted = { what: 'records', query: { ...query, sort, limit: page * EACH + 1, totals: false } } as const;
    // A user who sorts the list or turns its pages looks for a job, not for sums.
    const extent = all ? 'all' : page === 1 && sort === 'time' ? 'kept' : 'few';
    const [sums, { records }] = await Promise.all([
      sumsOfJobs(asked, query, asked.query, extent),
      askAccounting(asked, wanted, recordsAnswer),
    ]);
    const shown = records.slice((page - 1) * EACH, page * EACH).map(({ record }) => record);
    const more = records.length > page * EACH && page < MOST_PARTS;
    const [title, heading] = titleOf(filter);
    return {
      title,
      body: html`<h1>${heading}</h1>
        <p class="faint">${formatInterval(new Date(query.since), new Date(query.until), '→')}</p>
        ${filters(asked)} ${sums}
        ${section(
          'Jobs',
          shown.length === 0
            ? noRows(page, 'No job of this time matches.')
            : jobsTable(toJobLines(shown, sort), asked, webScreen(asked.now)),
          paging(page, more, (other) => samePage('/jobs', asked.query, { page: other, all_sums: null })),
          records.length > 0 && page === MOST_PARTS
            ? html`<p class="faint">
                At most ${formatCount(MOST_PARTS * EACH)} records are listed: narrow the filter to see others.
              </p>`
            : null,
          keptOnly(asked, query.since),
        )}`,
    };
  },
});
