import { DAY_MS } from '../../../base/units';
import { DIMENSIONS, type Dimension } from '../../../accounting/summary';
import { classPattern } from '../../../record/name-class';
import { formatInterval } from '../../../report/format/local-time';
import { summaryAnswer } from '../../accounting/answer-shapes';
import { intervalOf, wholeDays } from '../../routes/accounting';
import { queryTime } from '../../routes/parameter';
import { html, linkTo, type Html } from '../html';
import { choices, section } from '../layout';
import { askAccounting, pageRoute } from '../page';
import { reportsPart } from './reports';
import { daysPart, groupsTable, MOST_DAYS, sumsPart } from './sums';

const GROUPS = 10;

const NAMES: Readonly<Record<Dimension, string>> = {
  owner: 'user',
  project: 'project',
  queue: 'queue',
  host: 'host',
  job_name: 'kind of job',
};

const SPANS = ['1d', '7d', '30d', '90d', '365d'] as const;

export const clusterPage = pageRoute({
  path: '/cluster',
  isForm: true,
  description: 'all jobs of a time by days, users, projects, queues, hosts and kinds',
  parameters: {
    since: queryTime('start of the period; of two days or more, of that day, UTC (default: 30d)'),
  },
  make: async (asked) => {
    const { since = '30d' } = asked.query;
    const from = asked.values.since ?? asked.now - 30 * DAY_MS;
    const interval = wholeDays(intervalOf(from, asked.now, asked.now));
    const days = { what: 'summary', query: { ...interval, by: 'day', limit: MOST_DAYS } } as const;
    const { totals, groups } = await askAccounting(asked, days, summaryAnswer);
    const tables: Html[] = [];
    for (const by of DIMENSIONS) {
      const question = { what: 'summary', query: { ...interval, by, limit: GROUPS } } as const;
      const answer = await askAccounting(asked, question, summaryAnswer);
      const link = (key: string): string =>
        linkTo('/jobs', { [by]: by === 'job_name' ? classPattern(key) : key, since });
      const made = groupsTable(NAMES[by], answer.groups, link);
      if (made !== null) tables.push(html`<section>${made}</section>`);
    }
    const spans = SPANS.map((span) => [span, span === since ? null : linkTo('/cluster', { since: span })] as const);
    return {
      title: 'Cluster',
      body: html`<h1>All jobs</h1>
        <p class="faint">${formatInterval(new Date(interval.since), new Date(interval.until), '→')}</p>
        ${choices(spans)} ${section('Totals', sumsPart(totals))} ${daysPart(groups)}
        <div class="tables">${tables}</div>
        ${reportsPart(asked)}`,
    };
  },
});
