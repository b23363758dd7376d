import { isoTimeOrNull } from '../../base/iso-time';
import { AFTER_SIGNAL, failedCode } from '../../gridengine/failed-code';
import { clipText } from '../../record/clip';
import { NOT_SEEN } from '../../record/coverage';
import { APART_MS } from '../../record/job-end';
import { emptyRecord, type GridEngineAccount, type JobRecord } from '../../record/record';
import type { PlacedLine } from './line-place';
import { USUAL_RULES, type RequestRules } from '../../record/request-rules';
import { lineRequests, NO_REQUESTS, type LineRequests } from './line-requests';

/** The highest signal that a status above 128 can stand for. */
const MOST_SIGNALS = 64;

/** What Grid Engine writes where it knows no queue or host. */
const UNKNOWN = 'UNKNOWN';

function hasStarted(line: PlacedLine): boolean {
  return line.startTimeMs !== null;
}

/**
 * Whether the line says nothing of how the job ended: where a job's spool directory was lost, execd reports failed 0,
 * exit status 0 and no times.
 */
function isEmptyReport(line: PlacedLine): boolean {
  return line.failed === 0 && !hasStarted(line) && lineHost(line) !== UNKNOWN;
}

/** Whole seconds, as in the classic file, so that a run gets the same id from a file of either format. */
function startSecond(startMs: number): number {
  return Math.floor(startMs / 1000);
}

/** The run id of a line, as long as no record of our own stands for the run. */
export function lineRunId(line: PlacedLine): string {
  if (line.startTimeMs !== null) return `accounting.${startSecond(line.startTimeMs)}`;
  return `accounting.0.${startSecond(line.submissionTimeMs ?? 0)}.${line.place ?? '0'}`;
}

export function lineHost({ host }: Pick<PlacedLine, 'host'>): string {
  return host === '' || host === '(null)' ? UNKNOWN : host;
}

export function lineQueue({ queue }: Pick<PlacedLine, 'queue'>): string | null {
  return queue === '' || queue === '(null)' || queue === UNKNOWN ? null : queue;
}

/** Why there are no samples. */
function lineNote(line: PlacedLine): string {
  if (hasStarted(line)) return NOT_SEEN;
  if (isEmptyReport(line)) return 'Whether it started is not known: execd had lost its spool directory.';
  if (line.failed === 0) return 'It never started.';
  if (line.failed === AFTER_SIGNAL) return 'It never started: it was deleted before.';
  const { ran, meaning } = failedCode(line.failed);
  if (ran === null) return `Whether it started is not known: ${meaning}.`;
  return `${ran ? 'Grid Engine recorded no start' : 'It never started'}: ${meaning}.`;
}

function lineSignal(line: PlacedLine): number | null {
  const { failed, exitStatus } = line;
  if (isEmptyReport(line)) return null;
  if (exitStatus > 128 && exitStatus <= 128 + MOST_SIGNALS && failed !== 0) return exitStatus - 128;
  // A shell's status above 128 may mean that its child died by a signal; readers decide.
  return failed === 0 ? 0 : null;
}

/** Elapsed seconds of the run; if Grid Engine left them out although the job ran, from its start and end. */
export function lineWallclock(line: PlacedLine): number {
  const { wallclockSeconds: stated, startTimeMs: start, endTimeMs: end } = line;
  if (stated > 0 || start === null || end === null || end <= start) return toMillisecond(amount(stated));
  return (end - start) / 1000;
}

/** null: the line has times and no usage, as qmaster writes it when a job is deleted by force (`deletedByForce`). */
export function lineCpu(line: PlacedLine): number | null {
  const { cpuSeconds: cpu, wallclockSeconds: stated, failed } = line;
  const isWithoutUsage = failed === 0 && stated === 0 && cpu === 0 && lineWallclock(line) * 1000 >= APART_MS;
  return isWithoutUsage ? null : toMillisecond(amount(cpu));
}

/** Slots on the line's host; null: not known, since a parallel job's line has the slots of all hosts together. */
export function lineHostSlots(line: PlacedLine): number | null {
  return line.peTaskId === null && (line.slots === 1 || (line.pe === null && line.slots > 0)) ? line.slots : null;
}

/** When the line was written (ms), as far as its times tell. */
export function lineRevision(line: PlacedLine): number {
  return line.endTimeMs ?? line.startTimeMs ?? line.submissionTimeMs ?? 0;
}

const amount = (value: number): number => Math.max(0, value);
/** Seconds, rounded to the millisecond: Open Cluster Scheduler writes microseconds. */
const toMillisecond = (seconds: number): number => Math.round(seconds * 1000) / 1000;
const positive = (value: number | null): number | null => (value === null || value <= 0 ? null : value);

export function lineAccount(line: PlacedLine): GridEngineAccount {
  return {
    wallclock_seconds: toMillisecond(amount(line.wallclockSeconds)),
    cpu_seconds: toMillisecond(amount(line.cpuSeconds)),
    user_seconds: toMillisecond(amount(line.userSeconds)),
    system_seconds: toMillisecond(amount(line.systemSeconds)),
    maxvmem_bytes: positive(line.maxvmemBytes),
    maxrss_bytes: line.jobMaxrssBytes ?? positive(line.maxrssBytes),
    mem_gib_seconds: amount(line.memGibSeconds),
    io_gib: amount(line.ioGib),
    category: clipText(line.category),
    submit_command: clipText(line.submitCommand),
    deleted_by: clipText(line.deletedBy),
    lines: 1,
  };
}

export function requestsOfLine(line: PlacedLine, rules: RequestRules): LineRequests {
  if (line.category === null || line.peTaskId !== null || line.slots <= 0) return NO_REQUESTS;
  return lineRequests(line.category, line.slots, rules);
}

const orNull = (text: string): string | null => (text === '' ? null : text);

interface LineContext {
  readonly cluster: string;
  readonly rules?: RequestRules;
  /** The result of `requestsOfLine`, if it is known already. */
  readonly requests?: LineRequests;
}

/** The record of a job of which nothing but this line of Grid Engine's accounting is known. */
export function recordOfLine(line: PlacedLine, context: LineContext): JobRecord {
  const { cluster, rules = USUAL_RULES } = context;
  const requests = context.requests ?? requestsOfLine(line, rules);
  const key = {
    cluster,
    job_id: line.jobId,
    task_id: line.task === 0 ? null : line.task,
    pe_task_id: line.peTaskId,
    host: lineHost(line),
    run_id: lineRunId(line),
  };
  return {
    ...emptyRecord(key, 'unsampled', 'accounting', lineRevision(line)),
    owner: orNull(line.owner),
    job_name: orNull(clipText(line.jobName)),
    queue: lineQueue(line),
    project: line.project,
    pe: line.pe,
    account: orNull(clipText(line.account)),
    slots: line.slots > 0 ? line.slots : null,
    host_slots: lineHostSlots(line),
    submitted_at: isoTimeOrNull(line.submissionTimeMs),
    started_at: isoTimeOrNull(line.startTimeMs),
    ended_at: isoTimeOrNull(line.endTimeMs),
    exit_status: isEmptyReport(line) ? null : line.exitStatus,
    signal: lineSignal(line),
    failed: line.failed,
    h_vmem: requests.h_vmem,
    requests: requests.requests,
    request_order: rules.orderText(lineQueue(line)),
    wallclock_seconds: lineWallclock(line),
    cpu_seconds: lineCpu(line),
    grid_engine: lineAccount(line),
    notes: [lineNote(line)],
  };
}
