import { categoryRequests } from '../../gridengine/category-requests';
import { nameClass } from '../../record/name-class';
import { formatBytes, formatCount, formatDuration, formatPercent } from '../format/units';
import { escapeJson } from '../format/escape';
import { renderCsvRows } from '../records/csv';
import { wrap } from '../screen/layout';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';
import type { ClassFields, MemoryPromise, Promised, TimePromise } from './class-advice';

/** What past runs of a kind say of the next one; null: nothing. */
interface ClassAdvice {
  readonly memory: MemoryPromise | null;
  readonly time: TimePromise | null;
}

/** Advice for a kind of job, and what was asked. */
interface ClassReport {
  readonly fields: ClassFields;
  readonly advice: ClassAdvice;
  /** The risk that was asked for. */
  readonly risk: number;
  /** `-l` options of the job or submission, as a category has them. */
  readonly requests: string;
}

const TIME = 'h_rt';

/** "h_vmem=2.3G,h_rt=2:30:00"; null: nothing is known. */
export function classRequest({ memory, time }: ClassAdvice): string | null {
  const parts = [
    ...(memory === null ? [] : [`${memory.complex}=${memory.text}`]),
    ...(time === null ? [] : [`${TIME}=${time.text}`]),
  ];
  return parts.length === 0 ? null : parts.join(',');
}

const COLUMNS: readonly Column[] = [
  { head: 'Request' },
  { head: 'Risk', align: 'right' },
  { head: 'Runs', align: 'right' },
  { head: 'Largest', align: 'right' },
  { head: 'Such predictions here', align: 'right' },
  { head: 'Failed', align: 'right' },
];

function row(request: string, promised: Promised, largest: string, screen: Screen): readonly string[] {
  const { risk, runs, predictions, failed } = promised;
  return [
    request,
    risk === null ? screen.glyphs.none : formatPercent(risk),
    formatCount(runs),
    largest,
    risk === null ? '' : formatCount(predictions),
    predictions === 0 ? '' : `${formatCount(failed)} (${formatPercent(failed / predictions)})`,
  ];
}

function titleOf({ owner, jobName, slots, pe, project, queue }: ClassFields, screen: Screen): string {
  const parts = [
    ...(slots === null ? [] : [`${formatCount(slots)} slot${slots === 1 ? '' : 's'}`]),
    ...(pe === null ? [] : [`PE ${screen.safe(pe)}`]),
    ...(project === null || project === 'NONE' ? [] : [`project ${screen.safe(project)}`]),
    ...(queue === null ? [] : [`queue ${screen.safe(queue)}`]),
  ];
  return [`${screen.safe(nameClass(jobName))} of ${screen.safe(owner)}`, ...parts].join(', ');
}

/** Whether no risk can be stated, or only a larger one than was asked for. */
function riskNotes(name: string, promised: Promised | null, wanted: number): readonly string[] {
  if (promised === null) return [];
  if (promised.risk === null)
    return [
      `${name}: too few runs (3 are needed), or too different ones, to state a risk: the largest and 20 % headroom.`,
    ];
  if (promised.risk <= wanted) return [];
  return [
    `${name}: ${formatPercent(promised.risk)} is the smallest risk that can be stated, ${formatPercent(wanted)} takes more runs, or runs that differ less.`,
  ];
}

function memoryNotes({
  memory,
  slots,
}: {
  readonly memory: MemoryPromise;
  readonly slots: number | null;
}): readonly string[] {
  const { amount, text, per, complex, countedOnly, runs } = memory;
  const total = per === 'slot' && slots !== null && slots > 1;
  return [
    ...(total
      ? [`${complex} is per slot: ${formatCount(slots)} x ${text} = ${formatBytes(amount * slots)} in all.`]
      : []),
    ...(countedOnly === 0
      ? []
      : [
          `~ ${formatCount(Math.min(countedOnly, runs))} of the runs are known by Grid Engine's figure alone (maxvmem: address spaces, seen every few seconds).`,
        ]),
  ];
}

function nowNote(requests: string, complex: string | null, screen: Screen): readonly string[] {
  const now = categoryRequests(requests).filter(({ name }) => name === complex || name === TIME);
  return now.length === 0
    ? []
    : [`Requested now: ${now.map(({ name, text }) => `${name}=${screen.safe(text)}`).join(', ')}.`];
}

/** What to request for a kind of job, at which risk, on how many runs that rests and how such predictions have held. */
export function renderClass({ fields, advice, risk, requests }: ClassReport, screen: Screen): readonly string[] {
  const { memory, time } = advice;
  const tilde = memory !== null && memory.countedOnly > 0 ? '~' : '';
  const rows = [
    ...(memory === null
      ? []
      : [row(`${memory.complex}=${memory.text}`, memory, `${tilde}${formatBytes(memory.largest, 'up')}`, screen)]),
    ...(time === null ? [] : [row(`${TIME}=${time.text}`, time, formatDuration(time.largest), screen)]),
  ];
  const notes = [
    ...(memory === null ? [] : memoryNotes({ memory, slots: fields.slots })),
    ...nowNote(requests, memory?.complex ?? null, screen),
    ...riskNotes(memory?.complex ?? '', memory, risk),
    ...riskNotes(TIME, time, risk),
    'Risk: the share of such runs that would need more.',
  ];
  return [
    titleOf(fields, screen),
    '',
    `  ${screen.style.accent(screen.glyphs.advice)} qsub -l ${screen.style.title(classRequest(advice) ?? '')}`,
    '',
    ...renderTable(COLUMNS, rows, screen, screen.width - 2).map((line) => `  ${line}`.trimEnd()),
    '',
    ...notes.flatMap((note) => wrap(note, screen.width - 2).map((line) => screen.style.faint(`  ${line}`))),
  ];
}

/** The same for programs; null: nothing is known. */
export function renderClassJson({ fields, advice, risk }: ClassReport): string {
  const { owner, jobName, slots, pe, project, queue } = fields;
  const shared = ({ risk: stated, runs, predictions, failed }: Promised): object => ({
    risk: stated,
    runs,
    predictions,
    failed,
  });
  const { memory, time } = advice;
  const request = classRequest(advice);
  const answer = {
    schema: 1,
    class: { owner, job_name: nameClass(jobName), slots, pe, project, queue },
    wanted_risk: risk,
    request: request === null ? null : `-l ${request}`,
    memory: memory && {
      complex: memory.complex,
      request: memory.text,
      request_bytes: memory.amount,
      per: memory.per,
      ...shared(memory),
      largest_bytes: Math.ceil(memory.largest),
      runs_by_grid_engine_only: memory.countedOnly,
    },
    time: time && {
      complex: TIME,
      request: time.text,
      request_seconds: time.amount,
      ...shared(time),
      largest_seconds: time.largest,
    },
  };
  return `${escapeJson(JSON.stringify(answer))}\n`;
}

const CSV_HEAD = ['complex', 'request', 'amount', 'risk', 'runs', 'largest', 'predictions', 'failed'];

/** The same as CSV: bytes, seconds. */
export function renderClassCsv({ memory, time }: ClassAdvice): string {
  const line = (
    complex: string,
    promised: (Promised & { readonly text: string }) | null,
  ): readonly (string | number | null)[][] => {
    if (promised === null) return [];
    const { text, amount, risk, runs, largest, predictions, failed } = promised;
    return [[complex, text, amount, risk, runs, largest, predictions, failed]];
  };
  return renderCsvRows([CSV_HEAD, ...line(memory?.complex ?? '', memory), ...line(TIME, time)]);
}
