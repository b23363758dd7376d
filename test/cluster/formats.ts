/** The fields of an accounting record of Grid Engine 8.1.9, in their order: accounting(5). */
export const accountingFields = [
  'qname',
  'hostname',
  'group',
  'owner',
  'job_name',
  'job_number',
  'account',
  'priority',
  'submission_time',
  'start_time',
  'end_time',
  'failed',
  'exit_status',
  'ru_wallclock',
  'ru_utime',
  'ru_stime',
  'ru_maxrss',
  'ru_ixrss',
  'ru_ismrss',
  'ru_idrss',
  'ru_isrss',
  'ru_minflt',
  'ru_majflt',
  'ru_nswap',
  'ru_inblock',
  'ru_oublock',
  'ru_msgsnd',
  'ru_msgrcv',
  'ru_nsignals',
  'ru_nvcsw',
  'ru_nivcsw',
  'project',
  'department',
  'granted_pe',
  'slots',
  'task_number',
  'cpu',
  'mem',
  'io',
  'category',
  'iow',
  'pe_taskid',
  'maxvmem',
  'arid',
  'ar_submission_time',
] as const;

/** One record as the file has it: times in epoch seconds, ru_maxrss in KiB, maxvmem in bytes. */
export type AccountingRecord = Readonly<Record<(typeof accountingFields)[number], string>>;

/** An array task, or a job that is not an array, as qstat shows it. */
export interface ListedTask {
  readonly job: string;
  /** Task number; null for a job that is not an array. */
  readonly task: string | null;
  /** State letters: `qw`, `r`, `t`, `dr`, `Eqw` ... */
  readonly state: string;
  /** Queue instance; null while the task is pending. */
  readonly queue: string | null;
}

export function parseAccounting(text: string): AccountingRecord[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(parseAccountingLine);
}

/** The records of Open Cluster Scheduler's `accounting.jsonl`, with times in seconds as in `accounting`. */
export function parseAccountingJson(text: string): AccountingRecord[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { usage, ...plain } = JSON.parse(line) as JsonRecord;
      const values: JsonFields = { ...plain, ...usage.rusage, ...usage.eusage };
      const value = (name: string): string => {
        const found: string | number = values[name] ?? 'NONE';
        return name.endsWith('_time') && typeof found === 'number' ? String(Math.floor(found / 1e6)) : String(found);
      };
      return Object.fromEntries(accountingFields.map((name) => [name, value(name)])) as AccountingRecord;
    });
}

type JsonFields = Readonly<Record<string, string | number | undefined>>;
type JsonRecord = JsonFields & { readonly usage: { readonly rusage: JsonFields; readonly eusage: JsonFields } };

/** Throws for a line with too few fields. */
export function parseAccountingLine(line: string): AccountingRecord {
  const parts = line.split(':');
  const category = accountingFields.indexOf('category');
  const after = accountingFields.length - category - 1;
  if (parts.length < accountingFields.length) throw new Error(`accounting line with ${parts.length} fields: ${line}`);
  // The category is the only field that may hold colons (`-l h_rt=0:10:0`).
  const values = [...parts.slice(0, category), parts.slice(category, -after).join(':'), ...parts.slice(-after)];
  return Object.fromEntries(accountingFields.map((name, index) => [name, values[index] ?? ''])) as AccountingRecord;
}

/** Reads the output of `qconf -s...` with SGE_SINGLE_LINE=1: a name, blanks and a value on each line. */
export function parseSettings(text: string): Map<string, string> {
  const settings = new Map<string, string>();
  for (const line of text.split('\n')) {
    const match = /^([^\s#]\S*)\s+(.*)$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) settings.set(match[1], match[2].trim());
  }
  return settings;
}

export function formatSettings(settings: ReadonlyMap<string, string>): string {
  return [...settings].map(([name, value]) => `${name} ${value}\n`).join('');
}

/** Queue instance (`all.q@ge1`) to state letters (empty: none) from `qstat -f`. */
export function parseQueueStates(text: string): Map<string, string> {
  const states = new Map<string, string>();
  for (const line of text.split('\n')) {
    const match = /^(\S+@\S+)\s+\S+\s+\d+\/\d+\/\d+\s+\S+\s+\S+(?:\s+(\S+))?/.exec(line);
    if (match?.[1] !== undefined) states.set(match[1], match[2] ?? '');
  }
  return states;
}

/** The tasks in the output of `qstat -g d -xml`. */
export function parseTasks(xml: string): ListedTask[] {
  return [...xml.matchAll(/<job_list .*?<\/job_list>/gs)].map(([block]) => {
    const text = (tag: string): string | null => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(block)?.[1] ?? null;
    const queue = text('queue_name');
    return {
      job: text('JB_job_number') ?? '',
      task: text('tasks'),
      state: text('state') ?? '',
      queue: queue === '' ? null : queue,
    };
  });
}
