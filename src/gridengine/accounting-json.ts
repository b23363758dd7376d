import { jsonIn } from '../base/json-in';
import { isObject } from '../base/shape';
import type { AccountingLineProblem, AccountingRecord } from './accounting-record';
import { epochToMs } from './epoch-time';
import { withoutSecrets } from './qsub-options';
import { withoutReserved } from './reserved-usage';

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

/** The members of one line. */
class LineMembers {
  private readonly places: readonly Fields[];

  constructor(private readonly top: Fields) {
    const usage = fieldsOf(top.usage);
    this.places = [usage.eusage, usage.usage, usage.rusage, top].map(fieldsOf);
  }

  /** A figure of the usage; null: there is none. */
  amount(name: string): number | null {
    const value = this.places.find((place) => Object.hasOwn(place, name))?.[name];
    return typeof value === 'number' && Number.isFinite(value) ? value : null;
  }

  count(name: string): number {
    const value = this.top[name];
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
  }

  text(name: string): string {
    const value = this.top[name];
    return typeof value === 'string' ? value : '';
  }

  word(name: string): string | null {
    const value = this.text(name);
    return value === '' || value === 'NONE' ? null : value;
  }

  time(name: string): number | null {
    const value = this.top[name];
    return typeof value === 'number' && value > 0 ? epochToMs(String(value)) : null;
  }
}

/**
 * A line of Open Cluster Scheduler's `accounting.jsonl`: 9.0 has its figures in `usage.usage`, 9.1 and later in
 * `usage.eusage`, the first development versions in the line itself. Members without a value are left out there.
 */
export function jsonAccountingLine(line: string): AccountingRecord | AccountingLineProblem {
  const parsed = jsonIn(line);
  if (parsed === undefined) return { kind: 'malformed', detail: 'no valid JSON' };
  if (!isObject(parsed)) return { kind: 'malformed', detail: 'no JSON object' };
  const members = new LineMembers(parsed);
  if (members.count('job_number') === 0) return { kind: 'malformed', detail: 'no job_number' };
  if (members.text('owner') === '') return { kind: 'malformed', detail: 'no owner' };
  return withoutReserved(recordOf(members));
}

function recordOf(members: LineMembers): AccountingRecord {
  const rssBytes = members.amount('maxrss') ?? 0;
  const vmem = members.amount('maxvmem');
  const submitted = members.word('submit_cmd_line');
  return {
    queue: members.text('qname'),
    host: members.text('hostname'),
    owner: members.text('owner'),
    jobName: members.text('job_name'),
    jobId: members.count('job_number'),
    account: members.text('account'),
    submissionTimeMs: members.time('submission_time'),
    startTimeMs: members.time('start_time'),
    endTimeMs: members.time('end_time'),
    failed: members.count('failed'),
    exitStatus: members.count('exit_status'),
    // `wallclock` of eusage counts from the shepherd's start to the last report, with all hooks; qacct adds up
    // `ru_wallclock`.
    wallclockSeconds: members.amount('ru_wallclock') ?? members.amount('wallclock') ?? 0,
    userSeconds: members.amount('ru_utime') ?? 0,
    systemSeconds: members.amount('ru_stime') ?? 0,
    maxrssBytes: Math.round((members.amount('ru_maxrss') ?? 0) * 1024),
    project: members.word('project'),
    pe: members.word('granted_pe'),
    slots: members.count('slots'),
    task: members.count('task_number'),
    cpuSeconds: members.amount('cpu') ?? 0,
    memGibSeconds: members.amount('mem') ?? 0,
    ioGib: members.amount('io') ?? 0,
    category: members.word('category'),
    submitCommand: submitted === null ? null : withoutSecrets(submitted),
    peTaskId: members.word('pe_taskid'),
    maxvmemBytes: vmem === null ? null : Math.round(vmem),
    jobMaxrssBytes: rssBytes > 0 ? Math.round(rssBytes) : null,
    deletedBy: members.word('deleted_by'),
  };
}
