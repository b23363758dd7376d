import { groupBy } from '../../../base/group-by';
import type { JobOrTask } from '../../../live/unfinished-job';
import { heldBytes } from '../../../record/cause';
import { jobTaskName } from '../../../record/job-name';
import type { JobRecord } from '../../../record/record';
import { formatMinute, parseTime } from '../../../report/format/local-time';
import { formatBytes, formatCount, formatDuration, formatPercent } from '../../../report/format/units';
import { describeEnding } from '../../../report/job/ending';
import { endingTone } from '../../../report/job/headline';
import { jobKey } from '../../../report/job/job-run';
import { latestWhole, type JobWhole } from '../../../report/job/job-whole';
import { runningLabel } from '../../../report/job/running';
import { measuredRows } from '../../../report/job/summary';
import { jobNumber } from '../../../report/live/labels';
import type { Screen } from '../../../report/screen/screen';
import type { Course } from '../../../report/series/course';
import { classQuestion, jobQuestion } from '../../routes/accounting';
import { queryJobs, queryName } from '../../routes/parameter';
import { jobAnswer } from '../../accounting/answer-shapes';
import { classAnswer } from '../../accounting/class-shape';
import { compareChart, MOST_CURVES } from '../charts/compare';
import { chooseSeries, querySeries, seriesTitle } from '../charts/series';
import { field, hidden } from '../form';
import { html, linkTo, named, type Child, type Html } from '../html';
import { choices, section } from '../layout';
import { askIfKnown, pageRoute, type Asker } from '../page';
import { webScreen } from '../screen';
import { table } from '../table';
import { classLink, kindOfJob } from './job-links';
import type { JobAnswer } from './job-run';

/** A job as it is compared: its latest run; of an array job, the run of the task with the largest peak. */
interface Compared extends JobWhole {
  readonly name: string;
  /** Tasks that it stands for. */
  readonly tasks: number;
}

const peakOf = ({ memoryHost }: JobWhole): number => heldBytes(memoryHost) ?? -1;

function comparedOf({ records }: JobAnswer): Compared | null {
  const runs = [...groupBy(records, jobKey).values()].at(-1) ?? [];
  const tasks = [...groupBy(runs, ({ record }) => record.task_id).values()].flatMap((task) => latestWhole(task) ?? []);
  const [first, ...others] = tasks;
  if (first === undefined) return null;
  const largest = others.reduce((most, task) => (peakOf(task) > peakOf(most) ? task : most), first);
  return { ...largest, name: jobTaskName(largest.total), tasks: tasks.length };
}

type Figure = (job: Compared, screen: Screen) => Child;

const share = (value: number | null = null): string => (value === null ? '' : formatPercent(value));

/** The figures as on the job's own page. */
const measured = (
  what: 'Memory' | 'CPU',
  job: Compared,
  screen: Screen,
): ReturnType<typeof measuredRows>[number] | undefined => measuredRows(job, screen).find(({ name }) => name === what);

/** Mean of the memory over the elapsed time. */
function meanOf({ rss_byte_seconds: sum, wallclock_seconds: seconds }: Compared['total']): string {
  return sum === null || seconds === null || seconds <= 0 ? '' : formatBytes(sum / seconds);
}

const FIGURES: readonly (readonly [name: string, figure: Figure])[] = [
  ['name', ({ total }) => (total.job_name === null ? '' : named(total.job_name))],
  ['user', ({ total }) => (total.owner === null ? '' : named(total.owner))],
  ['started', ({ total }) => momentOf(total.started_at)],
  ['host', ({ total, sum }) => (sum === null ? named(total.host) : `${formatCount(sum.hosts.length)} hosts`)],
  ['slots', ({ total }) => total.slots],
  ['limit', (job, screen) => measured('Memory', job, screen)?.requested ?? ''],
  ['peak', (job, screen) => measured('Memory', job, screen)?.used ?? ''],
  ['peak of limit', (job, screen) => share(measured('Memory', job, screen)?.share)],
  ['mean memory', ({ total }) => meanOf(total)],
  ['elapsed', ({ total }) => (total.wallclock_seconds === null ? '' : formatDuration(total.wallclock_seconds))],
  ['CPU time', ({ total }) => (total.cpu_seconds === null ? '' : formatDuration(total.cpu_seconds))],
  ['CPU efficiency', (job, screen) => share(measured('CPU', job, screen)?.share)],
  ['read', ({ total }) => (total.read_bytes === null ? '' : formatBytes(total.read_bytes))],
  ['written', ({ total }) => (total.written_bytes === null ? '' : formatBytes(total.written_bytes))],
  ['processes', ({ total }) => total.processes],
  ['ended', ({ total }, screen) => html`<span class="${endingTone(total)}">${endText(total, screen)}</span>`],
];

const endText = (total: JobRecord, screen: Screen): string =>
  total.status === 'running' ? runningLabel(total, screen) : describeEnding(total);

function momentOf(time: string | null): string {
  const moment = parseTime(time);
  return moment === null ? '' : formatMinute(moment);
}

function figuresTable(jobs: readonly Compared[], screen: Screen): Html {
  const columns = jobs.map(({ name, tasks, total }) => ({
    head: name,
    title: html`<a href="${linkTo(`/job/${name}`, { cluster: total.cluster })}">${name}</a
      >${tasks > 1 ? ` (largest of ${formatCount(tasks)} tasks)` : ''}`,
    align: 'right' as const,
  }));
  const rows = FIGURES.map(([name, figure]) => [name, ...jobs.map((job) => figure(job, screen))]);
  return table('Figures of each job', [{ head: '' }, ...columns], rows, true);
}

interface Found {
  readonly known: readonly Compared[];
  /** Jobs without a record, or without one that the caller may see. */
  readonly unknown: readonly string[];
}

async function find(asked: Asker, jobs: readonly JobOrTask[], cluster: string | undefined): Promise<Found> {
  const known: Compared[] = [];
  const unknown: string[] = [];
  for (const job of jobs) {
    const answer = await askIfKnown(asked, jobQuestion({ job, cluster }, asked.site), jobAnswer);
    const compared = answer && comparedOf(answer);
    if (compared === null) unknown.push(jobNumber(job));
    else known.push(compared);
  }
  return { known, unknown };
}

/** Memory over time of runs of the jobs' kind; null: the jobs are of several kinds, or there are too few runs. */
async function courseOfKind(asked: Asker, jobs: readonly Compared[]): Promise<Course | null> {
  // Without the program, so that jobs of one name that ran different programs are still of one kind.
  const named = jobs.map(({ total }) => ({ ...total, program: null }));
  const [kind, ...others] = new Map(named.map((job) => [classLink(job), kindOfJob(job)])).values();
  if (kind === undefined || kind === null || others.length > 0) return null;
  const answer = await askIfKnown(asked, classQuestion(kind), classAnswer);
  return answer?.course ?? null;
}

export const comparePage = pageRoute({
  path: '/compare',
  isForm: true,
  description:
    'jobs beside each other: their memory (or CPU, swap ...) over time in one chart, with the median of runs of their kind, and their figures',
  parameters: {
    jobs: queryJobs('the jobs (tasks) to compare', MOST_CURVES),
    cluster: queryName('of this cluster only'),
    series: querySeries,
  },
  make: async (asked) => {
    const { jobs = [], cluster, series: wanted } = asked.values;
    const { known, unknown } = await find(asked, jobs, cluster);
    const series = known.flatMap(({ name, total }) => (total.series === null ? [] : [{ name, series: total.series }]));
    const names = jobs.map(jobNumber).join(',');
    const { shown, items } = chooseSeries(
      series.map((one) => one.series),
      wanted,
      (name) => linkTo('/compare', { jobs: names, cluster, series: name }),
    );
    const chart = compareChart(series, shown, await courseOfKind(asked, known));
    return {
      title: 'Compare',
      body: html`<h1>Compare jobs</h1>
        <form class="filters" action="/compare">
          <span class="wide">${field('jobs', `job numbers, up to ${MOST_CURVES}, with commas`, names)}</span>
          ${hidden('cluster', cluster)} ${hidden('series', wanted)}
          <button>Compare</button>
        </form>
        ${unknown.length === 0 ? null : html`<p class="alert">No such job is known here: ${unknown.join(', ')}.</p>`}
        ${
          chart === null
            ? null
            : section(`${seriesTitle(shown)} over time, each job since its start`, choices(items), chart)
        }
        ${known.length === 0 ? null : section('Figures', figuresTable(known, webScreen(asked.now)))}`,
    };
  },
});
