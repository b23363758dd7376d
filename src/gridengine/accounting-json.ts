import type { AccountingLineProblem, AccountingRecord } from './accounting-record';
import { epochToMs } from './epoch-time';
import { withoutSecrets } from './qsub-options';

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** Too large for a double where it is negative; a quotation mark inside a string has a backslash before it. */
const PRIORITY = /(?<!\\)"priority":(\d{16,20})[,}]/;

/**
 * A line of Open Cluster Scheduler's `accounting.jsonl`: 9.0 has its figures in `usage.usage`, 9.1 and later in
 * `usage.eusage`, the first development versions in the line itself. What was null there is left out.
 */
export function jsonAccountingLine(line: string): AccountingRecord | AccountingLineProblem {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return { kind: 'malformed', detail: 'no valid JSON' };
  }
  if (!isFields(parsed)) return { kind: 'malformed', detail: 'no JSON object' };
  const top = parsed;
  const usage = fieldsOf(top.usage);
  const places = [usage.eusage, usage.usage, usage.rusage, top].map(fieldsOf);
  const found = (name: string): unknown => places.find((place) => Object.hasOwn(place, name))?.[name];
  const amount = (name: string): number | null => {
    const value = found(name);
    return typeof value === 'number' && Number.isFinite(value) ? value : null;
  };
  const count = (name: string): number => {
    const value = top[name];
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
  };
  const text = (name: string): string => (typeof top[name] === 'string' ? top[name] : '');
  const word = (name: string): string | null => {
    const value = text(name);
    return value === '' || value === 'NONE' ? null : value;
  };
  const time = (name: string): number | null =>
    typeof top[name] === 'number' && top[name] > 0 ? epochToMs(String(top[name])) : null;

  const jobId = count('job_number');
  if (jobId === 0) return { kind: 'malformed', detail: 'no job_number' };
  if (text('owner') === '') return { kind: 'malformed', detail: 'no owner' };
  const exact = PRIORITY.exec(line)?.[1];
  const priority = typeof top.priority === 'number' ? top.priority : 0;
  const arId = count('arid');
  const rssBytes = amount('maxrss') ?? 0;
  const vmem = amount('maxvmem');
  const submitted = word('submit_cmd_line');
  return {
    queue: text('qname'),
    host: text('hostname'),
    group: text('group'),
    owner: text('owner'),
    jobName: text('job_name'),
    jobId,
    account: text('account'),
    priority: exact === undefined ? priority : Number(BigInt.asIntN(64, BigInt(exact))),
    submissionTimeMs: time('submission_time'),
    startTimeMs: time('start_time'),
    endTimeMs: time('end_time'),
    failed: count('failed'),
    exitStatus: count('exit_status'),
    // `wallclock` of eusage counts from the shepherd's start to the last report, hooks and all; qacct adds this one up.
    wallclockSeconds: amount('ru_wallclock') ?? amount('wallclock') ?? 0,
    userSeconds: amount('ru_utime') ?? 0,
    systemSeconds: amount('ru_stime') ?? 0,
    maxrssBytes: Math.round((amount('ru_maxrss') ?? 0) * 1024),
    minorFaults: amount('ru_minflt') ?? 0,
    majorFaults: amount('ru_majflt') ?? 0,
    blocksIn: amount('ru_inblock') ?? 0,
    blocksOut: amount('ru_oublock') ?? 0,
    voluntarySwitches: amount('ru_nvcsw') ?? 0,
    involuntarySwitches: amount('ru_nivcsw') ?? 0,
    project: word('project'),
    department: word('department'),
    pe: word('granted_pe'),
    slots: count('slots'),
    task: count('task_number'),
    cpuSeconds: amount('cpu') ?? 0,
    memGibSeconds: amount('mem') ?? 0,
    ioGib: amount('io') ?? 0,
    category: word('category'),
    submitCommand: submitted === null ? null : withoutSecrets(submitted),
    iowSeconds: amount('iow') ?? 0,
    peTaskId: word('pe_taskid'),
    maxvmemBytes: vmem === null ? null : Math.round(vmem),
    arId: arId === 0 ? null : arId,
    jobMaxrssBytes: rssBytes > 0 ? Math.round(rssBytes) : null,
    deletedBy: word('deleted_by'),
    layout: 'json',
  };
}
