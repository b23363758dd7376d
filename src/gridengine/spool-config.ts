import { MIB } from '../base/units';
import type { Per } from './memory-request';
import { readSpoolConfigLines } from './spool-config-lines';
import { epochToMs } from './epoch-time';
import { failure, success, type Result } from '../base/result';

export interface ResourceLimit {
  /**
   * The value as given by the user, the complex's default or the queue: `4G`, `INFINITY`, `UNDEFINED`; per slot, not
   * multiplied.
   */
  readonly text: string;
  /** Consumables of kind JOB are not multiplied by slots. */
  readonly per: Per;
  /** Whether the value is for all slots on the host together. */
  readonly isMultiplied?: boolean;
}

/**
 * What is used of the `config` file of a job's spool directory: what execd hands the shepherd (daemons/execd/exec_job.c).
 *
 * Values are not escaped there, so a newline in an output path or an argument forges keys. While `ambiguous` is not
 * empty, nothing that matters may follow from the record; even otherwise no path, user or command may be derived from
 * it.
 */
export interface SpoolConfig {
  /** One sentence for each sign of forgery; empty for an ordinary file. */
  readonly ambiguous: readonly string[];
  readonly jobId: number;
  /** 0: not an array job, where the directory's name says 1. */
  readonly task: number;
  /** `SEQ.HOST` of a `qrsh -inherit` task; null for the job itself. */
  readonly peTaskId: string | null;
  readonly jobName: string | null;
  readonly owner: string;
  readonly account: string | null;
  readonly project: string | null;
  readonly queue: string | null;
  readonly host: string | null;
  readonly submissionTimeMs: number | null;
  /** The command of a binary job (`-b y`); null: a script, or an interactive job. */
  readonly command: string | null;
  /** Whether execd keeps a copy of the job's script. */
  readonly hasScript: boolean;
  /** Its working directory. */
  readonly directory: string | null;
  /** The parallel environment's name. */
  readonly pe: string | null;
  /** Slots of the whole job. */
  readonly peSlots: number;
  /**
   * Slots on this host. null: absent or 0, for which the shepherd takes 1 (setrlimits.c), as in tasks of Open Cluster
   * Scheduler, which counts slots only where it writes a hostfile.
   */
  readonly hostSlots: number | null;
  /** The additional group of the job's processes; null where the dialect has none. */
  readonly addGrpId: number | null;
  /** Memory limits, by the complex's name. */
  readonly limits: ReadonlyMap<string, ResourceLimit>;
  /** The request of the complex `mem_limit` that some versions turn into a limit of the job's systemd unit. */
  readonly memLimit: string | null;
  /** Null: the job is in no unit of systemd. */
  readonly systemd: SystemdUnit | null;
}

/** The systemd unit to which the job's first process is moved after its fork, in the dialects that have that. */
export interface SystemdUnit {
  /** Its name where `config` holds it (Open Cluster Scheduler). */
  readonly scope: string | null;
}

/** Far above what execd writes (a few KiB and the job's arguments). */
const maxLength = MIB;

/** The complexes whose memory limits execd writes there. */
const MEMORY_LIMITS = ['vmem', 'rss', 'data', 'stack'].flatMap((resource) => [`h_${resource}`, `s_${resource}`]);

/** What stands in place of a script's name for jobs of qlogin, qrsh and qsh. */
const INTERACTIVE: ReadonlySet<string> = new Set(['QLOGIN', 'QRSH', 'QRLOGIN', 'INTERACTIVE']);

/** Reads `config`. Fails if the file is too large, cut short before the job's identity, or another file. */
export function parseSpoolConfig(text: string): Result<SpoolConfig> {
  if (text.length > maxLength) return failure(`config has more than ${maxLength} characters`);
  const { values, ambiguous } = readSpoolConfigLines(text);
  const jobId = wholeNumber(values.get('job_id'));
  const task = wholeNumber(values.get('ja_task_id'));
  const owner = values.get('job_owner');
  const lacks = (key: string): Result<never> => failure([`config has no ${key}`, ...ambiguous].join('; '));
  if (jobId === null || jobId === 0) return lacks('job_id');
  if (task === null) return lacks('ja_task_id');
  if (owner === undefined || owner === '') return lacks('job_owner');
  const word = (key: string): string | null => textOrNull(values.get(key));
  const scriptFile = values.get('script_file') ?? '';
  const isBatch = scriptFile !== '' && !INTERACTIVE.has(scriptFile);
  const isBinary = values.get('handle_as_binary') === '1';
  return success({
    ambiguous,
    jobId,
    task,
    peTaskId: word('pe_task_id'),
    jobName: values.get('job_name') ?? null,
    owner,
    account: values.get('account') ?? null,
    project: word('acct_project'),
    queue: word('queue'),
    host: word('host'),
    submissionTimeMs: epochToMs(values.get('submission_time') ?? ''),
    command: isBatch && isBinary ? scriptFile : null,
    hasScript: isBatch && !isBinary,
    directory: word('cwd'),
    pe: word('pe'),
    peSlots: wholeNumber(values.get('pe_slots')) ?? 0,
    hostSlots: wholeNumber(values.get('host_slots')) || null,
    addGrpId: wholeNumber(values.get('add_grp_id')),
    limits: readLimits(values),
    memLimit: word('mem_limit'),
    systemd:
      values.get('use_systemd') === 'yes' || values.get('enable_systemd') === '1'
        ? { scope: word('systemd_scope') }
        : null,
  });
}

/** How the directory's name differs from the file: one sentence for each difference, none if they agree. */
export function identityMismatches(
  config: SpoolConfig,
  directory: { readonly jobId: number; readonly task: number; readonly peTaskId?: string | null },
): readonly string[] {
  const mismatches: string[] = [];
  const peTaskId = directory.peTaskId ?? null;
  if (config.jobId !== directory.jobId) {
    mismatches.push(`config says job ${config.jobId}, the directory job ${directory.jobId}`);
  }
  if ((config.task || 1) !== directory.task) {
    mismatches.push(`config says task ${config.task}, the directory task ${directory.task}`);
  }
  if (config.peTaskId !== peTaskId) {
    mismatches.push(`config says PE task ${config.peTaskId ?? 'none'}, the directory ${peTaskId ?? 'none'}`);
  }
  return mismatches;
}

/**
 * Where a parallel environment has `daemon_forks_slaves` or `master_forks_slaves` (as those that it ships for MPI), Open
 * Cluster Scheduler writes a limit times the slots on the host, in a form of its own and, of all but the first, behind
 * those before it: `h_vmem=2.051G`, `s_data=2.051G2.637G` for 700M and 900M on three slots. Nobody types three decimals.
 */
const MULTIPLIED = /^(?:\d+\.\d{3}[KMGT]?)*?(\d+\.\d{3}[KMGT]?)$/;

function readLimits(values: ReadonlyMap<string, string>): SpoolConfig['limits'] {
  const mayMultiply = values.has('usage_collection') && textOrNull(values.get('pe')) !== null;
  return new Map(
    MEMORY_LIMITS.flatMap((name): [string, ResourceLimit][] => {
      const text = values.get(name);
      if (text === undefined) return [];
      const ofHost = mayMultiply ? MULTIPLIED.exec(text)?.[1] : undefined;
      if (ofHost !== undefined) return [[name, { text: ofHost, per: 'slot', isMultiplied: true }]];
      return [[name, { text, per: values.get(`${name}_is_consumable_job`) === '1' ? 'job' : 'slot' }]];
    }),
  );
}

function textOrNull(text: string | undefined): string | null {
  return text === undefined || text === '' || text.toLowerCase() === 'none' ? null : text;
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
