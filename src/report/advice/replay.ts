import type { Outcome, ReplayAnswer } from '../../advice/replay';
import { renderCsvRows, type Cell } from '../records/csv';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';
import { formatCount, formatGibHours, formatPercent } from '../format/units';

const COLUMNS: readonly Column[] = [
  { head: 'Request' },
  { head: 'Jobs', align: 'right' },
  { head: 'Stated risk', align: 'right' },
  { head: 'Failed', align: 'right' },
  { head: 'Jobs failed', align: 'right', dispensable: 1 },
  { head: 'Unused GiB·h', align: 'right' },
  { head: 'Unused/used', align: 'right' },
];

const exactPercent = (share: number): string => `${(100 * share).toFixed(2)} %`;

function row(what: string, { jobs, failed, stated, wasted, used }: Outcome): readonly (readonly string[])[] {
  if (jobs === 0) return [];
  return [
    [
      what,
      formatCount(jobs),
      stated === null ? '' : exactPercent(stated),
      exactPercent(failed / jobs),
      formatCount(failed),
      formatGibHours(wasted),
      used === 0 ? '' : (wasted / used).toFixed(2),
    ],
  ];
}

function renderOne(name: string, answer: ReplayAnswer, screen: Screen): readonly string[] {
  const { runs, advisable, advice, users, plain } = answer;
  const rows = [
    ...advice.flatMap(({ risk, promised, larger }) => [
      ...row(`advice, risk ${formatPercent(risk)}`, promised),
      ...row('  at a larger risk', larger),
    ]),
    ...(users === null ? [] : row("users' requests", users)),
    ...plain.flatMap(({ name: rule, outcome }) => row(rule, outcome)),
  ];
  return [
    screen.style.title(
      `${screen.safe(name)}: ${formatCount(runs)} jobs, ${formatCount(advisable)} with 3 earlier runs or more`,
    ),
    ...renderTable(COLUMNS, rows, screen),
    '',
  ];
}

/** What the advice would have done, history by history (name: where it is from). */
export function renderReplay(answers: ReadonlyMap<string, ReplayAnswer>, screen: Screen): readonly string[] {
  return [
    ...[...answers].flatMap(([name, answer]) => renderOne(name, answer, screen)),
    'Each request rests on runs that had ended when the job was submitted. A job that needs more fails, loses its whole',
    'run, and asks for twice as much. "At a larger risk": too few runs, or too different ones, for the wanted risk.',
  ];
}

const CSV_HEAD = [
  'name',
  'request',
  'risk',
  'jobs',
  'failed',
  'stated_risk',
  'unused_byte_seconds',
  'used_byte_seconds',
];

/** The same as CSV, a line for each way of requesting. */
export function renderReplayCsv(answers: ReadonlyMap<string, ReplayAnswer>): string {
  const line = (name: string, request: string, risk: number | null, outcome: Outcome): readonly Cell[] => {
    const { jobs, failed, stated, wasted, used } = outcome;
    return [name, request, risk, jobs, failed, stated, wasted, used];
  };
  const lines = [...answers].flatMap(([name, { advice, users, plain }]) => [
    ...advice.flatMap(({ risk, promised, larger }) => [
      line(name, 'advice', risk, promised),
      line(name, 'advice at a larger risk', risk, larger),
    ]),
    ...(users === null ? [] : [line(name, 'users', null, users)]),
    ...plain.map((rule) => line(name, rule.name, null, rule.outcome)),
  ]);
  return renderCsvRows([CSV_HEAD, ...lines]);
}

/** The same for programs; byte seconds. */
export function renderReplayJson(answers: ReadonlyMap<string, ReplayAnswer>): string {
  const outcome = ({ jobs, failed, stated, wasted, used }: Outcome): unknown => ({
    jobs,
    failed,
    stated_risk: stated,
    unused_byte_seconds: wasted,
    used_byte_seconds: used,
  });
  const replays = [...answers].map(([name, { runs, advisable, advice, users, plain }]) => ({
    name,
    runs,
    advisable,
    advice: advice.map(({ risk, promised, larger }) => ({
      risk,
      promised: outcome(promised),
      larger: outcome(larger),
    })),
    users: users === null ? null : outcome(users),
    rules: plain.map((rule) => ({ name: rule.name, ...(outcome(rule.outcome) as object) })),
  }));
  return `${JSON.stringify({ schema: 1, replays })}\n`;
}
