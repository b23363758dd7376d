import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { codeOf } from '../../base/error-code';
import type { childrenUsage } from '../../native/libc';
import { privateCluster } from '../../record/job-name';
import { replaceFile } from '../../base/replace-file';
import { callerName } from '../../base/user-name';
import { loadSettings, settingsToml, type Settings } from '../../record/settings';
import { madeOwnStorePath } from '../stores/stores';
import type { Terminal } from '../terminal';

/** A user's own state directory and settings, for jobs that run without Grid Engine. */
export interface PrivateState {
  readonly directory: string;
  readonly settingsPath: string;
  readonly settings: Settings;
}

/** Makes what is missing under `directory` (mode 0700) and writes a settings file there; `more`: of this run alone. */
export function makePrivateState(
  directory: string,
  { cluster, accounting }: Pick<Settings, 'cluster' | 'accounting'>,
  more: Partial<Settings> = {},
): PrivateState {
  for (const part of ['', 'run', 'plain', 'outbox', 'runtime/live', 'active_jobs'])
    mkdirSync(join(directory, part), { recursive: true, mode: 0o700 });
  mkdirSync(dirname(accounting), { recursive: true, mode: 0o700 });
  const text = settingsToml({
    cluster,
    state_dir: directory,
    run_dir: join(directory, 'runtime'),
    accounting,
    accounting_mode: '0600',
    deliver_as: 'root',
    // Records that unprivileged hooks leave in the outbox are the user's own, so accept them.
    accept_self_reported: true,
    delivery_jitter_ms: 0,
    delivery_patience: 30,
    listener_linger: 1,
    ...more,
  });
  // Simultaneous runs may need different settings, so each variant has a file of its own.
  const form = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const settingsPath = join(directory, Object.keys(more).length > 0 ? `settings-${form}.toml` : 'qmemacct.toml');
  replaceFile(settingsPath, text, 0o600);
  return { directory, settingsPath, settings: loadSettings(settingsPath) };
}

/** The site's settings about what can be measured here, and how. */
const ofSite = (site: Settings): Partial<Settings> => ({
  initial_network_namespace: site.initial_network_namespace,
  listener: site.listener,
  helper_deadline: site.helper_deadline,
  sources: site.sources,
});

/** The state of `qmemacct run`, beside the user's own accounting DB. Throws UserError. */
export function ownState(env: Terminal['env'], interval: number | undefined, site?: Settings): PrivateState {
  const accounting = madeOwnStorePath(env);
  const base = { cluster: privateCluster('run'), accounting };
  return makePrivateState(join(dirname(accounting), 'run-state'), base, {
    ...(interval === undefined ? {} : { interval }),
    ...(site === undefined ? {} : ofSite(site)),
  });
}

/** Takes the next job number never used here, and makes its spool directory `N.1`. */
export function takeJobNumber(state: PrivateState): { readonly job: number; readonly spool: string } {
  const counter = join(state.directory, 'last-job');
  let job = 0;
  try {
    // Of what no counting has written, numbers begin anew: beyond 2^53 there is no next one.
    job = Number(/^\d{1,9}$/.exec(readFileSync(counter, 'utf8').trim())?.[0] ?? 0);
  } catch {
    // No file yet: the first job.
  }
  for (;;) {
    job++;
    const spool = join(state.directory, 'active_jobs', `${job}.1`);
    try {
      mkdirSync(spool, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) === 'EEXIST') continue;
      throw error;
    }
    replaceFile(counter, `${job}\n`, 0o600);
    return { job, spool };
  }
}

/** The requests of a job that runs without Grid Engine. */
interface LocalJob {
  readonly job: number;
  readonly name: string;
  /** As with `qsub -l h_vmem=`; null: no limit. */
  readonly hVmem: string | null;
  readonly slots: number;
  readonly pe: string | null;
}

/** Writes the spool files that execd writes before a job starts. */
export function writeSpool(spool: string, job: LocalJob, nowMs: number): void {
  const lines = [
    `h_vmem=${job.hVmem ?? 'INFINITY'}`,
    'h_vmem_is_consumable_job=0',
    `job_owner=${callerName()}`,
    `pe=${job.pe ?? 'none'}`,
    `pe_slots=${job.slots}`,
    `host_slots=${job.slots}`,
    `host=${hostname()}`,
    `job_name=${job.name.replace(/[\n\r]/g, ' ')}`,
    `job_id=${job.job}`,
    'ja_task_id=0',
    'account=sge',
    `submission_time=${Math.floor(nowMs / 1000)}`,
    '',
  ];
  writeFileSync(join(spool, 'config'), lines.join('\n'));
  writeFileSync(join(spool, 'environment'), '');
}

interface LocalUsage extends ReturnType<typeof childrenUsage> {
  readonly exitStatus: number;
  readonly signal: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** Writes `usage` as the shepherd does when it has reaped the job. */
export function writeUsage(spool: string, usage: LocalUsage): void {
  const start = Math.floor(usage.startMs / 1000);
  const end = Math.floor(usage.endMs / 1000);
  replaceFile(
    join(spool, 'usage'),
    [
      `exit_status=${usage.exitStatus}`,
      `signal=${usage.signal}`,
      `start_time=${start}`,
      `end_time=${end}`,
      `ru_wallclock=${end - start}`,
      `ru_utime=${usage.utime}`,
      `ru_stime=${usage.stime}`,
      `ru_maxrss=${Math.round(usage.maxrss / 1024)}`,
      `ru_minflt=${usage.minorFaults}`,
      '',
    ].join('\n'),
    0o600,
  );
}
