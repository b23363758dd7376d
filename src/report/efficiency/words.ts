import { GIB, twoDigits } from '../../base/units';
import { jobTaskName } from '../../record/job-name';
import type { Dimension } from '../../accounting/summary';
import { FAR_BELOW_LIMIT } from '../../record/sums';
import { formatCounted, formatHeld } from '../format/bracket';
import { formatInterval, formatMinute } from '../format/local-time';
import {
  formatBytes,
  formatCount,
  formatMemoryTime,
  formatMemoryTimes,
  formatNumber,
  formatPercent,
  formatSlotTimes,
  plural,
} from '../format/units';
import { unusedByGridEngine } from '../records/unused';
import type {
  ClassesFound,
  ClassLine,
  Coverage,
  JobLine,
  JobList,
  KilledList,
  Report,
  SilentNode,
  Waster,
} from './report';
import type { Sums } from './sums';

/** Sentences of the report, in UTF-8; only those of `causeText` and `costliestText` contain text that users chose. */

/** Stands for a value that is unknown, or for none. */
export const NONE = '–';

export const DIMENSION_NAMES: Readonly<Record<Dimension, string>> = {
  owner: 'owner',
  project: 'project',
  queue: 'queue',
  host: 'host',
  job_name: 'job name',
};

/** Memory over time, in GiB times hours, in the unit that suits it. */
export const memoryTime = (gibHours: number): string => formatMemoryTime(gibHours, '·');

/** "12.3 of 48.0 GiB·h": a part of a whole, both in one unit; `part` null: not known. */
function memoryPart(part: number | null, whole: number): string {
  const { texts, unit } = formatMemoryTimes([whole, part ?? 0], '·');
  return `${part === null ? 'not known' : (texts[1] ?? '')} of ${texts[0] ?? ''} ${unit}`;
}

/** `part` of `asked`, the requests of records with that figure; "not known" of all requests where none has it. */
const ofRequested = (part: number, asked: number, { requested_gib_hours: all }: Sums): string =>
  asked > 0 ? memoryPart(part, asked) : memoryPart(null, all);

/** Mean memory, and peak memory, of what was requested by records where it is known. */
export const usedOfRequested = (sums: Sums): string =>
  ofRequested(sums.used_with_request_gib_hours, sums.requested_with_used_gib_hours, sums);
export const peakOfRequested = (sums: Sums): string =>
  ofRequested(sums.peak_with_request_gib_hours, sums.requested_with_peak_gib_hours, sums);

/** "12.3 of 48.0 slot·h". */
export function coreTimes({ cpu_hours: cpu, core_hours: cores }: Sums): string {
  const { texts, unit } = formatSlotTimes([cpu, cores], 'slot·');
  return `${texts.join(' of ')} ${unit}`;
}

/** `value`, summed over all records but those `without` it; null: no record has it. */
const knownOf = (value: number, without: number, { records }: Pick<Sums, 'records'>): number | null =>
  records > 0 && without >= records ? null : value;

export const share = (value: number | null): string => (value === null ? '' : formatPercent(value));

/** "2026-11-20 00:00 → 2026-11-21 00:00 UTC+01:00". */
export function periodText({ period }: Report): string {
  return formatInterval(new Date(period.since), new Date(period.until), '→');
}

/** "7 records (of 365) with a known peak". */
const withPeakText = ({ records, without_peak: without }: Sums): string =>
  `${plural(records - without, 'record')} (of ${formatCount(records)}) with a known peak`;

/** The waste, and the work that it kept from running. */
export function wasteText({ site, fitting }: Report): string {
  if (site.waste_gib_hours <= 0) {
    if (site.without_peak < site.records)
      return `No requested memory was wasted${site.without_peak === 0 ? '' : ` by the ${withPeakText(site)}`}.`;
    return site.with_grid_engine > 0
      ? "Waste is known from Grid Engine's figure only: no job has a peak."
      : 'Waste is unknown: no job has a peak.';
  }
  const wasted = `${memoryTime(site.waste_gib_hours)} were requested above the peaks`;
  if (site.waste_slot_hours === null || site.waste_jobs === null) return `${wasted}.`;
  return (
    `${wasted}: room for ${formatNumber(site.waste_slot_hours)} slot hours, or ${formatNumber(site.waste_jobs)} jobs, more ` +
    `(at this period's mean request of ${formatBytes((fitting.gib_per_slot ?? 0) * GIB)} a slot, ${memoryTime(fitting.gib_hours_per_job ?? 0)} a job).`
  );
}

export function energyText({ energy_kwh: energy, energy_coverage: coverage }: Sums): string | null {
  if (energy === null) return null;
  const of = coverage >= 0.995 ? '' : ` (known of ${formatPercent(coverage)} of the slot hours)`;
  return `${formatNumber(energy)} kWh${of}`;
}

/** What the sums leave out; null: nothing. */
export function leftOutText(sums: Sums): string | null {
  const { without_limit: limit, without_peak: peak, requested_gib_hours: asked } = sums;
  const known = sums.requested_with_peak_gib_hours;
  const unknown = known > 0 && asked > known ? ` (${memoryPart(asked - known, asked)} requested)` : '';
  const parts = [
    ...(limit > 0 ? [`${plural(limit, 'record')} without a limit`] : []),
    ...(peak > 0 ? [`${plural(peak, 'record')} without a known peak${unknown}`] : []),
  ];
  return parts.length === 0 ? null : `Left out of the waste: ${parts.join(', ')}.`;
}

/** "231 of 242 ended records (95 %) had samples." */
export function coverageText({ records, sampled }: Coverage): string {
  if (records === 0) return 'No job ended.';
  return `${formatCount(sampled)} of ${plural(records, 'ended record')} (${formatPercent(sampled / records)}) had samples.`;
}

export function farBelowText({ records }: JobList, site: Sums): string {
  const percent = formatPercent(FAR_BELOW_LIMIT);
  if (records === 0 && site.without_peak >= site.records) return "No job's peak was measured.";
  if (records === 0 && site.without_peak > 0)
    return `None of the ${withPeakText(site)} was under ${percent} of its limit.`;
  if (records === 0) return `No job's peak was under ${percent} of its limit.`;
  return `${plural(records, 'record')} with a peak under ${percent} of the limit.`;
}

export function killedText({ records }: JobList, { failed, failed_core_hours: hours }: Sums): string {
  if (failed === 0) return 'No job ended badly.';
  const by = records === 0 ? 'probably none by memory' : `${formatCount(records)} of them probably by the memory limit`;
  return `${plural(failed, 'record')} ended badly (${formatNumber(hours)} slot hours), ${by}.`;
}

/** From how many days a list is; null: from all of them. */
export function listNote({ looked_at_days: days }: Pick<JobList, 'looked_at_days'>): string | null {
  return days === null ? null : `From the ${plural(days.length, 'day')} with the highest sums only.`;
}

/** "1.53 GiB", "≥ 1.53 GiB", "~1.53 GiB" by Grid Engine, as job lists show it. */
export function peakText({ peak_bytes: peak, peak_is_lower_bound: open, maxvmem_bytes: counted }: JobLine): string {
  if (peak === null) return counted === null ? NONE : formatCounted(counted);
  return `${open ? '≥ ' : ''}${formatHeld(peak)}`;
}

/** What "~" means in a list; null: it has none. */
export const countedNote = ({ lines }: JobList): string | null =>
  lines.some(({ maxvmem_bytes: counted }) => counted !== null) ? 'Peaks with ~ are of Grid Engine (maxvmem).' : null;

const moreJobs = ({ jobs, complete }: JobLine): string => `${complete ? '' : '≥ '}${formatCount(jobs - 1)}`;

/** "408000.7", "408107 and 14 more". */
export const lineJob = (line: JobLine): string =>
  line.jobs === 1 ? jobTaskName(line) : `${jobTaskName(line)} and ${moreJobs(line)} more`;

/** The same for a narrow column: "408107 +14". */
export const shortLineJob = (line: JobLine): string =>
  line.jobs === 1 ? jobTaskName(line) : `${jobTaskName(line)} +${moreJobs(line).replace(' ', '')}`;

/** What to ask for next time, as options of qsub; null: nothing can be said. */
export function nextRequest({ next_time: next, advice }: JobLine): string | null {
  if (next !== null) return next.replace(/^\w+ /, '');
  return advice === null ? null : `-l ${advice.request}`;
}

/** "1.0 %" where past runs give the risk of that request; '' where it rests on the jobs of the line alone. */
export function nextRisk({ next_time: next, advice }: JobLine): string {
  return next === null ? share(advice?.risk ?? null) : '';
}

/** Why the job of a line ended, and how many of the line ended for the same reason; null: not known. */
export function causeText({ cause }: JobLine): string | null {
  if (cause === null) return null;
  const { sentence, alike, looked_at: looked } = cause;
  if (looked === 1) return sentence;
  const same = alike === looked ? 'all' : formatCount(alike);
  return `${sentence} Of the ${formatCount(looked)} runs examined, ${same} ended for this reason.`;
}

/** How many records the sums count as ended by memory, although examination shows otherwise; null: none. */
export function otherwiseText({ otherwise }: KilledList): string | null {
  if (otherwise === 0) return null;
  const were = otherwise === 1 ? 'was' : 'were';
  return `${plural(otherwise, 'record')} counted here ${were} left out: something else ended ${otherwise === 1 ? 'it' : 'them'} (see qmemacct job).`;
}

/** How the lines of wasters' jobs are to be read; null: there are none. */
export const linesText = (wasters: readonly Waster[]): string | null =>
  wasters.every(({ jobs }) => jobs.lines.length === 0) ? null : LINES_TEXT;

const LINES_TEXT =
  '# in a name: any number. Next time: enough for all these jobs, with headroom; risk: the share of runs that would need more, by past runs of that name; none: the request fits, or it is not known.';

export function silentText({ kind, records, last_at: at }: SilentNode): string {
  if (kind === 'unsampled')
    return `${plural(records, 'job record')}, none with a sample; the week before there were samples`;
  const when = at === null ? '' : `: ${formatMinute(new Date(at))}`;
  return `the sampler of its last job was lost${when}`;
}

/** Whether memory in use was measured in any hour of the day. */
export const knowsUsedHours = ({ hours }: Pick<Report, 'hours'>): boolean =>
  hours.some(({ used_gib_hours: used }) => used > 0);

/**
 * When most was requested, and what was in use then: no share, since not all jobs are sampled or have a request. null:
 * nothing was requested.
 */
export function hoursText(report: Report): string | null {
  const { hours } = report;
  const busiest = hours.reduce(
    (most, hour, index) => (hour.requested_gib_hours > (hours[most]?.requested_gib_hours ?? 0) ? index : most),
    0,
  );
  const most = hours[busiest];
  if (most === undefined || most.requested_gib_hours <= 0) return null;
  const clock = (hour: number): string => `${twoDigits(hour % 24)}:00`;
  return (
    `Most was requested from ${clock(busiest)} to ${clock(busiest + 1)}: ${memoryTime(most.requested_gib_hours)}; ` +
    (knowsUsedHours(report)
      ? `${memoryTime(most.used_gib_hours)} were measured in use then.`
      : 'the memory in use then is unknown.')
  );
}

/** `value`, summed over all records but those `without` it; '' where no record has it. */
function knownAmount(value: number, without: number, sums: Pick<Sums, 'records'>): string {
  return knownOf(value, without, sums) === null ? '' : formatNumber(value);
}

const aboutAmount = (value: number, { with_grid_engine: records }: Sums): string =>
  records === 0 ? '' : `~${formatNumber(value)}`;

/** Memory in use over time, of jobs with a request where any has one; '' where it is unknown. */
export const meanAmount = (sums: Sums): string => {
  const asked = sums.requested_with_used_gib_hours > 0;
  return knownAmount(asked ? sums.used_with_request_gib_hours : sums.used_gib_hours, sums.without_used, sums);
};

/**
 * Peaks over time, of jobs with a request where any has one; where no record has a peak, with ~ Grid Engine's figure;
 * '' where neither is known.
 */
export const peakAmount = (sums: Sums): string => {
  const asked = sums.requested_with_peak_gib_hours > 0;
  const counted = sums.requested_with_grid_engine_gib_hours > 0;
  return (
    knownAmount(asked ? sums.peak_with_request_gib_hours : sums.peak_gib_hours, sums.without_peak, sums) ||
    aboutAmount(counted ? sums.grid_engine_with_request_gib_hours : sums.grid_engine_gib_hours, sums)
  );
};

/** What records with a known peak requested; where there is none, with ~ those with Grid Engine's figure. */
export const withPeakAmount = (sums: Sums): string =>
  knownAmount(sums.requested_with_peak_gib_hours, sums.without_peak, sums) ||
  aboutAmount(sums.requested_with_grid_engine_gib_hours, sums);

/** Whether the requests of records with a known peak are visibly less than all requests. */
export function isPartlyKnown(sums: Sums): boolean {
  const known = knownOf(sums.requested_with_peak_gib_hours, sums.without_peak, sums);
  return known !== null && known < 0.99 * sums.requested_gib_hours;
}

/** What was requested above the peaks; where no record has a peak, with ~ above Grid Engine's figures. */
export const wasteAmount = (sums: Sums): string =>
  knownAmount(sums.waste_gib_hours, sums.without_peak, sums) || aboutAmount(unusedByGridEngine(sums), sums);

/** Shares of records with a peak below a quarter, below half, and at or above their limit; null: no records. */
export function sharesText({ shares }: Report): string | null {
  const all = shares.reduce((sum, { records }) => sum + records, 0);
  if (all === 0) return null;
  const below = (limit: number): number =>
    shares.reduce((sum, { to, records }) => (to !== null && to <= limit + 1e-9 ? sum + records : sum), 0);
  const above = shares.reduce((sum, { to, records }) => (to === null ? sum + records : sum), 0);
  const reached = above === 0 ? 'none' : formatPercent(above / all);
  return (
    `${formatPercent(below(0.25) / all)} of ${plural(all, 'record')} used less than a quarter of their limit at the peak, ` +
    `${formatPercent(below(0.5) / all)} less than half; ${reached} reached it.`
  );
}

/** "4711.3 of bob: memory grew all the time ..."; text that users chose is not escaped. */
export function costliestText({ worst }: ClassLine): string {
  const { job_id, task_id, owner, evidence } = worst;
  return `${jobTaskName({ cluster: '', job_id, task_id })}${owner === null ? '' : ` of ${owner}`}: ${evidence}`;
}

/** How many runs the rules judged. */
export function judgedText({ runs, complete }: ClassesFound): string {
  const of = complete ? '' : ', those that ran longest; there may be more';
  return `Of ${plural(runs, 'run')}${of}. "qmemacct jobs --class NAME" lists them.`;
}
