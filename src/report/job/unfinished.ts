import { isoTimeOrNull } from '../../base/iso-time';
import type { RequestText } from '../../gridengine/qstat/job-list';
import { readStartError } from '../../gridengine/qstat/scheduler-message';
import type { Hold } from '../../live/holds';
import type { UnfinishedJob } from '../../live/unfinished-job';
import type { JobRecord } from '../../record/record';
import { formatMoment, formatZone } from '../format/local-time';
import { formatBytes, formatCount, formatRequested, plural } from '../format/units';
import { jobNumber } from '../live/labels';
import { JOB_COLUMNS } from '../live/jobs-table';
import { chooseColumns, renderRows, runningFor } from '../live/live-column';
import { blank, renderSection, SECTION_INDENT, unbroken, wrap } from '../screen/layout';
import { truncate } from '../screen/text-width';
import type { Screen, Tone } from '../screen/screen';
import { suspendedBy } from './running';
import { placeWords, spread } from './title';
import { fitsNoHost, waitingReasons } from './waiting';

/** The states of a job that has not ended, the most urgent first. */
const STATES = ['error', 'deleted', 'suspended', 'running', 'in transfer', 'held', 'dependent', 'waiting'] as const;
type UnfinishedState = (typeof STATES)[number];

const LETTERS: readonly (readonly [RegExp, UnfinishedState])[] = [
  [/E/, 'error'],
  [/d/, 'deleted'],
  [/t/, 'in transfer'],
  [/[sST]/, 'suspended'],
  [/r/, 'running'],
  [/h/, 'held'],
];

/** A job in state `R` (rescheduled) waits, too. */
function stateOf(letters: string, { holds, predecessors }: UnfinishedJob): UnfinishedState {
  const state = LETTERS.find(([letter]) => letter.test(letters))?.[1] ?? 'waiting';
  return state === 'held' && holds.length === 0 && predecessors.length > 0 ? 'dependent' : state;
}

/** The states of the job's tasks, the most urgent first. */
function statesOf(job: UnfinishedJob): readonly UnfinishedState[] {
  const letters = [...job.running, ...job.waiting].map(({ state }) => state);
  const states = new Set(letters.map((text) => stateOf(text, job)));
  return STATES.filter((state) => states.has(state));
}

interface Explained {
  readonly tone: Tone;
  readonly words: readonly string[];
  /** What its owner can do. */
  readonly next: string | null;
}

/** `what` and `them`: the job, or some of its tasks. */
const RELEASES: Readonly<Record<Hold, (job: number, what: string, them: string) => string>> = {
  user: (job, what, them) => `Its owner holds ${what}; ${unbroken(`qrls ${job}`)} releases ${them}.`,
  operator: (job, what, them) =>
    `An operator holds ${what}; an operator releases ${them}: ${unbroken(`qrls -h o ${job}`)}`,
  system: (job, what, them) => `A manager holds ${what}; a manager releases ${them}: ${unbroken(`qrls -h s ${job}`)}`,
};

/** Exit statuses by which a job asks to be run again, or to be put into the error state. */
const ASKS_FOR_MORE: ReadonlySet<number | null> = new Set([99, 100]);

/** Whether a run of a job in the error state had ended by itself: then not its start failed, but the epilog's. */
const hadRun = ({ status, exit_status: exit, signal }: JobRecord): boolean =>
  status === 'finished' && exit !== null && !ASKS_FOR_MORE.has(exit) && (signal ?? 0) === 0;

function explainError({ job, errors }: UnfinishedJob, lastRun: JobRecord | null, screen: Screen): Explained {
  const causes = errors.map((text) => screen.safe(readStartError(text)));
  const hasRun = lastRun !== null && hadRun(lastRun);
  const failed = hasRun ? 'The job had run, then its epilog failed' : 'Its start failed';
  return {
    tone: 'bad',
    words:
      causes.length === 0 ? [`${failed}; Grid Engine gives no reason.`] : causes.map((text) => `${failed}: ${text}`),
    next: hasRun
      ? `${unbroken(`qdel ${job}`)} removes it; ${unbroken(`qmod -cj ${job}`)} would run it again.`
      : `Grid Engine does not try again by itself. When the cause is fixed: ${unbroken(`qmod -cj ${job}`)}`,
  };
}

function explainHeld({ job, holds, running, waiting }: UnfinishedJob): Explained {
  const isWhole = running.length === 0 && waiting.every(({ state }) => state.includes('h'));
  const [what, them] = isWhole ? ['it', 'it'] : ['some of its tasks', 'them'];
  const words = holds.map((hold) => RELEASES[hold](job, what, them));
  return {
    tone: 'warning',
    words:
      words.length > 0
        ? words
        : [`${isWhole ? 'It is' : 'Some tasks are'} held; ${unbroken(`qrls ${job}`)} releases ${them}.`],
    next: null,
  };
}

const PREDECESSOR = {
  running: 'running',
  waiting: 'waiting',
  unlisted: 'no longer listed',
  unknown: 'ended, or not yours to see',
} as const;

function explainDependent({ predecessors }: UnfinishedJob): readonly string[] {
  const whole = predecessors.filter(({ byTask }) => !byTask);
  const byTask = predecessors.filter((one) => one.byTask);
  const jobsOf = (some: typeof predecessors): string =>
    `${some.length === 1 ? 'job' : 'jobs'} ${some.map(({ job, state }) => `${job} (${PREDECESSOR[state]})`).join(', ')}`;
  return [
    ...(whole.length > 0 ? [`It starts after ${jobsOf(whole)}.`] : []),
    ...(byTask.length > 0 ? [`Each task starts after the same task of ${jobsOf(byTask)}.`] : []),
  ];
}

function explainWaiting(job: UnfinishedJob, screen: Screen): Explained | null {
  const reasons = waitingReasons(job, screen);
  if (reasons === null) return null;
  const { notBefore } = job;
  const later = notBefore !== null && notBefore > screen.now.getTime() ? new Date(notBefore) : null;
  if (later !== null)
    return { tone: 'warning', words: [`It starts no earlier than ${formatMoment(later)} (qsub -a).`], next: null };
  // Of such a job the scheduler says only what keeps it from starting outside of its reservation.
  if (job.reservation !== null && !reasons.fitsNoHost) {
    const shown = unbroken(`qrstat -ar ${job.reservation}`);
    const words = [`It starts only in advance reservation ${job.reservation}; ${shown} shows when that is.`];
    return { tone: 'warning', words, next: null };
  }
  return {
    tone: reasons.fitsNoHost ? 'bad' : 'warning',
    words: reasons.sentences,
    next: reasons.fitsNoHost
      ? `Submit it again with a smaller request, and delete this one: ${unbroken(`qdel ${job.job}`)}`
      : reasons.canVerify
        ? `Whether it could start if nothing else ran: ${unbroken(`qalter -w v ${job.job}`)}`
        : null,
  };
}

/** Of an array job, some tasks may have records. */
const unrecorded = ({ task, running }: UnfinishedJob): string =>
  task === null && running.some((one) => one.task !== null)
    ? "These are Grid Engine's own figures."
    : "It has no record yet: these are Grid Engine's own figures.";

function explainSuspended(job: UnfinishedJob): Explained {
  const letters = job.running.map(({ state }) => state).join('');
  return {
    tone: 'warning',
    words: [...suspendedBy(letters, job.job), ...(statesOf(job).includes('running') ? [] : [unrecorded(job)])],
    next: null,
  };
}

function explain(
  state: UnfinishedState,
  job: UnfinishedJob,
  screen: Screen,
  lastRun: JobRecord | null = null,
): Explained | null {
  const dependent = explainDependent(job);
  switch (state) {
    case 'error':
      return explainError(job, lastRun, screen);
    case 'deleted':
      return {
        tone: 'warning',
        words: ['It is being deleted (qdel).'],
        next: `If it stays for minutes, an admin can remove it: ${unbroken(`qdel -f ${job.job}`)}`,
      };
    case 'in transfer':
      return { tone: 'good', words: ['It is being sent to its host.'], next: null };
    case 'held': {
      const held = explainHeld(job);
      return { ...held, words: [...held.words, ...dependent] };
    }
    case 'dependent':
      return { tone: 'warning', words: dependent, next: null };
    case 'waiting':
      return explainWaiting(job, screen);
    case 'suspended':
      return explainSuspended(job);
    case 'running':
      return { tone: 'warning', words: [unrecorded(job)], next: null };
  }
}

function renderExplained({ tone, words, next }: Explained, screen: Screen): string[] {
  const { style, glyphs } = screen;
  const lines = (text: string): string[] => wrap(text, screen.width - 2);
  return [
    ...words.flatMap(lines).map((line) => `  ${style[tone](line)}`),
    ...(next === null ? [] : lines(`${glyphs.advice} ${next}`).map((line) => `  ${line}`)),
  ];
}

const WORDS: Readonly<Record<UnfinishedState, string>> = {
  error: 'failed to start (Eqw)',
  deleted: 'being deleted',
  suspended: 'suspended',
  running: 'running',
  'in transfer': 'being started',
  held: 'held',
  dependent: 'waiting for other jobs',
  waiting: 'waiting',
};

const TONES: Readonly<Partial<Record<UnfinishedState, Tone>>> = {
  error: 'bad',
  running: 'good',
  'in transfer': 'good',
};

function renderHead(job: UnfinishedJob, state: UnfinishedState, screen: Screen): string[] {
  const { submittedAt, slots } = job;
  const since = submittedAt === null ? '' : `, ${runningFor(submittedAt, screen)}`;
  const waits = state === 'waiting' || state === 'held' || state === 'dependent';
  const submitted = submittedAt === null ? null : new Date(submittedAt);
  const place = placeWords(job, '', slots === null ? '' : plural(slots, 'slot'), screen);
  const { style, glyphs } = screen;
  return [
    spread(
      `Job ${jobNumber(job)}  ${screen.safe(job.name)}`,
      `${WORDS[state]}${waits ? since : ''}`,
      screen,
      style.title,
      style[TONES[state] ?? 'warning'],
    ),
    spread(
      place.join(` ${glyphs.dot} `),
      submitted === null ? '' : `submitted ${formatMoment(submitted)} ${formatZone(submitted)}`,
      screen,
      (text) => text,
      style.faint,
    ),
  ];
}

function placeLines({ position }: UnfinishedJob): string[] {
  return position === null ? [] : [`${formatCount(position.place)} of ${formatCount(position.of)} pending jobs`];
}

/** "1-100:1 waiting", where an array job's tasks are in several states. */
function taskLines(job: UnfinishedJob, width: number, screen: Screen): string[] {
  return job.waiting.flatMap(({ tasks, state }) =>
    tasks === null ? [] : wrap(`${screen.safe(tasks)} ${WORDS[stateOf(state, job)]}`, width),
  );
}

/** "h_vmem=4G", "mem_free=4G(soft)". */
function requestWords({ complex, value, kind, scope }: RequestText, screen: Screen): string {
  const which = kind === 'hard' ? (scope ?? null) : kind;
  return `${screen.safe(complex)}=${screen.safe(value)}${which === null ? '' : `(${which})`}`;
}

const RUNNING_COLUMNS = JOB_COLUMNS.filter(({ head }) => head !== 'owner' && head !== 'name');

interface UnfinishedOptions {
  readonly full?: boolean | undefined;
  /** The job's last run; null: none is known. */
  readonly lastRun?: JobRecord | null;
}

/** A job that Grid Engine lists: what it waits for, or Grid Engine's figures while it runs without a record. */
export function renderUnfinished(
  job: UnfinishedJob,
  screen: Screen,
  { full = false, lastRun = null }: UnfinishedOptions = {},
): string[] {
  const states = statesOf(job);
  const [state = 'waiting'] = states;
  const width = screen.width - SECTION_INDENT;
  const section = (name: string, lines: readonly string[]): string[] => blank(renderSection(name, lines, screen));
  const requests = job.requests.map((request) => requestWords(request, screen));
  return [
    ...renderHead(job, state, screen),
    ...blank(
      states.flatMap((one) => {
        const explained = explain(one, job, screen, lastRun);
        return explained === null ? [] : renderExplained(explained, screen);
      }),
    ),
    ...blank([
      ...renderSection('Requested', requests.length === 0 ? [] : wrap(requests.join(' '), width), screen),
      ...renderSection('Position', placeLines(job), screen),
    ]),
    ...section('Tasks', taskLines(job, width, screen)),
    ...section('Running', renderRows(chooseColumns(RUNNING_COLUMNS, job.running), job.running, screen, { width })),
    ...section('Command', full && job.submitCommand !== null ? wrap(screen.safe(job.submitCommand), width) : []),
    ...blank(job.problem === null ? [] : wrap(`No details: ${screen.safe(job.problem)}`, screen.width)),
  ];
}

/** "for 40 s on ge2, maxvmem 298 MiB of 1 GiB"; of several tasks, how many. */
function runningWords({ running }: UnfinishedJob, screen: Screen): string {
  const [first, ...others] = running;
  if (first === undefined) return '';
  if (others.length > 0) return `${formatCount(running.length)} tasks run`;
  const { startedAt, parts, maxvmem, limit } = first;
  const hosts = new Set(parts.map(({ host }) => host));
  const [host = ''] = hosts;
  const time = startedAt === null ? '' : `for ${runningFor(startedAt, screen)} `;
  const place = hosts.size === 1 ? screen.safe(host) : `${hosts.size} hosts`;
  const memory = maxvmem === null ? '' : `, maxvmem ${formatBytes(maxvmem)}`;
  const ofLimit = memory === '' || limit === null ? '' : ` of ${formatRequested(limit)}`;
  return `${time}on ${place}${memory}${ofLimit}`;
}

/** An unfinished job in one line: its states, and why, or how it runs. */
export function unfinishedLine(job: UnfinishedJob, screen: Screen, lastRun: JobRecord | null = null): string {
  const states = statesOf(job);
  const [state] = states;
  const [why = ''] = states.flatMap((one) => explain(one, job, screen, lastRun)?.words ?? []);
  const text = state === 'running' ? `; ${runningWords(job, screen)}` : `. ${why}`;
  const line = `Job ${jobNumber(job)}  ${screen.safe(job.name)}: ${states.map((one) => WORDS[one]).join(', ')}${text}`;
  return truncate(wrap(line, Infinity).join(''), screen.width, screen.glyphs.ellipsis);
}

/** An unfinished job as an object for JSON. */
export function unfinishedAccount(job: UnfinishedJob): object {
  return {
    cluster: job.cluster,
    job_id: job.job,
    task_id: job.task,
    job_name: job.name,
    owner: job.owner,
    project: job.project,
    state: statesOf(job)[0] ?? 'waiting',
    submitted_at: isoTimeOrNull(job.submittedAt),
    slots: job.slots,
    pe: job.pe,
    requests: job.requests,
    position: job.position?.place ?? null,
    waiting_jobs: job.position?.of ?? null,
    waiting_tasks: job.waiting,
    running_tasks: job.running.map(({ task, state, startedAt, parts, vmem, maxvmem, cpuSeconds }) => ({
      task,
      state,
      started_at: isoTimeOrNull(startedAt),
      hosts: [...new Set(parts.map(({ host }) => host))],
      vmem_bytes: vmem,
      maxvmem_bytes: maxvmem,
      cpu_seconds: cpuSeconds,
    })),
    held_by: job.holds,
    starts_after: job.predecessors.map(({ job: number }) => number),
    not_before: isoTimeOrNull(job.notBefore),
    errors: job.errors,
    reasons: job.reasons,
    fits_no_host: fitsNoHost(job),
    submit_command: job.submitCommand,
  };
}
