import type { AccountingRecord } from '../../gridengine/accounting-line';
import type { GridEngineAccount, MemoryRequest } from '../../record/record';
import type { ImportLines } from '../history-store';
import {
  clipped,
  lineAccount,
  lineCpu,
  lineHost,
  lineHostSlots,
  lineNote,
  lineQueue,
  lineRevision,
  lineRunId,
  lineSignal,
  lineWallclock,
  requestsOfLine,
  startSecond,
} from '../import/line-record';
import type { PlacedLine } from '../import/line-place';
import { NO_REQUESTS, USUAL_RULES, type LineRequests } from '../import/line-requests';
import { arrayWriter, quoted, type ArrayWriter } from './array-writer';

/** Columns of the type line_set (sql/accounting/postgres/007-import.sql), in its order, and their types. */
const COLUMNS = {
  job: 'bigint',
  task: 'bigint',
  pe_task: 'text',
  part: 'integer',
  company: '"char"',
  place: 'text',
  revision: 'bigint',
  submitted: 'bigint',
  started: 'bigint',
  ended: 'bigint',
  wallclock: 'double precision',
  cpu: 'double precision',
  efficiency: 'text',
  host: 'integer',
  owner: 'integer',
  job_name: 'integer',
  queue: 'integer',
  project: 'integer',
  pe: 'integer',
  account: 'integer',
  slots: 'integer',
  host_slots: 'integer',
  exit_status: 'integer',
  signal: 'integer',
  failed: 'integer',
  amounts: 'text',
  category: 'integer',
  deleted_by: 'integer',
  asked: 'integer',
  note: 'integer',
} as const;

type Column = keyof typeof COLUMNS;
type Columns = Record<Column, ArrayWriter>;
const NAMES = Object.keys(COLUMNS) as Column[];

/** What import_set() takes after the file, for values that begin at `$first`. */
export function lineSetParameters(first: number): string {
  const parameter = (at: number, type: string): string => `$${first + at}::text::${type}`;
  const columns = NAMES.map((name, index) => parameter(5 + index, `${COLUMNS[name]}[]`));
  return [
    parameter(0, '"char"[]'),
    parameter(1, 'text[]'),
    parameter(2, 'text[]'),
    parameter(3, 'jsonb'),
    parameter(4, 'text[]'),
    `ROW(${columns.join(', ')})::qmemacct.line_set`,
  ].join(', ');
}

/** The tables' letters for kinds of strings. */
type Kind = 'c' | 'h' | 'o' | 'n' | 'q' | 'p' | 'e' | 'a' | 'g';

const LONGEST_BYTES = 4096;
const MOST_INT32 = 2 ** 31 - 1;

function isTooLong(text: string | null): boolean {
  return text !== null && text.length * 3 > LONGEST_BYTES && Buffer.byteLength(text) > LONGEST_BYTES;
}

const isSize = (bytes: number | null): boolean => bytes === null || (Number.isSafeInteger(bytes) && bytes >= 0);
const isTime = (ms: number | null): boolean => ms === null || ms >= 0;

/** Whether the tables have room for the line; lines of jobs are like that. */
function isStorable(line: AccountingRecord): boolean {
  return (
    isTime(line.submissionTimeMs) &&
    isTime(line.startTimeMs) &&
    isTime(line.endTimeMs) &&
    line.slots <= MOST_INT32 &&
    isSize(line.jobMaxrssBytes ?? Math.max(0, line.maxrssBytes)) &&
    isSize(Math.max(0, line.maxvmemBytes ?? 0)) &&
    !isTooLong(line.host) &&
    !isTooLong(line.owner) &&
    !isTooLong(line.queue) &&
    !isTooLong(line.project) &&
    !isTooLong(line.pe) &&
    !isTooLong(line.peTaskId)
  );
}

/** Finds the place (from 1 on) of a string in a list in which each stands once, where `add` puts a new one. */
function places(add: (element: string) => number): (text: string) => number {
  const known = new Map<string, number>();
  return (text) => {
    let place = known.get(text);
    if (place !== undefined) return place;
    // The database's texts have no NUL.
    const clean = text.replaceAll('\0', '\uFFFD');
    place = known.get(clean) ?? add(quoted(clean));
    known.set(clean, place);
    known.set(text, place);
    return place;
  };
}

function requestText({ request_bytes, limit_bytes, per }: MemoryRequest): string {
  return `${request_bytes ?? ''}:${limit_bytes ?? ''}:${per === 'slot' ? 's' : 'j'}`;
}

/** What lines ask for: h_vmem, and the rest by name. */
interface Asked {
  readonly vmem: (string | null)[];
  readonly others: Readonly<Record<string, string>>[];
  /** Where it stands in these lists, from 1 on; null: a line asks for nothing. */
  readonly placeOf: (line: AccountingRecord) => number | null;
}

function askedFor(): Asked {
  const vmem: (string | null)[] = [];
  const others: Readonly<Record<string, string>>[] = [];
  const same = new Map<string, number>();
  const ofCategory = new Map<string, Map<number, number | null>>();
  const add = ({ h_vmem, requests }: LineRequests): number | null => {
    if (h_vmem === null && requests === NO_REQUESTS.requests) return null;
    const own = h_vmem === null ? null : requestText(h_vmem);
    const its = Object.fromEntries(Object.entries(requests).map(([name, request]) => [name, requestText(request)]));
    const text = JSON.stringify([own, its]);
    let place = same.get(text);
    if (place === undefined) {
      place = vmem.push(own);
      others.push(its);
      same.set(text, place);
    }
    return place;
  };
  return {
    vmem,
    others,
    placeOf(line) {
      const { category, slots } = line;
      if (category === null || line.peTaskId !== null) return null;
      let bySlots = ofCategory.get(category);
      if (bySlots === undefined) ofCategory.set(category, (bySlots = new Map<number, number | null>()));
      let place = bySlots.get(slots);
      if (place === undefined) bySlots.set(slots, (place = add(requestsOfLine(line, USUAL_RULES))));
      return place;
    },
  };
}

/** The account as it is packed (v[42] of 002-codec.sql), up to its category. */
function amounts(account: GridEngineAccount): readonly (number | null)[] {
  return [
    account.wallclock_seconds,
    account.cpu_seconds,
    account.user_seconds,
    account.system_seconds,
    account.maxvmem_bytes,
    account.maxrss_bytes,
    account.mem_gib_seconds,
    account.io_gib,
  ];
}

/** Lines of one job, task and pe task, of which there are several. */
interface Part {
  readonly first: number;
  lines: number;
  hasTwins: boolean;
  /** The runs that they are of. */
  readonly runs: Set<string | number>;
}

/** How lines of one job stand to each other: most are the only one of theirs. */
interface Company {
  /** Notes a line as the one at this place, from 1 on, in their order; returns the place of the first of its part. */
  readonly add: (line: PlacedLine, place: number) => number;
  /** Letters of the type line_set, once all are there. */
  readonly letters: () => readonly string[];
}

/** No line is held on to. */
function passing(lines: ImportLines): Iterable<PlacedLine> {
  return lines.passing?.() ?? lines;
}

function companyOf(lines: ImportLines): Company {
  const linesOfJob = new Map<number, number>();
  for (const { jobId } of passing(lines)) linesOfJob.set(jobId, (linesOfJob.get(jobId) ?? 0) + 1);
  const parts = new Map<string, Part>();
  const partOfLine: (Part | null)[] = [];
  return {
    add(line, place) {
      if (linesOfJob.get(line.jobId) === 1) {
        partOfLine.push(null);
        return place;
      }
      const key = `${line.jobId}/${line.task}/${line.peTaskId ?? ''}`;
      let part = parts.get(key);
      if (part === undefined) {
        part = { first: place, lines: 0, hasTwins: false, runs: new Set<string | number>() };
        parts.set(key, part);
      }
      partOfLine.push(part);
      part.lines++;
      const run = line.startTimeMs === null ? lineRunId(line) : startSecond(line.startTimeMs);
      if (part.runs.has(run)) part.hasTwins = true;
      part.runs.add(run);
      return part.first;
    },
    letters: () =>
      partOfLine.map((part) => {
        if (part === null || part.lines === 1) return 'a';
        return part.hasTwins ? 't' : 's';
      }),
  };
}

const literal = (elements: readonly string[]): string => `{${elements.join(',')}}`;

interface LineSet {
  /** What `lineSetParameters` stands for. */
  readonly values: readonly string[];
  /** Lines that are in it. */
  readonly size: number;
}

/** Lines as columns, in the form that import_set() takes. What can't be stored is left out. */
export function lineSet(lines: ImportLines, cluster: string): LineSet {
  const kinds: Kind[] = [];
  const texts: string[] = [];
  const notes: string[] = [];
  const wordPlaces = (kind: Kind): ((text: string | null) => number | null) => {
    const placeOf = places((element) => {
      kinds.push(kind);
      return texts.push(element);
    });
    return (text) => (text === null || text === '' ? null : placeOf(text));
  };
  // The first of the list.
  wordPlaces('c')(cluster);
  const host = wordPlaces('h');
  // Who deleted a job has the numbers of owners.
  const owner = wordPlaces('o');
  const jobName = wordPlaces('n');
  const queue = wordPlaces('q');
  const project = wordPlaces('p');
  const pe = wordPlaces('e');
  const account = wordPlaces('a');
  const category = wordPlaces('g');
  const note = places((element) => notes.push(element));
  const asked = askedFor();
  const company = companyOf(lines);
  const columns = Object.fromEntries(NAMES.map((name) => [name, arrayWriter()])) as Columns;
  let size = 0;

  for (const line of passing(lines)) {
    if (!isStorable(line)) continue;
    const first = company.add(line, ++size);
    const its = lineAccount(line);
    columns.job.integer(line.jobId);
    columns.task.integer(line.task === 0 ? null : line.task);
    columns.pe_task.ascii(line.peTaskId === null ? null : quoted(line.peTaskId));
    columns.part.integer(first);
    columns.place.ascii(line.startTimeMs === null ? quoted(line.place ?? '0') : null);
    columns.revision.integer(lineRevision(line));
    columns.submitted.integer(line.submissionTimeMs);
    columns.started.integer(line.startTimeMs);
    columns.ended.integer(line.endTimeMs);
    columns.wallclock.double(lineWallclock(line));
    columns.cpu.double(lineCpu(line));
    columns.efficiency.double(null);
    columns.host.integer(host(lineHost(line)));
    columns.owner.integer(owner(line.owner));
    columns.job_name.integer(jobName(clipped(line.jobName)));
    columns.queue.integer(queue(lineQueue(line)));
    columns.project.integer(project(line.project));
    columns.pe.integer(pe(line.pe));
    columns.account.integer(account(clipped(line.account)));
    columns.slots.integer(line.slots > 0 ? line.slots : null);
    columns.host_slots.integer(lineHostSlots(line));
    columns.exit_status.integer(line.exitStatus);
    columns.signal.integer(lineSignal(line));
    columns.failed.integer(line.failed);
    columns.amounts.list(amounts(its));
    columns.category.integer(category(its.category));
    columns.deleted_by.integer(owner(its.deleted_by));
    columns.asked.integer(asked.placeOf(line));
    columns.note.integer(note(lineNote(line)));
  }
  for (const letter of company.letters()) columns.company.ascii(letter);
  return {
    values: [
      literal(kinds),
      literal(texts),
      literal(asked.vmem.map((text) => text ?? 'NULL')),
      JSON.stringify(asked.others),
      literal(notes),
      ...NAMES.map((name) => columns[name].finish()),
    ],
    size,
  };
}
