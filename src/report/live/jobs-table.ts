import type { JobView } from '../../live/cluster-view';
import { fullestPart } from '../../live/job-parts';
import { renderBar, shareText, shareTone } from '../screen/gauge';
import { formatPeak } from '../format/bracket';
import type { Screen } from '../screen/screen';
import { formatDuration } from '../format/units';
import { shareOfJob } from './figures';
import { bytesLabel, hostsLabel, jobNumber, limitLabel, splitRequests, stateLabel, trendLabel } from './labels';
import { formatAge, runningFor, type LiveColumn } from './live-column';
import { NAME, OTHER_REQUESTS, OWNER, PROJECT, REQUESTED } from './shared-columns';

/** For a job on several hosts, the peak on the host nearest to its limit, from which the share of the limit is, too. */
function peakCell({ ours, parts }: JobView, { glyphs }: Screen): string {
  const shown = parts.length > 1 ? (fullestPart(parts)?.part.ours ?? null) : ours;
  const lower = shown?.lower ?? null;
  return lower === null
    ? ''
    : formatPeak({ lower_bytes: lower, upper_bytes: shown?.upper ?? null, sources: [] }, glyphs);
}

function askedCell(job: JobView, screen: Screen): string {
  const asked = splitRequests(job).counted?.bytes ?? null;
  const { limit, slots, parts } = job;
  // The request is granted per slot, or per host.
  const times = [slots, parts.length].find((count) => count > 1 && asked !== null && limit === asked * count);
  return `${REQUESTED.cell(job, screen)}${times === undefined ? '' : ` ${screen.glyphs.times}${times}`}`;
}

/** The time until its walltime limit; Grid Engine ends the job soon after that. */
function timeLeftCell({ timeLimit, startedAt }: JobView, screen: Screen): string {
  if (timeLimit === null || startedAt === null) return '';
  const left = Math.round(timeLimit - (screen.now.getTime() - startedAt) / 1000);
  return left > 0 ? formatDuration(left) : screen.style.bad('0');
}

const BAR = 8;

function barCell(job: JobView, screen: Screen): string {
  const share = shareOfJob(job);
  return share === null ? '' : renderBar(share, BAR, screen, screen.style[shareTone(share)]);
}

/** The columns of a running job, each with how soon it gives way on a narrow terminal. */
export const JOB_COLUMNS: readonly LiveColumn<JobView>[] = [
  { head: 'job', atLeast: 7, cell: jobNumber },
  OWNER,
  NAME,
  { head: 'st', dispensable: 3, cell: (job, screen) => stateLabel(job.state, screen) },
  { head: 'host', hosts: true, dispensable: 2, atLeast: 8, shrinksTo: 10, cell: hostsLabel },
  {
    head: 'queue',
    dispensable: 13,
    shrinksTo: 8,
    cell: (job, screen) => screen.safe(job.queue.split('@', 1)[0] ?? ''),
  },
  { ...PROJECT, dispensable: 14 },
  { head: 'slots', align: 'right', dispensable: 6, cell: (job) => String(job.slots) },
  { ...REQUESTED, dispensable: 8, cell: askedCell },
  { ...OTHER_REQUESTS, dispensable: 12 },
  {
    head: 'limit',
    align: 'right',
    atLeast: 7,
    has: () => true,
    cell: limitLabel,
  },
  {
    head: 'vmem',
    align: 'right',
    dispensable: 9,
    atLeast: 8,
    has: (job) => job.vmem !== null,
    cell: (job) => bytesLabel(job.vmem),
  },
  {
    head: 'maxvmem',
    align: 'right',
    dispensable: 4,
    atLeast: 8,
    has: (job) => job.maxvmem !== null,
    cell: (job) => bytesLabel(job.maxvmem),
  },
  {
    head: 'RSS',
    align: 'right',
    dispensable: 7,
    atLeast: 8,
    has: ({ ours }) => typeof ours?.rss === 'number',
    cell: (job) => bytesLabel(job.ours?.rss ?? null),
  },
  {
    head: 'peak',
    align: 'right',
    dispensable: 1,
    atLeast: 10,
    has: ({ ours }) => typeof ours?.lower === 'number',
    cell: peakCell,
  },
  {
    head: 'age',
    from: 100,
    align: 'right',
    dispensable: 10,
    atLeast: 4,
    has: ({ ours }) => ours !== null,
    cell: ({ ours }, screen) => (ours === null ? '' : screen.style.faint(formatAge(screen.now.getTime() - ours.at))),
  },
  {
    head: '',
    dispensable: 11,
    atLeast: BAR,
    has: (job) => shareOfJob(job) !== null,
    cell: (job, screen) => barCell(job, screen) || ' '.repeat(BAR),
  },
  {
    head: 'of limit',
    align: 'right',
    has: (job) => shareOfJob(job) !== null,
    cell: (job, screen) => shareText(shareOfJob(job), screen),
  },
  {
    head: 'CPU',
    align: 'right',
    dispensable: 15,
    has: ({ cpuSeconds }) => cpuSeconds !== null,
    cell: ({ cpuSeconds }) => (cpuSeconds === null ? '' : formatDuration(Math.round(cpuSeconds))),
  },
  { head: 'runs for', align: 'right', dispensable: 5, cell: (job, screen) => runningFor(job.startedAt, screen) },
  {
    head: 'time left',
    align: 'right',
    dispensable: 16,
    has: (job) => job.timeLimit !== null,
    cell: timeLeftCell,
  },
  {
    head: 'full at',
    has: ({ trend }) => (trend?.limitAt ?? null) !== null,
    cell: (job, screen) => trendLabel(job.trend, screen),
  },
];
