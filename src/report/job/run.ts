import type { Dialect } from '../../gridengine/dialect';
import { endUnseen } from '../../record/job-end';
import type { JobRecord } from '../../record/record';
import { renderConsumption, renderRequests } from './usage';
import { describeEnding, endingSignal, succeeded, signalName } from './ending';
import { renderGauges } from '../screen/gauge';
import { renderGridEngine } from './grid-engine';
import { heartbeatOf, runningLabel, growingJob, renderTrend } from './running';
import { endingTone, recordGauges, renderVerdict } from './headline';
import { nextTime } from '../advice/next-time';
import { latestRuns, promiseOf, recordsOf, type JobRun } from './job-run';
import { parseTime } from '../format/local-time';
import { renderMemoryChart } from '../screen/memory-chart';
import { renderMetrics } from './metrics';
import { renderPeaks } from './peaks';
import { renderRunTable } from './run-table';
import type { Screen } from '../screen/screen';
import { renderSection, SECTION_INDENT, wrap } from '../screen/layout';
import { describePlace, describeSpan, jobLabel, renderSubmission, spread } from './title';
import { renderTrust } from './data-quality';
import { formatDuration } from '../format/units';
import { renderEvidence } from '../why/evidence-lines';
import { renderClasses } from '../rules/class-lines';
import { whyEnded, type Why } from '../why/why';
import { wordsOf } from '../why/words';

/** How it stands with the job, for the right end of its title. */
export function statusText(record: JobRecord, screen: Screen): string {
  if (record.status === 'running') return runningLabel(record, screen);
  if (record.status === 'unsampled' || endUnseen(record)) return record.status;
  const signal = endingSignal(record);
  if (signal > 0) return `killed by ${signalName(signal)}`;
  if (succeeded(record) === false) return `failed, ${describeEnding(record).split(';')[0] ?? ''}`;
  return `finished, ${describeEnding(record)}`;
}

/** What a reader must know first of a record that is not simply a finished, sampled job. */
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
      return `It was not sampled: the figures are Grid Engine's own. ${screen.safe(record.notes.join(' '))}`;
  }
}

/** The same as lines. */
export function renderWarning(record: JobRecord, screen: Screen): string[] {
  const words = warningWords(record, screen);
  return words === null ? [] : wrap(words, screen.width - 2).map((line) => `  ${screen.style.warning(line)}`);
}

/** Who, what, where and when, in two lines. */
export function renderTitle(record: JobRecord, screen: Screen): string[] {
  const { style } = screen;
  const name = record.job_name === null ? '' : `  ${screen.safe(record.job_name)}`;
  const place = describePlace(record, screen).join(` ${screen.glyphs.dot} `);
  return [
    spread(
      `Job ${jobLabel(record, screen)}${name}`,
      statusText(record, screen),
      screen,
      style.title,
      style[endingTone(record)],
    ),
    spread(place, describeSpan(record, screen), screen, (text) => text, style.faint),
  ];
}

/** How it ended, and what else than the verdict's cause may have ended it. */
export function renderEnding(record: JobRecord, why: Why | null, width: number, screen: Screen): string[] {
  if (record.status === 'running') return [];
  const tone = succeeded(record) === null ? 'faint' : endingTone(record);
  return [
    ...wrap(describeEnding(record), width).map(screen.style[tone]),
    ...(why === null ? [] : renderEvidence(why, width, screen)),
  ];
}

/** Lines with an empty one before them; nothing for no lines. */
export const blank = (lines: readonly string[]): string[] => (lines.length === 0 ? [] : ['', ...lines]);

/** Where there are no gauges above it, a verdict brings its own distance. */
const withoutFirstBlank = (lines: readonly string[]): readonly string[] => (lines[0] === '' ? lines.slice(1) : lines);

export const RUNS_COLUMNS = ['run', 'started', 'ran', 'host', 'peTask', 'peak', 'memory', 'cpu', 'ending'] as const;

/**
 * One screen on a job (or array task): the verdict and what to ask for next, what was asked, what was used, how it
 * ended, how far the figures can be trusted, memory over time; then its earlier runs.
 */
export function renderRun(runs: readonly JobRun[], screen: Screen, dialect: Dialect = 'unknown'): string[] {
  const latest = latestRuns(runs);
  const record = latest[0]?.record;
  if (record === undefined) return [];
  const earlier = runs.filter((run) => !latest.includes(run));
  const records = recordsOf(latest);
  const why = whyEnded(records, wordsOf(screen), dialect);
  const room = screen.width - SECTION_INDENT;
  const section = (name: string, lines: readonly string[]): string[] => renderSection(name, lines, screen);
  return [
    ...renderTitle(record, screen),
    ...blank([...renderWarning(record, screen), ...renderTrend(record, [growingJob(record)], screen)]),
    ...blank(
      withoutFirstBlank([
        ...renderGauges(recordGauges(record, screen), screen),
        ...renderVerdict(record, records, nextTime(records, [why], promiseOf(latest)), screen, why),
      ]),
    ),
    ...blank(section('Requested', [...renderRequests(record, screen), ...renderSubmission(records, room, screen)])),
    ...blank(section('Peaks', renderPeaks(record, room, screen))),
    ...blank(section('Used', renderConsumption(record, screen))),
    ...renderMetrics(record, room, screen).flatMap(({ heading, lines }) => blank(section(heading, lines))),
    ...blank(section('qacct', renderGridEngine(record, room, screen, dialect))),
    ...blank(section('Ended', renderEnding(record, why, room, screen))),
    ...blank(section('Classes', renderClasses(latest[0]?.classes ?? null, room, screen))),
    ...blank(section('Quality', renderTrust(record, room, screen))),
    ...blank(section('Memory', renderMemoryChart(record, room, screen))),
    ...(earlier.length === 0 ? [] : blank(section('Runs', renderRunTable(RUNS_COLUMNS, runs, room, screen)))),
  ];
}
