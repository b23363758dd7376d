import type { JobRecord } from '../sampler/record';
import { formatBracket } from './bracket';
import { renderConsumption } from './consumption';
import { hitLimit } from './ending';
import { limitOf } from './fit';
import { renderGauges } from './gauge';
import { endingTone, recordGauges, renderVerdict } from './headline';
import { renderGridEngine, wholeAccount } from './grid-engine';
import { renderHostTable } from './host-table';
import type { JobViewOptions } from './job-options';
import { latestRuns, recordsOf, type JobRun } from './job-run';
import { wholeOf, type JobWhole } from './job-whole';
import { renderMemoryChart } from './memory-chart';
import { renderPeaks } from './peaks';
import { renderRequests } from './request';
import { blank, renderEnding, renderWarning, RUNS_COLUMNS, statusText } from './run';
import { renderRunTable } from './run-table';
import type { Screen } from './screen';
import { renderSection, SECTION_INDENT } from './section';
import { describeSpan, jobLabel, spread } from './title';
import { growingHost, renderTrend } from './trend-line';
import { renderTrust } from './trustworthiness';
import { formatBytes, formatCount, formatPercent, formatRequested } from './units';
import { whyEnded, type Why } from './why/why';
import { wordsOf } from './why/words';
import { wrap } from './wrap';

const TASK_COLUMNS = ['host', 'peTask', 'slots', 'limit', 'peak', 'memory', 'cpu', 'ran', 'ending'] as const;

const plural = (count: number, one: string): string => `${formatCount(count)} ${one}${count === 1 ? '' : 's'}`;

function renderTitle({ sum, total }: JobWhole, screen: Screen): string[] {
  const { style, glyphs } = screen;
  const name = total.job_name === null ? '' : `  ${screen.safe(total.job_name)}`;
  const place = [
    total.owner === null ? '' : screen.safe(total.owner),
    plural(sum.hosts.length, 'host'),
    sum.slots === null
      ? ''
      : `${sum.slots} slot${sum.slots === 1 ? '' : 's'}` + (total.pe === null ? '' : ` (${screen.safe(total.pe)})`),
    total.project === null || total.project === 'NONE' ? '' : `project ${screen.safe(total.project)}`,
  ];
  return [
    spread(
      `Job ${jobLabel(total, screen)}${name}`,
      statusText(total, screen),
      screen,
      style.title,
      style[endingTone(total)],
    ),
    spread(
      place.filter((part) => part !== '').join(` ${glyphs.dot} `),
      describeSpan(total, screen),
      screen,
      (text) => text,
      style.faint,
    ),
  ];
}

/** "fullest: node03, 12.3 GiB of 16 GiB (77 %)" */
function renderFullest({ hosts, fullest }: JobWhole, screen: Screen): string[] {
  const limit = limitOf(fullest);
  const peak = fullest.peak_rss;
  if (hosts.length < 2 || peak === null) return [];
  const share = limit === null || limit <= 0 ? null : (peak.upper_bytes ?? peak.lower_bytes) / limit;
  const of = limit === null || share === null ? '' : ` of ${formatRequested(limit)} (${formatPercent(share)})`;
  return [screen.style.faint(`  fullest: ${screen.safe(fullest.host)}, ${formatBracket(peak, screen.glyphs)}${of}`)];
}

/** What was not seen may have needed more: then nothing is said of what to ask for, unless the job was killed for it. */
function renderFit({ sum, fullest, needs }: JobWhole, why: Why | null, screen: Screen): string[] {
  const unseen = sum.hosts.filter(({ seen }) => !seen).length;
  if ((unseen === 0 && sum.unseen_tasks === 0) || hitLimit(fullest) || why !== null)
    return renderVerdict(fullest, needs, screen, why);
  if (fullest.status !== 'finished') return [];
  const missing = unseen > 0 ? unseen : sum.unseen_tasks;
  const what = unseen > 0 ? `${formatCount(unseen)} of ${plural(sum.hosts.length, 'host')}` : plural(missing, 'task');
  const words = `${what} ${missing === 1 ? 'was' : 'were'} not seen: what the job needs can not be told from the others.`;
  return ['', ...wrap(words, screen.width - 2).map((line) => `  ${screen.style.warning(line)}`)];
}

/** A process is under the limit of its host, so only sums compare with that of the job. */
const UNDER_LIMIT = new Set(['peak_rss', 'peak_rss_swap'] as const);

function renderSums({ sum, total }: JobWhole, room: number, screen: Screen): string[] {
  const estimate = sum.together_rss_bytes;
  const words =
    estimate === null || total.peak_rss?.exact
      ? []
      : wrap(
          `At one time all hosts together held about ${formatBytes(estimate)}: an estimate, by their samples.`,
          room,
        ).map(screen.style.faint);
  return [...renderPeaks(total, room, screen, UNDER_LIMIT), ...words];
}

function trustWords({ sum }: JobWhole, records: readonly JobRecord[], room: number): string[] {
  const hosts = sum.hosts.filter(({ seen }) => seen).length;
  const tasks = sum.unseen_tasks;
  const words = [
    `the sums are over ${plural(records.length, 'record')} of ${plural(hosts, 'host')}; a task that left no trace is not in them`,
    ...(tasks > 0 ? [`${plural(tasks, 'task')} with a lower number than a recorded one left no record`] : []),
  ];
  return words.flatMap((one) => wrap(one, room - 2).map((line, index) => (index === 0 ? line : `  ${line}`)));
}

/** One screen on a parallel job: all its hosts as one, then each of them; its earlier runs. */
export function renderParallel(runs: readonly JobRun[], options: JobViewOptions, screen: Screen): string[] {
  const latest = latestRuns(runs);
  const [first, ...others] = recordsOf(latest);
  if (first === undefined) return [];
  const records = [first, ...others] as const;
  const whole = wholeOf(records, latest[0]?.attempt ?? 1);
  const { sum, total, fullest } = whole;
  const why = whyEnded(records, wordsOf(screen), options.dialect);
  const growing = whole.hosts.map((host, index) => growingHost(host.host, whole.parts[index] ?? [], limitOf(host)));
  const room = screen.width - SECTION_INDENT;
  const section = (name: string, lines: readonly string[]): string[] => blank(renderSection(name, lines, screen));
  const where = `on ${plural(sum.hosts.length, 'host')}`;
  const mastersOnly = runs.filter(({ record }) => record.pe_task_id === null);
  const earlier = options.allTasks || mastersOnly.length === 0 ? runs : mastersOnly;
  return [
    ...renderTitle(whole, screen),
    ...blank([...renderWarning(total, screen), ...renderTrend(total, growing, screen)]),
    ...blank([
      ...renderGauges(recordGauges({ ...total, peak_process_vmem: null }, screen), screen),
      ...renderFullest(whole, screen),
      ...renderFit(whole, why, screen),
    ]),
    ...section('Asked', renderRequests({ ...total, host_slots: total.slots }, screen, where)),
    ...section('Peaks', renderSums(whole, room, screen)),
    ...section('Hosts', renderHostTable(sum, options.allHosts ?? options.allTasks, room, screen)),
    ...section('Tasks', options.allTasks ? renderRunTable(TASK_COLUMNS, latest, room, screen) : []),
    ...section('Used', renderConsumption(total, screen)),
    ...section(
      'qacct',
      renderGridEngine({ ...total, grid_engine: wholeAccount(records) }, room, screen, options.dialect),
    ),
    ...section('Ended', renderEnding(fullest, why, room, screen)),
    ...section('Trust', [...trustWords(whole, records, room), ...renderTrust(total, room, screen)]),
    ...section('Memory', renderMemoryChart({ ...total, peak_process_vmem: null }, room, screen)),
    ...(latest.length === runs.length ? [] : section('Runs', renderRunTable(RUNS_COLUMNS, earlier, room, screen))),
  ];
}
