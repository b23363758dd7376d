import type { AtRisk } from '../../live/at-risk';
import type { ClusterView, JobView, PendingView } from '../../live/cluster-view';
import type { Screen } from '../screen';
import { formatCount } from '../units';
import { wrap } from '../wrap';
import { renderHeadline } from './headline';
import { jobsLegend } from './jobs-foot';
import { JOB_COLUMNS } from './jobs-table';
import { chooseColumns, renderRows } from './live-column';
import { PENDING_COLUMNS } from './pending-table';

/** What `qmemacct live` shows: jobs that were chosen of those of a view. */
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
  const all = view.pending?.length ?? pending.length;
  const heading = screen.style.title(`Waiting: ${countText(pending.length, all, all === 1 ? 'job' : 'jobs')}`);
  return ['', heading, ...renderRows(chooseColumns(PENDING_COLUMNS, pending), pending, screen)];
}

/** The running jobs, a line each, what the columns mean, and the jobs that wait. */
export function renderJobs(report: JobsReport, screen: Screen): string[] {
  const { view, jobs } = report;
  const cluster = view.cluster === '' ? '' : ` in cluster ${screen.safe(view.cluster)}`;
  return [
    renderHeadline(`${countText(jobs.length, view.jobs.length, 'running')}${cluster}`, view, 'list', screen),
    '',
    ...(jobs.length === 0 ? ['No running job is like that.'] : []),
    ...renderRows(chooseColumns(JOB_COLUMNS, jobs), jobs, screen),
    ...renderPending(report, screen),
    ...(jobs.length === 0 ? [] : ['']),
    ...jobsLegend(jobs, screen).flatMap((line) => wrap(line, screen.width).map(screen.style.faint)),
  ];
}
