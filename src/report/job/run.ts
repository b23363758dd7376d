import type { Dialect } from '../../gridengine/dialect';
import { isLineOnly } from '../../record/coverage';
import type { JobRecord } from '../../record/record';
import { renderConsumption, renderRequests } from './usage';
import { describeEnding, endingLabel, endingSignal, endUnknown, succeeded, signalName } from './ending';
import { renderGauges } from '../screen/gauge';
import { renderGridEngine, wholeAccount } from './grid-engine';
import { heartbeatOf, renderTrend, runningLabel, suspendedBy } from './running';
import { endingTone, jobGauges } from './headline';
import { renderHostTable } from './host-table';
import { latestRuns, predictionOf, type JobRun, type JobViewOptions } from './job-run';
import { latestWhole, needsUpTo, type JobWhole } from './job-whole';
import { parseTime } from '../format/local-time';
import { renderMemoryChart } from '../screen/memory-chart';
import { metricGroups, renderGroup } from './metrics';
import { renderSummed, renderTogether, renderWholeFit } from './parallel';
import { renderPeaks } from './peaks';
import { renderRunTable } from './run-table';
import type { Screen } from '../screen/screen';
import { blank, renderSection, SECTION_INDENT, wrap } from '../screen/layout';
import { describePlaces, describeSpan, jobLabel, renderSubmission, spread } from './title';
import { renderTrust } from './data-quality';
import { formatDuration } from '../format/units';
import { renderEvidence } from '../why/evidence-lines';
import { renderClasses } from '../rules/class-lines';
import { whyEnded, type Why } from '../why/why';
import { wordsOf } from '../why/words';
import { nextTime } from '../advice/next-time';

/** The latest run of a job (array task), as its screens show it; null: there are no runs. */
export function latestRun(runs: readonly JobRun[], screen: Screen, dialect?: Dialect) {
  const latest = latestRuns(runs);
  const whole = latestWhole(latest);
  if (whole === null) return null;
  const why = whyEnded(whole.records, wordsOf(screen), dialect);
  const needs = needsUpTo(runs);
  const next = nextTime(needs, [why], predictionOf(latest));
  const { classes = null, state = '' } = latest[0] ?? {};
  return { latest, whole, why, needs, next, classes, state };
}

/** The job's state, for the right end of its title; `state`: Grid Engine's letters. */
export function statusText(record: JobRecord, screen: Screen, state = ''): string {
  if (record.status === 'running') {
    const suspended = suspendedBy(state, record.job_id).length > 0 && !heartbeatOf(record, screen)?.silent;
    return suspended ? 'suspended' : runningLabel(record, screen);
  }
  if (endUnknown(record)) return record.status;
  const signal = endingSignal(record);
  if (signal > 0) return `killed by ${signalName(signal)}`;
  if (record.exit_status) return `failed, exit status ${record.exit_status}`;
  return succeeded(record) === false ? endingLabel(record) : `finished, ${describeEnding(record)}`;
}

/** What a reader must know first about a record that is not simply a finished, sampled job. */
export function warningWords(record: JobRecord, screen: Screen): string | null {
  switch (record.status) {
    case 'finished':
      return null;
    case 'running': {
      const started = parseTime(record.started_at);
      const heartbeat = heartbeatOf(record, screen);
      const until = heartbeat?.silent ? record.revision : screen.now.getTime();
      const since = started === null ? '' : ` for ${formatDuration((until - started.getTime()) / 1000)}`;
      if (heartbeat === null) return `It has been running${since}: these are the figures so far.`;
      const age = formatDuration(heartbeat.seconds);
      if (!heartbeat.silent) return `It has been running${since}: these are the figures of ${age} ago.`;
      return `It had been running${since} at its last heartbeat, ${age} ago: since then the node, its sampler or the way to the accounting DB is down, or the job has ended unseen.`;
    }
    case 'lost':
      return 'Its end was not sampled: the job may have used more than the samples show.';
    case 'unsampled':
      return `${isLineOnly(record) ? 'T' : 'It was not sampled: t'}he figures are Grid Engine's own. ${screen.safe(record.notes.join(' '))}`;
  }
}

/** The words of `warningWords`, and what suspends the job, wrapped to the screen. */
export function renderWarning(record: JobRecord, screen: Screen, state: string): string[] {
  const words = warningWords(record, screen);
  const suspended = record.status === 'running' ? suspendedBy(state, record.job_id) : [];
  return [...suspended, ...(words === null ? [] : [words])]
    .flatMap((sentence) => wrap(sentence, screen.width - 2))
    .map((line) => `  ${screen.style.warning(line)}`);
}

/** Who, what, where and when, in two lines. */
export function renderTitle(whole: JobWhole, screen: Screen, state: string): string[] {
  const { style, glyphs } = screen;
  const { total } = whole;
  const name = total.job_name === null ? '' : `  ${screen.safe(total.job_name)}`;
  const place = describePlaces(whole, screen).join(` ${glyphs.dot} `);
  return [
    spread(
      `Job ${jobLabel(total, screen)}${name}`,
      statusText(total, screen, state),
      screen,
      style.title,
      style[endingTone(total)],
    ),
    spread(place, describeSpan(total, screen), screen, (text) => text, style.faint),
  ];
}

/** How it ended, and what else than the verdict's cause may have ended it. */
function renderEnding(record: JobRecord, why: Why | null, width: number, screen: Screen): string[] {
  if (record.status === 'running') return [];
  const tone = succeeded(record) === null ? 'faint' : endingTone(record);
  return [
    ...wrap(describeEnding(record), width).map(screen.style[tone]),
    ...(why === null ? [] : renderEvidence(why, width, screen)),
  ];
}

/** A verdict begins with a blank line, which is one too many where no gauges stand above it. */
const withoutFirstBlank = (lines: readonly string[]): readonly string[] => (lines[0] === '' ? lines.slice(1) : lines);

const TASK_COLUMNS = ['host', 'peTask', 'slots', 'limit', 'peak', 'memory', 'cpu', 'ran', 'ending'] as const;
export const RUNS_COLUMNS = ['run', 'started', 'ran', 'host', 'peTask', 'peak', 'memory', 'cpu', 'ending'] as const;

/** The master's record of each run; for a run without it, the records of all its tasks. */
function mastersOf(runs: readonly JobRun[]): readonly JobRun[] {
  const masters = runs.filter(({ record }) => record.pe_task_id === null);
  const known = new Set(masters.map(({ attempt }) => attempt));
  return runs.filter(({ record, attempt }) => record.pe_task_id === null || !known.has(attempt));
}

/**
 * One screen on a job (or array task): the verdict and what to request next, what was requested, what was used, how it
 * ended, how far the figures can be trusted, memory over time; then its earlier runs. A parallel job is shown as a
 * whole and host by host.
 */
export function renderRun(runs: readonly JobRun[], options: JobViewOptions, screen: Screen): string[] {
  const run = latestRun(runs, screen, options.dialect);
  if (run === null) return [];
  const { latest, whole, why, next, classes, state } = run;
  const { records, sum, total, fullest } = whole;
  const room = screen.width - SECTION_INDENT;
  const section = (name: string, lines: readonly string[]): string[] => blank(renderSection(name, lines, screen));
  const account = { ...total, grid_engine: wholeAccount(records) };
  const earlier = options.allTasks ? runs : mastersOf(runs);
  const isOnly = latest.length === runs.length;
  return [
    ...renderTitle(whole, screen, state),
    ...blank([...renderWarning(total, screen, state), ...renderTrend(whole, screen)]),
    ...blank(
      withoutFirstBlank([
        ...renderGauges(jobGauges(whole, screen), screen),
        ...renderTogether(whole, screen),
        ...renderWholeFit(whole, next, screen, why).lines,
      ]),
    ),
    ...section('Requested', [...renderRequests(whole, screen), ...renderSubmission(records, room, screen)]),
    // The limits of a parallel job are per host: shares of them are in the table of hosts.
    ...section('Peaks', renderPeaks(total, room, screen, sum === null)),
    ...section('Hosts', sum === null ? [] : renderHostTable(sum, options.allHosts ?? options.allTasks, room, screen)),
    ...section('Tasks', sum !== null && options.allTasks ? renderRunTable(TASK_COLUMNS, latest, room, screen) : []),
    ...section('Used', renderConsumption(total, isOnly, screen)),
    ...metricGroups(total, screen).flatMap((group) => section(group.heading, renderGroup(group, room, screen))),
    ...section('qacct', renderGridEngine(account, room, screen, options.dialect)),
    ...section('Ended', renderEnding(fullest, why, room, screen)),
    ...section('Classes', renderClasses(classes, room, screen)),
    ...section('Quality', [...renderSummed(whole, room), ...renderTrust(total, room, screen)]),
    ...section('Memory', renderMemoryChart(sum === null ? total : { ...total, peak_process_vmem: null }, room, screen)),
    ...section('Runs', isOnly ? [] : renderRunTable(RUNS_COLUMNS, earlier, room, screen)),
  ];
}
