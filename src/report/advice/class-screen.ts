import { groupBy } from '../../base/group-by';
import { RAISE } from '../../advice/job-class';
import { categoryRequests } from '../../gridengine/category-requests';
import { nameClass } from '../../record/name-class';
import { formatBytes, formatCount, formatDuration, formatPercent, formatRequested, plural } from '../format/units';
import { escapeJson } from '../format/escape';
import { renderCsvRows } from '../records/csv';
import { wrap } from '../screen/layout';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';
import { memoryReason } from '../job/headline';
import { HEADROOM, roundRequest } from './advice';
import type { ClassAdvice, ClassFields } from './class-advice';

/** Advice for a kind of job, and what was asked. */
interface ClassReport {
  readonly fields: ClassFields;
  readonly advice: ClassAdvice;
  /** The risk that was asked for. */
  readonly risk: number;
  /** The `-l` options of the job or submission, in the form of a Grid Engine category. */
  readonly requests: string;
}

const TIME = 'h_rt';

/** "h_vmem=2.3G,h_rt=2:30:00"; null: nothing is known. */
export function classRequest({ memory, time }: Pick<ClassAdvice, 'memory' | 'time'>): string | null {
  const parts = [
    ...(memory === null ? [] : [`${memory.complex}=${memory.text}`]),
    ...(time === null ? [] : [`${TIME}=${time.text}`]),
  ];
  return parts.length === 0 ? null : parts.join(',');
}

export const CLASS_COLUMNS: readonly Column[] = [
  { head: 'Request' },
  { head: 'Risk', align: 'right' },
  { head: 'Runs', align: 'right' },
  { head: 'Largest', align: 'right' },
  { head: 'Failed', align: 'right' },
  { head: 'Undecided', align: 'right' },
];

function row(prediction: PredictionObject, largest: string, screen: Screen): readonly string[] {
  const { complex, request, risk, runs, predictions, failed, undecided } = prediction;
  return [
    `${complex}=${request}`,
    risk === null ? screen.glyphs.none : formatPercent(risk),
    formatCount(runs),
    largest,
    predictions === 0
      ? ''
      : `${formatCount(failed)} of ${formatCount(predictions)} (${formatPercent(failed / predictions)})`,
    undecided === 0 ? '' : formatCount(undecided),
  ];
}

function largestMemory(memory: NonNullable<ClassObject['memory']>): string {
  const { stopped_at_bytes: limit, largest_bytes: largest, runs_by_grid_engine_only: countedOnly } = memory;
  return limit === null
    ? `${countedOnly > 0 ? '~' : ''}${formatBytes(largest, 'up')}`
    : `stopped at ${formatRequested(limit)}`;
}

const largestTime = ({
  stopped_at_seconds: limit,
  largest_seconds: largest,
}: NonNullable<ClassObject['time']>): string =>
  limit === null ? formatDuration(largest) : `stopped at ${formatDuration(limit)}`;

/** A line for each request, as `CLASS_COLUMNS`. */
export function classRows({ memory, time }: ClassObject, screen: Screen): readonly (readonly string[])[] {
  return [
    ...(memory === null ? [] : [row(memory, largestMemory(memory), screen)]),
    ...(time === null ? [] : [row(time, largestTime(time), screen)]),
  ];
}

/** "align_reads of bob, 4 slots, PE smp" */
export function classTitle(
  { owner, job_name: name, slots, pe, project, queue }: ClassObject['class'],
  screen: Screen,
): string {
  const parts = [
    ...(slots === null ? [] : [plural(slots, 'slot')]),
    ...(pe === null ? [] : [`PE ${screen.safe(pe)}`]),
    ...(project === null || project === 'NONE' ? [] : [`project ${screen.safe(project)}`]),
    ...(queue === null ? [] : [`queue ${screen.safe(queue)}`]),
  ];
  return [`${screen.safe(name)} of ${screen.safe(owner)}`, ...parts].join(', ');
}

const LARGEST = `the largest and ${formatPercent(HEADROOM - 1)} headroom`;
const LIMIT = 'the limit at which the largest was stopped';

/** What is to be said of a complex. */
type Note = readonly [complex: string, words: string];

/** Where no risk can be stated, or only a larger one than was asked for. */
function riskNotes(predicted: PredictionObject | null, wanted: number, founded: string): readonly Note[] {
  if (predicted === null) return [];
  const { complex, risk } = predicted;
  if (predicted.mostly_stopped)
    return [[complex, `most of the runs were stopped at a limit, so no risk can be stated: ${founded}.`]];
  if (risk === null)
    return [[complex, `too few runs (3 are needed), or too different ones, to state a risk: ${founded}.`]];
  if (risk <= wanted) return [];
  const words = `${formatPercent(risk)} is the smallest risk that can be stated, ${formatPercent(wanted)} takes more runs, or runs that differ less.`;
  return [[complex, words]];
}

/** Each note once, with the complexes of which it holds. */
const withComplexes = (notes: readonly Note[]): readonly string[] =>
  [...groupBy(notes, ([, words]) => words)].map(
    ([words, of]) => `${of.map(([complex]) => complex).join(', ')}: ${words}`,
  );

function programNotes(predicted: readonly (PredictionObject | null)[]): readonly string[] {
  const names = predicted.flatMap((one) => (one?.same_program === true ? [one.complex] : []));
  return names.length === 0 ? [] : [`${names.join(', ')}: from runs of the same script or command only.`];
}

function memoryNotes({ memory, class: { slots } }: ClassObject): readonly string[] {
  if (memory === null) return [];
  const { request_bytes: amount, request: text, per, complex, runs_by_grid_engine_only: countedOnly, runs } = memory;
  const counted = Math.min(countedOnly, runs);
  const total = per === 'slot' && slots !== null && slots > 1;
  return [
    ...(total
      ? [`${complex} is per slot: ${formatCount(slots)} x ${text} = ${formatBytes(amount * slots)} in all.`]
      : []),
    ...(counted === 0
      ? []
      : [
          `~ ${formatCount(counted)} of the runs ${counted === 1 ? 'is' : 'are'} known from Grid Engine's figure only (maxvmem: its own peak, seen every few seconds).`,
        ]),
  ];
}

/** The note that fewer slots would do, with a request that leaves them the same memory in all. */
function slotsNotes({ slots, memory }: ClassObject): readonly string[] {
  if (slots === null) return [];
  const { requested, enough, busiest, runs } = slots;
  const request =
    memory?.per === 'slot'
      ? `, with ${memory.complex}=${roundRequest((memory.request_bytes * requested) / enough).text}`
      : '';
  return [
    `Slots: ${formatCount(enough)} of ${formatCount(requested)} would do${request}: the busiest of ${formatCount(runs)} runs kept ${busiest.toFixed(1)} busy on average.`,
  ];
}

function failedNotes(predicted: readonly (PredictionObject | null)[]): readonly string[] {
  return predicted.some((one) => one !== null && one.predictions > 0)
    ? ['Failed: runs that needed more than was predicted for them, at that risk.']
    : [];
}

function undecidedNotes(predicted: readonly (PredictionObject | null)[]): readonly string[] {
  return predicted.some((one) => one !== null && one.undecided > 0)
    ? ['Undecided: runs that were stopped at a limit below what was predicted; whether that is enough is not known.']
    : [];
}

/** Notes that explain the lines of `classRows`. `alone`: why the job itself decides its memory; null: it does not. */
export function classNotes(answer: ClassObject, alone: string | null = null): readonly string[] {
  const { memory, time, wanted_risk: wanted } = answer;
  return [
    ...slotsNotes(answer),
    ...programNotes([memory, time]),
    ...memoryNotes(answer),
    ...withComplexes([
      ...(memory === null || alone === null
        ? riskNotes(memory, wanted, memory?.stopped_at_bytes == null ? LARGEST : `${RAISE} times ${LIMIT}`)
        : ([[memory.complex, `from this job only, so no risk can be stated: ${alone}.`]] as const)),
      ...riskNotes(time, wanted, time?.stopped_at_seconds == null ? LARGEST : `twice ${LIMIT}`),
    ]),
    ...failedNotes([memory, time]),
    ...undecidedNotes([memory, time]),
    'Risk: the share of such runs that would need more.',
  ];
}

function nowNote(requests: string, complex: string | null, screen: Screen): readonly string[] {
  const now = categoryRequests(requests).filter(({ name }) => name === complex || name === TIME);
  return now.length === 0
    ? []
    : [`Requested now: ${now.map(({ name, text }) => `${name}=${screen.safe(text)}`).join(', ')}.`];
}

/** What to request for a kind of job, at which risk, on how many runs that rests and how such predictions have held. */
export function renderClass(report: ClassReport, screen: Screen): readonly string[] {
  const answer = classObject(report);
  const alone = report.advice.memory?.alone ?? null;
  const notes = [
    ...nowNote(report.requests, answer.memory?.complex ?? null, screen),
    ...classNotes(answer, alone && memoryReason(alone, [alone.record], screen)),
  ];
  return [
    ...wrap(classTitle(answer.class, screen), screen.width),
    '',
    `  ${screen.style.accent(screen.glyphs.advice)} ${answer.client} -l ${screen.style.title(classRequest(report.advice) ?? '')}`,
    '',
    ...renderTable(CLASS_COLUMNS, classRows(answer, screen), screen, screen.width - 2).map((line) =>
      `  ${line}`.trimEnd(),
    ),
    '',
    ...notes.flatMap((note) => wrap(note, screen.width - 2).map((line) => screen.style.faint(`  ${line}`))),
  ];
}

type StatedPrediction = NonNullable<ClassAdvice['memory' | 'time']>;

/** A request and what it rests on, as in the JSON. */
function predictionObject(complex: string, predicted: StatedPrediction) {
  return {
    complex,
    /** "2.3G", "2:30:00" */
    request: predicted.text,
    risk: predicted.risk,
    runs: predicted.runs,
    predictions: predicted.predictions,
    failed: predicted.failed,
    undecided: predicted.undecided,
    mostly_stopped: predicted.mostlyStopped,
    same_program: predicted.sameProgram,
  };
}

type PredictionObject = ReturnType<typeof predictionObject>;

/** The advice for a kind of job, as in the JSON. */
export function classObject({ fields, advice, risk }: Omit<ClassReport, 'requests'>) {
  const { owner, jobName, slots, pe, project, queue } = fields;
  const { memory, time, slots: slotsAdvice, client } = advice;
  const request = classRequest(advice);
  return {
    class: { owner, job_name: nameClass(jobName), slots, pe, project, queue },
    wanted_risk: risk,
    /** "-l h_vmem=2.3G,h_rt=2:30:00"; null: nothing is known. */
    request: request === null ? null : `-l ${request}`,
    memory: memory && {
      ...predictionObject(memory.complex, memory),
      request_bytes: memory.amount,
      per: memory.per,
      largest_bytes: Math.ceil(memory.largest),
      /** The limit at which the run that needed most was stopped; null: it was not. */
      stopped_at_bytes: memory.stoppedAt,
      runs_by_grid_engine_only: memory.countedOnly,
    },
    time: time && {
      ...predictionObject(TIME, time),
      request_seconds: time.amount,
      largest_seconds: time.largest,
      stopped_at_seconds: time.stoppedAt,
    },
    /** null also where the job needs all slots that it requests. */
    slots: slotsAdvice,
    /** The client that submits such jobs: "qsub", "qrsh" ... */
    client,
  };
}

export type ClassObject = ReturnType<typeof classObject>;

/** As `qmemacct advise --json` prints it. */
export function renderClassJson(report: ClassReport): string {
  return `${escapeJson(JSON.stringify({ schema: 1, ...classObject(report) }))}\n`;
}

const CSV_HEAD = ['complex', 'request', 'amount', 'risk', 'runs', 'largest', 'predictions', 'failed', 'undecided'];

/** The advice as CSV, in bytes and seconds. */
export function renderClassCsv({ memory, time }: ClassAdvice): string {
  const line = (complex: string, predicted: StatedPrediction | null): readonly (string | number | null)[][] => {
    if (predicted === null) return [];
    const { text, amount, risk, runs, largest, predictions, failed, undecided } = predicted;
    return [[complex, text, amount, risk, runs, largest, predictions, failed, undecided]];
  };
  return renderCsvRows([CSV_HEAD, ...line(memory?.complex ?? '', memory), ...line(TIME, time)]);
}
