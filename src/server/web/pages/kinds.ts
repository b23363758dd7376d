import type { RecordFilter } from '../../../accounting/store';
import type { SummaryGroup } from '../../../accounting/summary';
import type { MemoryPrediction } from '../../../report/advice/class-advice';
import { formatPercent } from '../../../report/format/units';
import { summaryAnswer } from '../../accounting/answer-shapes';
import { html, named, type Child, type Html } from '../html';
import { askAccounting, type Asker } from '../page';
import { table } from '../table';
import { classLink } from './job-links';
import { sumCells, SUM_COLUMNS } from './sums';

/** Kinds that are listed: those that requested most. */
const LISTED = 10;
/** Kinds are looked for among this many users. */
const USERS = 5;

export interface Kind extends SummaryGroup {
  readonly owner: string;
  readonly name: string;
}

type AskedPrediction = ReturnType<Asker['site']['predictions']>;

/** What to request next for a kind of job; `cluster`: where its runs were, null: anywhere. */
function predictionOf(
  { site, access, requester }: Asker,
  { owner, name }: Kind,
  cluster: string | null,
): AskedPrediction {
  const unknown = { slots: null, pe: null, project: null, queue: null, programs: [], complex: null };
  return site.predictions({ fields: { owner, jobName: name, ...unknown, cluster }, access, caller: requester.key });
}

/** The kinds of jobs of one user. */
async function kindsOf(asked: Asker, owner: string, query: RecordFilter): Promise<readonly Kind[]> {
  const question = { what: 'summary', query: { ...query, owner, by: 'job_name', limit: LISTED } } as const;
  const { groups } = await askAccounting(asked, question, summaryAnswer);
  const kinds = groups.flatMap((group) => (group.key === null ? [] : [{ ...group, owner, name: group.key }]));
  // Advice on what will be listed is worked out while other users' kinds are summed up.
  for (const kind of kinds.slice(0, LISTED / USERS))
    predictionOf(asked, kind, query.cluster ?? null).catch(() => undefined);
  return kinds;
}

function adviceCells(prediction: MemoryPrediction | null): readonly Child[] {
  if (prediction === null) return ['', ''];
  const { complex, text, per, risk } = prediction;
  return [
    html`<code>${complex}=${text}</code>${per === 'job' ? ' per job' : ''}`,
    risk === null ? 'not known' : formatPercent(risk),
  ];
}

function kindsTable(
  kinds: readonly Kind[],
  advice: readonly (MemoryPrediction | null)[],
  cluster: string | null,
): Html {
  const several = new Set(kinds.map(({ owner }) => owner)).size > 1;
  const rows = kinds.map((kind, index) => {
    const { owner, name, totals } = kind;
    const link = classLink({ owner, job_name: name, ...(cluster === null ? {} : { cluster }) });
    return [
      link === null ? named(name) : html`<a href="${link}">${named(name)}</a>`,
      several ? named(owner) : null,
      ...sumCells(totals),
      ...adviceCells(advice[index] ?? null),
    ];
  });
  return table(
    'By kind of job, most requested memory-hours first',
    [
      { head: 'kind of job' },
      { head: 'user' },
      ...SUM_COLUMNS,
      { head: 'request next' },
      { head: 'risk', align: 'right' },
    ],
    rows,
  );
}

/** The kinds of jobs of these users, those that requested most first. */
export async function findKinds(asked: Asker, query: RecordFilter, users: readonly string[]): Promise<readonly Kind[]> {
  const found = await Promise.all(users.slice(0, USERS).map((user) => kindsOf(asked, user, query)));
  return found
    .flat()
    .sort((a, b) => b.totals.requested_gib_hours - a.totals.requested_gib_hours)
    .slice(0, LISTED);
}

/** Kinds of jobs, each with what to request next; `cluster`: where their runs were, null: anywhere. */
export async function kindsPart(asked: Asker, kinds: readonly Kind[], cluster: string | null): Promise<Html | null> {
  if (kinds.length === 0) return null;
  const advice = await Promise.all(kinds.map((kind) => predictionOf(asked, kind, cluster)));
  return html`<section>
    ${kindsTable(kinds, advice, cluster)}
    ${
      advice.every((one) => one === null)
        ? null
        : html`<p class="faint">
            Request next: what past runs of the kind advise. Risk: the share of runs that would need more, where there
            are enough runs to state it.
          </p>`
    }
  </section>`;
}
