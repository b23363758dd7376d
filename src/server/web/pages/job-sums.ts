import type { RecordFilter } from '../../../accounting/store';
import type { SummaryAnswer, SummaryGroup } from '../../../accounting/summary';
import { rolledQuery } from '../../../accounting/sums/plan';
import { classPattern } from '../../../record/name-class';
import { plural } from '../../../report/format/units';
import { summaryAnswer } from '../../accounting/answer-shapes';
import { definedOnly } from '../../routes/accounting';
import { html, samePage, type Html } from '../html';
import { section } from '../layout';
import { askAccounting, type Asker } from '../page';
import { findKinds, kindsPart, type Kind } from './kinds';
import { daysPart, groupsTable, MOST_DAYS, sumsPart } from './sums';

/** Groups that are listed. */
const GROUPS = 10;
/** Sums that are not kept are made unasked if at most this many records have to be read. */
const MOST_UNASKED = 5000;

type By = 'day' | 'owner' | 'job_name';
type Address = Readonly<Record<string, string | undefined>>;

type Sums = Pick<SummaryAnswer, 'totals' | 'groups'>;

function askSums(asked: Asker, query: RecordFilter, by: By | 'cluster', limit: number): Promise<Sums> {
  return askAccounting(asked, { what: 'summary', query: { ...query, by, limit } }, summaryAnswer);
}

/** The most records that have to be read to add these jobs up: all of the period, or the user's in it. */
async function recordsToRead(asked: Asker, { since, until, cluster, owner }: RecordFilter): Promise<number> {
  const found = { since, until, ...definedOnly({ cluster, owner }) };
  return (await askSums(asked, found, 'cluster', 0)).totals.records;
}

/** Groups of the jobs by what they have in common; null: not grouped by this. */
interface Groups {
  readonly users: readonly SummaryGroup[] | null;
  readonly names: readonly SummaryGroup[] | null;
  readonly kinds: readonly Kind[] | null;
}

/** For a user: kinds of jobs; for a project: its users and their kinds of jobs; else: users and job names. */
async function findGroups(asked: Asker, query: RecordFilter, shows: (by: By) => boolean): Promise<Groups> {
  const { owner, project } = query;
  const nothing = { users: null, names: null, kinds: null };
  const groupsOf = async (by: 'owner' | 'job_name'): Promise<readonly SummaryGroup[]> =>
    (await askSums(asked, query, by, GROUPS)).groups;
  if (owner !== undefined)
    return shows('job_name') ? { ...nothing, kinds: await findKinds(asked, query, [owner]) } : nothing;
  const users = shows('owner') ? await groupsOf('owner') : null;
  if (project === undefined) return { ...nothing, users, names: shows('job_name') ? await groupsOf('job_name') : null };
  const named = users?.flatMap(({ key }) => key ?? []);
  return { ...nothing, users, kinds: named === undefined ? null : await findKinds(asked, query, named) };
}

function groupsPart(groups: readonly SummaryGroup[], address: Address, by: 'owner' | 'job_name'): Html | null {
  const linkOf = (key: string): string =>
    samePage('/jobs', address, { page: null, [by]: by === 'owner' ? key : classPattern(key) });
  const made = groupsTable(by === 'owner' ? 'user' : 'kind of job', groups, linkOf);
  return made && html`<section>${made}</section>`;
}

/** Which sums are shown: all; `kept`: those that are kept or quickly made; `few`: only those quickly made. */
type Extent = 'all' | 'kept' | 'few';

/** A link to the sums that are not shown. */
function moreSums(address: Address, extent: Extent, toRead: number): Html {
  const shown = extent === 'few' ? { page: null, sort: null } : { all_sums: 'true' };
  const cost = extent === 'few' ? '' : `: up to ${plural(toRead, 'record')} to read`;
  return html`<p>
    <a href="${samePage('/jobs', address, shown)}">Add up these jobs</a>
    <span class="faint">in all, by day, by user and by kind${cost}</span>
  </p>`;
}

/** The sums of jobs in all, by day, by user and by kind. `address`: the query of the page. */
export async function sumsOfJobs(asked: Asker, query: RecordFilter, address: Address, extent: Extent): Promise<Html> {
  const { owner, project, cluster } = query;
  const isKept = (by: By): boolean => extent === 'kept' && rolledQuery({ ...query, by }) !== null;
  const wanted: readonly By[] =
    owner !== undefined ? ['day', 'job_name'] : project !== undefined ? ['day', 'owner'] : ['day', 'owner', 'job_name'];
  const toRead = extent === 'all' || wanted.every(isKept) ? 0 : await recordsToRead(asked, query);
  const shows = (by: By): boolean => toRead <= MOST_UNASKED || isKept(by);
  const { users, names, kinds } = await findGroups(asked, query, shows);
  // Meanwhile another thread works out the advice.
  const [advised, days] = await Promise.all([
    kindsPart(asked, kinds ?? [], cluster ?? null),
    shows('day') ? askSums(asked, query, 'day', MOST_DAYS) : null,
  ]);
  return html`${days && section('Totals', sumsPart(days.totals))} ${days && daysPart(days.groups)}
  ${users && groupsPart(users, address, 'owner')} ${names && groupsPart(names, address, 'job_name')} ${advised}
  ${wanted.every(shows) ? null : moreSums(address, extent, toRead)}`;
}
