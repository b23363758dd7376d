import type { ValueOf } from '../../../base/shape';
import { jobTaskName } from '../../../record/job-name';
import { measuredUpper } from '../../../record/peak-figure';
import type { JobRecord } from '../../../record/record';
import { limitOf } from '../../../record/request';
import { describeBracket } from '../../../report/format/bracket';
import { formatPercent, formatRequested } from '../../../report/format/units';
import { trustFacts } from '../../../report/job/data-quality';
import { describeEnding } from '../../../report/job/ending';
import { endingTone } from '../../../report/job/headline';
import { latestWhole, type JobWhole } from '../../../report/job/job-whole';
import { metricGroups } from '../../../report/job/metrics';
import { peakColumns, peakRows } from '../../../report/job/peaks';
import { RUNS_COLUMNS, statusText, warningWords } from '../../../report/job/run';
import { renderTrend } from '../../../report/job/running';
import { RUN_COLUMNS } from '../../../report/job/run-table';
import { measuredRows } from '../../../report/job/summary';
import { describePlaces, describeSpan, jobLabel } from '../../../report/job/title';
import { consumption, requested } from '../../../report/job/usage';
import type { Screen } from '../../../report/screen/screen';
import type { jobAnswer } from '../../accounting/answer-shapes';
import { bracketBar, chartKey, shareBar } from '../charts/bar';
import { html, named, type Child, type Html } from '../html';
import { section } from '../layout';
import { pairs, table } from '../table';
import { curvePart, type ChartChoice } from './job-chart';
import { hostsPart } from './job-hosts';
import { jobLinks } from './job-links';
import { causePart, nextPart } from './job-next';

export type JobAnswer = ValueOf<typeof jobAnswer>;
export type JobRuns = JobAnswer['records'];

export interface JobPart {
  /** The runs of one job (array task), in their order. */
  readonly runs: JobRuns;
  readonly causes: JobAnswer['causes'];
}

/** Number, name, state; who, where and when. */
function titlePart(whole: JobWhole, screen: Screen): Html {
  const { total } = whole;
  const name = total.job_name === null ? null : html` ${named(total.job_name)}`;
  const state = html`<strong class="${endingTone(total)}">${statusText(total, screen)}</strong>`;
  const words = describePlaces(whole, screen).map((part, index) => html`${index === 0 ? '' : ' · '}${named(part)}`);
  return html`<h1>Job ${jobLabel(total, screen)}${name}</h1>
    <p>${state} · ${words} · <span class="faint">${describeSpan(total, screen)}</span></p>
    ${jobLinks(total)}`;
}

function warningPart(whole: JobWhole, screen: Screen): Html | null {
  const words = [warningWords(whole.total, screen) ?? '', ...renderTrend(whole, screen)].map((line) => line.trim());
  const said = words.filter((line) => line !== '').join(' ');
  return said === '' ? null : html`<p class="alert">${said}</p>`;
}

function measuredPart(whole: JobWhole, screen: Screen): Html {
  const rows = measuredRows(whole, screen).map(({ name, requested: asked, used, share, tone }) => [
    name,
    asked,
    used,
    share === null ? '' : html`<span class="${tone}">${formatPercent(share)}</span>`,
    share === null ? null : shareBar(share, tone),
  ]);
  const columns = [
    { head: 'of' },
    { head: 'requested', align: 'right' },
    { head: 'used', align: 'right' },
    { head: 'efficiency', align: 'right' },
    { head: 'share', bar: true },
  ] as const;
  return section(
    'Requested and used',
    table('Requested, used and efficiency', columns, rows, true),
    peakPart(whole.memoryHost, screen),
  );
}

/** The peak against its limit, with the bounds that are known. */
function peakPart(memory: JobRecord, screen: Screen): Html | null {
  const { peak_rss: peak } = memory;
  if (peak === null) return null;
  const limit = limitOf(memory);
  const upper = measuredUpper(peak);
  const words = `Peak ${describeBracket(peak, screen.glyphs)}${limit === null ? ', no limit' : ` of ${formatRequested(limit)}`}`;
  return html`<p>${words}</p>
    ${bracketBar(peak.lower_bytes, upper, limit, words)}
    ${chartKey([
      { fill: 'used', text: 'used (lower bound)' },
      ...(upper !== null && upper > peak.lower_bytes ? [{ fill: 'band', text: 'up to the upper bound' }] : []),
      { fill: 'rest', text: 'unused' },
    ])}`;
}

function peaksPart({ total, sum }: JobWhole, screen: Screen): Html | null {
  const rows = peakRows(total, screen, sum === null);
  const columns = peakColumns(total, screen).map((column, index) => (index === 0 ? { head: 'peak of' } : column));
  const cells = rows.map((row) =>
    row.map((cell, index) => (index === row.length - 1 && cell !== '' ? named(cell) : cell)),
  );
  return rows.length === 0
    ? null
    : section('Peaks', table('Each peak, its time and the largest process then', columns, cells));
}

function endPart({ total, records }: JobWhole, causes: JobAnswer['causes']): Html | null {
  if (total.status === 'running') return null;
  const cause = causes.find(
    ({ cluster, job_id: job, task_id: task }) =>
      cluster === total.cluster && job === total.job_id && task === total.task_id,
  );
  const ended = records.find((record) => endingTone(record) === 'bad') ?? total;
  return section(
    'How it ended',
    html`<p class="${endingTone(ended)}">${describeEnding(ended)}</p>`,
    cause === undefined ? null : causePart(cause),
  );
}

/** A table of runs without empty columns; a task links to its own page. */
export function runsTable(
  caption: string,
  names: readonly (keyof typeof RUN_COLUMNS)[],
  runs: JobRuns,
  screen: Screen,
): Html {
  const columns = names.map((name) => RUN_COLUMNS[name]);
  const cellsOf = (run: JobRuns[number]): readonly Child[] =>
    columns.map((column) => {
      const text = column.cell(run, screen);
      return column === RUN_COLUMNS.task ? html`<a href="${`/job/${jobTaskName(run.record)}`}">${text}</a>` : text;
    });
  return table(caption, columns, runs.map(cellsOf));
}

/** A job, or one task of an array job: its latest run, then all of its runs. */
export function runPart({ runs, causes }: JobPart, chart: ChartChoice, screen: Screen): Html {
  const whole = latestWhole(runs);
  if (whole === null) return html``;
  const { total } = whole;
  const last = runs.reduce((most, { attempt }) => Math.max(most, attempt), 1);
  const own = causes.filter(({ attempt }) => attempt === last);
  const facts = trustFacts(total, screen).map((fact) =>
    fact.startsWith(' ') ? html`<li class="under">${fact.trim()}</li>` : html`<li>${fact}</li>`,
  );
  const next = runs.find(({ attempt }) => attempt === last)?.next_time ?? null;
  return html`${titlePart(whole, screen)} ${warningPart(whole, screen)} ${measuredPart(whole, screen)}
    ${nextPart(next, own[0]?.next_time ?? null, whole.needs)} ${curvePart(whole, chart)} ${endPart(whole, own)}
    ${hostsPart(whole, chart, screen)} ${peaksPart(whole, screen)}
    <div class="halves">
      ${section('Requested', pairs(requested(whole, screen, 'all hosts')))}
      ${section('Used', pairs(consumption(total, last === 1, screen)))}
      ${metricGroups(total, screen).map(({ heading, items }) => section(heading, pairs(items)))}
    </div>
    ${section(
      'Data quality',
      html`<ul>
        ${facts}
      </ul>`,
    )}
    ${last > 1 ? section('All runs', runsTable('Each start of this job', RUNS_COLUMNS, runs, screen)) : null}`;
}
