import { jobName } from '../../record/job-name';
import { groupBy } from '../../base/group-by';
import { renderArray } from './array';
import { renderProgress, type ArrayProgress } from './array-progress';
import { type JobViewOptions, jobKey, type JobRun } from './job-run';
import { renderRun } from './run';
import { wrap } from '../screen/layout';
import { withClasses, type Judges } from '../rules/judge';
import type { Screen } from '../screen/screen';
import { formatCount } from '../format/units';
import { renderBrief, renderSummary } from './summary';

/** The records of a job number, and how many other jobs have had that number. */
export interface JobReport {
  readonly job_id: number;
  /** Given where one task was asked for. */
  readonly task_id?: number;
  /** Given for a private job, such as one of `qmemacct run`. */
  readonly cluster?: string;
  readonly runs: readonly JobRun[];
  /** True: there are many runs, and only the fields needed to show them were read. */
  readonly few_fields?: boolean;
  readonly older: number;
  readonly newer: number;
  /** Rules by which the runs are yet to be classified; left out: they need not be, or `qmemacct run` has done it. */
  readonly judges?: Judges;
  /** Progress of its array jobs, by jobKey; left out: not asked for. */
  readonly arrays?: ReadonlyMap<string, ArrayProgress>;
}

/** The usual height of a terminal. */
export const LINES_ON_A_SCREEN = 24;

function renderOthers(report: JobReport, screen: Screen): string[] {
  const others = [
    ...(report.older > 0 ? [`${formatCount(report.older)} older`] : []),
    ...(report.newer > 0 ? [`${formatCount(report.newer)} newer`] : []),
  ];
  if (others.length === 0) return [];
  const many = report.older + report.newer > 1;
  return [
    '',
    ...wrap(
      `${others.join(' and ')} job${many ? 's' : ''} had this number: qmemacct job ${jobName({ cluster: '', ...report })} --all, or --at TIME`,
      screen.width,
    ).map(screen.style.faint),
  ];
}

function renderRuns(
  runs: readonly JobRun[],
  options: JobViewOptions,
  screen: Screen,
  { judges, mostLines }: { readonly judges: Judges | undefined; readonly mostLines: number },
): string[] {
  if (runs.some(({ record }) => record.task_id !== runs[0]?.record.task_id))
    return renderArray(runs, options, screen, { judges, mostLines });
  const judged = judges === undefined ? runs : withClasses(runs, judges.rules, judges.kindOf);
  if (options.detail === 'brief') return renderBrief(judged, screen, options.dialect);
  const isParallel = runs.some(({ record }) => record.pe !== null);
  const hasTable = isParallel && (options.allTasks || options.allHosts === true);
  if (options.detail !== 'full' && !hasTable) return renderSummary(judged, screen, options.dialect, mostLines);
  return renderRun(judged, options, screen);
}

/** The report on a job number: each job that had it (the newest unless all were asked for), newest first. */
export function renderJob(report: JobReport, options: JobViewOptions, screen: Screen): string[] {
  const jobs = [...groupBy(report.runs, jobKey)];
  const others = renderOthers(report, screen);
  const rule = screen.style.faint(screen.glyphs.axisBottom.repeat(screen.width));
  const parts = jobs.reverse().map(([key, runs]) => {
    const progress = renderProgress(report.arrays?.get(key), screen);
    const mostLines = LINES_ON_A_SCREEN - others.length - progress.length;
    return [...renderRuns(runs, options, screen, { judges: report.judges, mostLines }), ...progress];
  });
  return [...parts.flatMap((lines, index) => (index === 0 ? lines : ['', rule, '', ...lines])), ...others];
}
