import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { MIB } from '../../base/units';
import { readUntrusted, textOfUntrusted } from '../../base/read-untrusted';
import { memoryRequests } from '../../gridengine/memory-request';
import { parsePeHostfile } from '../../gridengine/pe-hostfile';
import { LONGEST_SCRIPT, programDigest, scriptCopy } from '../../gridengine/program';
import {
  identityMismatches,
  parseSpoolConfig,
  type SpoolConfig,
  type SystemdUnit,
} from '../../gridengine/spool-config';
import { parseSpoolUsage, type SpoolUsage } from '../../gridengine/spool-usage';
import type { JobRecord, MemoryRequest } from '../../record/record';
import type { RequestRules } from '../../record/request-rules';

/** The fields of a job's record that only Grid Engine can fill, where it says nothing. */
const NOTHING = {
  owner: null,
  job_name: null,
  queue: null,
  project: null,
  pe: null,
  account: null,
  program: null,
  slots: null,
  host_slots: null,
  granted_hosts: null,
  submitted_at: null,
  h_vmem: null,
  requests: {},
  request_order: null,
  pe_task_id: null,
} satisfies Partial<JobRecord>;
type DescribedFields = Pick<JobRecord, keyof typeof NOTHING>;

/** What Grid Engine says about a job. */
export interface JobDescription {
  readonly fields: DescribedFields;
  /** Execution host as Grid Engine names it; null when unknown. */
  readonly host: string | null;
  /** Additional group of the job's processes; null: none. */
  readonly group: number | null;
  /** systemd unit of the job; null: none. */
  readonly systemd: SystemdUnit | null;
  readonly array: boolean;
  readonly notes: readonly string[];
}

/** A description of a job whose `config` could not be used. */
export function undescribed(task: number, note: string): JobDescription {
  return { fields: NOTHING, host: null, group: null, systemd: null, array: task > 0, notes: [note] };
}

function requests(config: SpoolConfig, rules: RequestRules): Record<string, MemoryRequest> {
  const result: Record<string, MemoryRequest> = {};
  const isPerHost = (complex: string): boolean => rules.per(complex) === 'host';
  for (const request of memoryRequests(config, [...rules.recorded], isPerHost)) {
    if (request.state === 'unlimited') continue;
    result[request.complex] = {
      request_bytes: request.requestBytes,
      limit_bytes: request.limitBytes,
      per: request.per,
    };
  }
  return result;
}

/** The limit that the kernel enforces, whatever was requested: the hook was under the same limit as the job. */
function limitInForce(addressSpaceKib: number | null): MemoryRequest | null {
  const bytes = (addressSpaceKib ?? Infinity) * 1024;
  if (bytes > Number.MAX_SAFE_INTEGER) return null;
  return { request_bytes: null, limit_bytes: bytes, per: 'job' };
}

/** In the `config` of a `qrsh -inherit` task these describe qrsh ("petask", its own submission) or one host's part. */
const UNKNOWN_OF_TASKS = { job_name: null, program: null, slots: null, submitted_at: null } as const;

function ofJob(config: SpoolConfig, script: Buffer | null): Pick<DescribedFields, keyof typeof UNKNOWN_OF_TASKS> {
  const { command, hasScript, directory } = config;
  const program = command !== null ? { command } : hasScript && script !== null ? { script } : null;
  return {
    job_name: config.jobName,
    program: program && programDigest(program, directory),
    slots: config.pe === null ? config.hostSlots : config.peSlots || config.hostSlots,
    submitted_at: config.submissionTimeMs === null ? null : new Date(config.submissionTimeMs).toISOString(),
  };
}

/** Contents of files near a spool `config`; null: no such file. */
interface FilesNearby {
  readonly peHostfile: string | null;
  /** The job's `config`, one directory above the task's; not there if the job's script runs on another host. */
  readonly configOfJob: string | null;
  /** execd's copy of the job's script. */
  readonly script: Buffer | null;
}

/** For a task whose config has no host slots: the job's host slots where its script runs, else all slots of the job. */
function slotsOfTask(config: SpoolConfig, task: number, configOfJob: string | null): number | null {
  const job = configOfJob === null ? null : parseSpoolConfig(configOfJob);
  if (job === null) return config.peSlots || null;
  const isIts = job.ok && identityMismatches(job.value, { jobId: config.jobId, task: task || 1 }).length === 0;
  return isIts ? job.value.hostSlots : null;
}

/** Description from the text of a spool `config`; `run` names the job that it must be about. */
export function describeJob(
  text: string,
  run: {
    readonly job: number;
    readonly task: number;
    readonly peTask?: string | null;
    readonly addressSpaceKib: number | null;
  },
  rules: RequestRules,
  { peHostfile = null, configOfJob = null, script = null }: Partial<FilesNearby> = {},
): JobDescription {
  const parsed = parseSpoolConfig(text);
  if (!parsed.ok) return undescribed(run.task, `Grid Engine's config file could not be used: ${parsed.error}.`);
  const own = parsed.value;
  const isTask = own.peTaskId !== null;
  const config = { ...own, hostSlots: own.hostSlots ?? (isTask ? slotsOfTask(own, run.task, configOfJob) : null) ?? 1 };
  const mismatches = identityMismatches(config, { jobId: run.job, task: run.task || 1, peTaskId: run.peTask ?? null });
  const suspicious = [...config.ambiguous, ...mismatches];
  // The group is in the file's first line, before anything that a user can choose.
  const common = { group: config.addGrpId, array: run.task > 0 };
  if (suspicious.length > 0)
    return {
      ...common,
      host: null,
      systemd: null,
      fields: { ...NOTHING, h_vmem: limitInForce(run.addressSpaceKib) },
      notes: [`Grid Engine's config file may be forged (${suspicious[0] ?? ''}): nothing was taken from it.`],
    };
  const { h_vmem: hVmem = null, ...others } = requests(config, rules);
  return {
    ...common,
    host: config.host,
    systemd: config.systemd,
    notes: [],
    fields: {
      owner: config.owner,
      ...(run.peTask == null ? ofJob(config, script) : UNKNOWN_OF_TASKS),
      queue: config.queue,
      project: config.project,
      pe: config.pe,
      account: config.account,
      host_slots: config.hostSlots,
      // execd writes the file for every job; it is of use only for a PE job.
      granted_hosts:
        config.pe === null || config.peTaskId !== null || peHostfile === null ? null : parsePeHostfile(peHostfile),
      h_vmem: hVmem,
      requests: others,
      request_order: rules.orderText(config.queue),
      pe_task_id: config.peTaskId,
    },
  };
}

const MOST_BYTES = MIB;

/** Uids whose files in a spool directory are trusted: root and the directory's owner (Grid Engine's admin user). */
function trustedOwners(spool: string): ReadonlySet<number> {
  try {
    return new Set([0, lstatSync(spool).uid]);
  } catch {
    return new Set([0]);
  }
}

/**
 * Text of a spool file that only Grid Engine can have written (`config`, `environment`, `usage`, `pid`); null when
 * missing or not trusted. The job's owner can write `trace`, `error` and `exit_status`: nothing in these is trusted.
 */
export function trustedSpoolFile(spool: string, name: string): string | null {
  return textOfUntrusted(join(spool, name), MOST_BYTES, trustedOwners(spool));
}

/** execd's copy of the job's script; null: missing, too long, or not trusted. */
export function spooledScript(spool: string): Buffer | null {
  try {
    return readUntrusted(scriptCopy(spool), LONGEST_SCRIPT, trustedOwners(spool));
  } catch {
    return null;
  }
}

/** `usage` of a job whose first process was reaped; null: missing, or not fully written yet. */
export function readUsage(spool: string): SpoolUsage | null {
  const text = trustedSpoolFile(spool, 'usage');
  return text?.endsWith('\n') === true ? parseSpoolUsage(text) : null;
}

/** Pid of the job's first process; null: not started. */
export function readJobPid(spool: string): number | null {
  const pid = Number.parseInt(trustedSpoolFile(spool, 'job_pid') ?? '', 10);
  return Number.isSafeInteger(pid) && pid > 1 ? pid : null;
}
