import { RISKS } from '../../../advice/margins';
import { CLASS_COLUMNS, classNotes, classRows, classTitle } from '../../../report/advice/class-screen';
import { hasUndecided, REPLAY_COLUMNS, replayRows, UNDECIDED_NOTE } from '../../../report/advice/replay';
import { jobTaskName } from '../../../record/job-name';
import { classPattern } from '../../../record/name-class';
import { formatMinute } from '../../../report/format/local-time';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatPercent,
  formatRequested,
  plural,
} from '../../../report/format/units';
import type { Screen } from '../../../report/screen/screen';
import { classAnswer, type ClassAnswer, type ClassRun } from '../../accounting/class-shape';
import { CLASS, classQuestion } from '../../routes/accounting';
import type { Values } from '../../routes/parameter';
import { courseChart } from '../charts/course';
import { runsChart } from '../charts/runs';
import { field, hidden, select } from '../form';
import { html, linkTo, named, type Html } from '../html';
import { section, type Page } from '../layout';
import { askAccounting, pageRoute } from '../page';
import { webScreen } from '../screen';
import { table } from '../table';
import { compareLink } from './job-links';

/** At most this many runs are listed, the latest. */
const LISTED = 25;

type Choice = Values<typeof CLASS>;

function filters({ owner, job_name: name, slots, pe, project, queue, program, cluster, risk }: Choice): Html {
  const risks = RISKS.map((one) => [String(one), formatPercent(one)] as const);
  return html`<form class="filters" action="/class">
    ${field('owner', 'user', owner)} ${field('job_name', 'name', name)} ${field('slots', 'slots', slots)}
    ${field('pe', 'parallel environment', pe)} ${field('project', 'project', project)} ${field('queue', 'queue', queue)}
    ${select('risk', 'risk', risks, String(risk ?? RISKS[0]))} ${hidden('program', program)}
    ${hidden('cluster', cluster)}
    <button>Show</button>
  </form>`;
}

function advicePart(answer: ClassAnswer, screen: Screen): Html {
  if (answer.request === null)
    return section(
      'Next time',
      html`<p>No run of the last year shows what this kind of job needs, so nothing can be advised.</p>`,
    );
  const notes = classNotes(answer).map((note) => html`<li>${note}</li>`);
  return section(
    'Next time',
    html`<p class="command"><code>${answer.client} ${answer.request}</code></p>`,
    table('What the advice rests on', CLASS_COLUMNS, classRows(answer, screen)),
    html`<ul class="faint">
      ${notes}
    </ul>`,
  );
}

function peaksPart({ runs, memory }: ClassAnswer): Html | null {
  const per = memory?.per ?? 'slot';
  const advised = memory && { bytes: memory.request_bytes, text: `${memory.complex}=${memory.request}` };
  const chart = runsChart(runs, advised);
  return chart === null ? null : section(`Peaks of the runs and their requests, per ${per}`, chart);
}

function replayPart({ replay }: ClassAnswer): Html | null {
  const rows = replay === null ? [] : replayRows(replay);
  if (replay === null || rows.length === 0) return null;
  return section(
    'If the advice had been followed',
    table(
      `${plural(replay.runs, 'run')}, ${formatCount(replay.advisable)} of them with 3 earlier runs or more`,
      REPLAY_COLUMNS,
      rows,
    ),
    html`<p class="faint">
      Each request rests on runs that had ended when the job was submitted. A run that needs more than its request fails
      and is repeated with twice as much. ${hasUndecided(replay) ? UNDECIDED_NOTE : null}
    </p>`,
  );
}

/** A link that compares the smallest, the median and the largest run; null: there are fewer than two. */
function compareLine(runs: readonly ClassRun[], cluster: string | undefined): Html | null {
  const sorted = runs.toSorted((a, b) => a.needed_bytes - b.needed_bytes);
  const chosen = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  const names = new Set(chosen.flatMap((run) => (run === undefined ? [] : [jobTaskName(run)])));
  if (names.size < 2) return null;
  return html`<p>
    <a href="${compareLink([...names], cluster)}">Compare the smallest, a median and the largest run</a>
  </p>`;
}

function runsPart({ runs, memory }: ClassAnswer, cluster: string | undefined): Html | null {
  if (runs.length === 0) return null;
  const per = memory?.per ?? 'slot';
  const columns = [
    { head: 'job' },
    { head: 'ended' },
    { head: 'ran', align: 'right' },
    { head: `requested per ${per}`, align: 'right' },
    { head: `peak per ${per}`, align: 'right' },
    { head: '' },
  ] as const;
  const rows = runs
    .slice(-LISTED)
    .reverse()
    .map((run) => [
      html`<a href="${linkTo(`/job/${jobTaskName(run)}`, { cluster, at: run.submitted_at })}">${jobTaskName(run)}</a>`,
      formatMinute(new Date(run.ended_at)),
      formatDuration(run.seconds),
      run.requested_bytes === null ? '' : formatRequested(run.requested_bytes),
      formatBytes(run.needed_bytes, 'up'),
      run.stopped ? html`<span class="bad">stopped at its limit</span>` : '',
    ]);
  return section(
    'Latest runs',
    table('The latest runs, the newest first', columns, rows, true),
    compareLine(runs, cluster),
  );
}

function pageOf(answer: ClassAnswer, choice: Choice, screen: Screen): Page {
  const { owner, job_name: name, project, queue } = answer.class;
  const { cluster } = choice;
  const course = answer.course && courseChart(answer.course, null, 'runs');
  const jobs = linkTo('/jobs', { owner, job_name: classPattern(name), project, queue, cluster, since: '365d' });
  return {
    title: `${name} of ${owner}`,
    body: html`<h1>${named(classTitle(answer.class, screen))}</h1>
      <p>
        ${plural(answer.runs.length, 'run')} of the last year whose peak is known; names that differ in digits (#) only
        are of one kind. <a href="${jobs}">All of its jobs</a>
      </p>
      ${filters(choice)} ${advicePart(answer, screen)} ${peaksPart(answer)}
      ${course === null ? null : section('Memory over time, each run since its start', course)} ${replayPart(answer)}
      ${runsPart(answer, cluster)}`,
  };
}

export const classPage = pageRoute({
  path: '/class',
  isForm: true,
  description:
    'a kind of job: peaks and requests of its runs, what to request next, and how that advice would have done',
  parameters: CLASS,
  make: async (asked) => {
    const answer = await askAccounting(asked, classQuestion(asked.values), classAnswer);
    return pageOf(answer, asked.values, webScreen(asked.now));
  },
});
