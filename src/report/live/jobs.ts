import type { AtRisk } from '../../live/at-risk';
import type { ClusterView, JobView, PendingView } from '../../live/cluster-view';
import { formatCount } from '../format/units';
import { wrap } from '../screen/layout';
import type { Screen } from '../screen/screen';
import { renderHeadline } from './headline';
import { JOB_COLUMNS } from './jobs-table';
import { measureText } from './labels';
import { chooseColumns, renderRows } from './live-column';
import { PENDING_COLUMNS } from './pending-table';

/** What `qmemacct live` shows: jobs chosen from those of a view. */
export interface JobsReport {
  readonly view: ClusterView;
  readonly jobs: readonly JobView[];
  /** null: not asked for. */
  readonly pending: readonly PendingView[] | null;
}

/** What `qmemacct live --at-risk` shows. */
export interface RisksReport {
  readonly view: ClusterView;
  readonly risks: readonly AtRisk[];
}

/** "12 of 60 running", "60 running". */
export function countText(shown: number, all: number, what: string): string {
  return shown === all ? `${formatCount(all)} ${what}` : `${formatCount(shown)} of ${formatCount(all)} ${what}`;
}

function renderPending(report: JobsReport, screen: Screen): string[] {
  const { pending, view } = report;
  if (pending === null) return [];
  if (view.times.pending === null) return ['', screen.style.title('Waiting: not known, Grid Engine has not answered')];
  const all = view.pending?.length ?? pending.length;
  const heading = screen.style.title(`Waiting: ${countText(pending.length, all, all === 1 ? 'job' : 'jobs')}`);
  return ['', heading, ...renderRows(chooseColumns(PENDING_COLUMNS, pending), pending, screen)];
}

/** The running jobs, a line each, what the columns mean, and the jobs that wait. */
export function renderJobs(report: JobsReport, screen: Screen): string[] {
  const { view, jobs } = report;
  return [
    renderHeadline(countText(jobs.length, view.jobs.length, 'running'), view, 'list', screen),
    '',
    ...(jobs.length === 0 ? ['No running job matches.'] : []),
    ...renderRows(chooseColumns(JOB_COLUMNS, jobs), jobs, screen),
    ...renderPending(report, screen),
    ...(jobs.length === 0 ? [] : ['']),
    ...jobsLegend(jobs, screen).flatMap((line) => wrap(line, screen.width).map(screen.style.faint)),
  ];
}

const NARROW = 80;

/** What the columns of figures mean, for those that are shown. */
function jobsLegend(jobs: readonly JobView[], screen: Screen): readonly string[] {
  const measures = [...new Set(jobs.flatMap(({ measure }) => (measure === null ? [] : [measure])))];
  // On a narrow screen only the share of the limit is left of these columns.
  const roomy = screen.width >= NARROW;
  const theirs = roomy && jobs.some(({ vmem, maxvmem }) => vmem !== null || maxvmem !== null);
  const ours = roomy && jobs.some((job) => job.ours !== null);
  const limits = jobs.some(({ limit }) => limit !== null);
  const complexes = [...new Set(jobs.flatMap(({ complex }) => complex ?? []))].sort().map(screen.safe);
  return [
    ...(theirs
      ? [
          `vmem, maxvmem: Grid Engine's figures, now and at most: ${
            measures.length === 0 ? 'what they add up is not known' : measures.map(measureText).join('; ')
          }.`,
        ]
      : []),
    ...(ours ? ['RSS, peak: resident memory as sampled, now and at most; age: of these two.'] : []),
    ...(limits
      ? [`limit: ${complexes.join(', ')} of the whole job; of limit: the largest figure so far, maxvmem or peak.`]
      : []),
    ...(limits && jobs.some(({ parts }) => parts.length > 1)
      ? [
          roomy
            ? 'Of a job on several hosts, peak and of limit are of the fullest one, by the limit there; the others are sums.'
            : 'Of a job on several hosts, of limit is that of the fullest one, by the limit there.',
        ]
      : []),
    ...(jobs.some(({ trend }) => (trend?.limitAt ?? null) !== null)
      ? ['full at: when it reaches its limit if it continues as in the last minutes (?: a guess).']
      : []),
  ];
}
