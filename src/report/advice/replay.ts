import type { Outcome, ReplayAnswer } from '../../advice/replay';
import { renderCsvRows, type Cell } from '../records/csv';
import { wrap } from '../screen/layout';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';
import { escapeJson } from '../format/escape';
import { formatCount, formatGibHours, formatPercent, plural } from '../format/units';

export const REPLAY_COLUMNS: readonly Column[] = [
  { head: 'Request', shrinksTo: 24 },
  { head: 'Jobs', align: 'right' },
  { head: 'Stated risk', align: 'right', dispensable: 2 },
  { head: 'Failed', align: 'right' },
  { head: 'Jobs failed', align: 'right', dispensable: 1 },
  { head: 'Undecided', align: 'right', dispensable: 1 },
  { head: 'Unused GiB·h', align: 'right' },
  { head: 'Unused/used', align: 'right', dispensable: 3 },
];

const exactPercent = (share: number): string => `${(100 * share).toFixed(2)} %`;

function row(what: string, outcome: Outcome): readonly (readonly string[])[] {
  const { jobs, failed, undecided, stated_risk: stated } = outcome;
  const { unused_byte_seconds: wasted, used_byte_seconds: used } = outcome;
  if (jobs + undecided === 0) return [];
  const isKnown = jobs > 0;
  return [
    [
      what,
      formatCount(jobs),
      stated === null ? '' : exactPercent(stated),
      isKnown ? exactPercent(failed / jobs) : '',
      isKnown ? formatCount(failed) : '',
      undecided === 0 ? '' : formatCount(undecided),
      isKnown ? formatGibHours(wasted) : '',
      used === 0 ? '' : (wasted / used).toFixed(2),
    ],
  ];
}

/** A line for each way of requesting, as `REPLAY_COLUMNS`. */
export function replayRows({ advice, users, rules }: ReplayAnswer): readonly (readonly string[])[] {
  return [
    ...advice.flatMap(({ risk, within, larger }) => [
      ...row(`advice, risk up to ${formatPercent(risk)}`, within),
      ...row('  at a larger risk', larger),
    ]),
    ...(users === null ? [] : row("users' requests", users)),
    ...rules.flatMap((rule) => row(rule.name, rule)),
  ];
}

const columns = ({ glyphs }: Screen): readonly Column[] =>
  REPLAY_COLUMNS.map((column) => ({ ...column, head: column.head.replace('·', glyphs.dot) }));

function renderOne(name: string, answer: ReplayAnswer, screen: Screen): readonly string[] {
  const { runs, advisable } = answer;
  const rows = replayRows(answer);
  return [
    screen.style.title(
      `${screen.safe(name)}: ${plural(runs, 'job')}, ${formatCount(advisable)} with 3 earlier runs or more`,
    ),
    ...(rows.length === 0 ? [] : renderTable(columns(screen), rows, screen)),
    '',
  ];
}

const NOTE =
  'Each request rests on runs that had ended when the job was submitted. A job that needs more fails, loses its whole ' +
  'run, and requests twice as much.';
/** The note on rows with undecided jobs. */
export const UNDECIDED_NOTE =
  'Undecided, and not counted among the jobs: those that were stopped at a limit below the request; whether that is ' +
  'enough is not known.';
const LARGER_NOTE = '"At a larger risk": too few runs, or too different ones, for the wanted risk.';

/** Whether any way of requesting has undecided jobs. */
export function hasUndecided({ advice, users, rules }: ReplayAnswer): boolean {
  const outcomes = [...advice.flatMap(({ within, larger }) => [within, larger]), ...rules, ...(users ? [users] : [])];
  return outcomes.some(({ undecided }) => undecided > 0);
}

/** What the lines of the tables mean. */
function notes(answers: readonly ReplayAnswer[], { width }: Screen): readonly string[] {
  if (answers.every((answer) => replayRows(answer).length === 0)) return [];
  const isLarger = answers.some(({ advice }) => advice.some(({ larger }) => larger.jobs + larger.undecided > 0));
  const more = [...(answers.some(hasUndecided) ? [UNDECIDED_NOTE] : []), ...(isLarger ? [LARGER_NOTE] : [])];
  return wrap([NOTE, ...more].join(' '), width);
}

/** What the advice would have achieved, in a table for each history (name: where the history is from). */
export function renderReplay(answers: ReadonlyMap<string, ReplayAnswer>, screen: Screen): readonly string[] {
  const tables = [...answers].flatMap(([name, answer]) => renderOne(name, answer, screen));
  return [...tables, ...notes([...answers.values()], screen)];
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
  'undecided',
];

/** The replays as CSV, a line for each way of requesting. */
export function renderReplayCsv(answers: ReadonlyMap<string, ReplayAnswer>): string {
  const line = (name: string, request: string, risk: number | null, outcome: Outcome): readonly Cell[] => {
    const { jobs, failed, undecided, stated_risk, unused_byte_seconds, used_byte_seconds } = outcome;
    return [name, request, risk, jobs, failed, stated_risk, unused_byte_seconds, used_byte_seconds, undecided];
  };
  const lines = [...answers].flatMap(([name, { advice, users, rules }]) => [
    ...advice.flatMap(({ risk, within, larger }) => [
      line(name, 'advice', risk, within),
      line(name, 'advice at a larger risk', risk, larger),
    ]),
    ...(users === null ? [] : [line(name, 'users', null, users)]),
    ...rules.map((rule) => line(name, rule.name, null, rule)),
  ]);
  return renderCsvRows([CSV_HEAD, ...lines]);
}

/** The replays as JSON. */
export function renderReplayJson(answers: ReadonlyMap<string, ReplayAnswer>): string {
  const replays = [...answers].map(([name, answer]) => ({ name, ...answer }));
  return `${escapeJson(JSON.stringify({ schema: 1, replays }))}\n`;
}
