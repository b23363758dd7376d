import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { addressSpaceNeeded } from '../../src/cli/install/hook-conf';
import { tuningFlags } from '../../src/base/node-flags';
import { makeFifo } from '../../src/native/libc';
import { SqliteDatabase as Database } from '../../src/native/sqlite';
import { openSqliteReader } from '../../src/accounting/sqlite/sqlite-store';
import { packageRoot } from '../../src/base/package-root';
import type { JobRecord } from '../../src/record/record';
import { startTicksOf } from '../../src/sampler/job/pid-file';
import { readText } from '../../src/sources/files';
import { bootId } from '../../src/sources/proc/clock';
import { sampleConfig } from '../gridengine/spool-samples';
import { PROGRAM } from '../support/released';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';

/** Why these tests can't run here; null if they can. */
export function shepherdObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'hooks of root are started here, which needs root';
  if (existsSync('/etc/qmemacct/disabled')) return 'the hooks of this machine are disabled';
  return spawnSync(process.env.CC || 'cc', ['--version']).status === 0 ? null : 'no C compiler';
}

let built: string | null = null;

/** test/sampler/shepherd.c, compiled once for this process. */
function shepherdProgram(): string {
  if (built !== null) return built;
  const directory = temporaryDirectory();
  const program = join(directory, 'sge_shepherd');
  const source = join(packageRoot(), 'test', 'sampler', 'shepherd.c');
  const flags = ['-std=c11', '-D_GNU_SOURCE', '-O1', '-Wall', '-Wextra', '-Werror'];
  const { status, error, stderr } = spawnSync(process.env.CC || 'cc', [...flags, source, '-o', program], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`shepherd.c: ${error?.message ?? stderr}`);
  built = program;
  return program;
}

export interface SiteOptions {
  /** Lines of qmemacct.toml beside the paths. */
  readonly settings?: readonly string[];
  /** Seconds that the prolog waits for the sampler. */
  readonly armWait?: number;
  /** Further lines of hook.conf. */
  readonly conf?: Readonly<Record<string, string>>;
}

/** A private installation: hooks, state, accounting DB, spool. */
export interface Site {
  readonly directory: string;
  readonly state: string;
  readonly runDir: string;
  readonly accounting: string;
  readonly hooks: string;
  readonly settings: string;
  /** Descriptors that are closed when the test is over. */
  readonly open: number[];
}

/** What `execd_spool_dir/HOST` is in a site. */
function spoolOf(directory: string): string {
  const spool = join(directory, 'spool', hostname());
  mkdirSync(spool, { recursive: true });
  return spool;
}

/** Quick samples, no jitter; the sampler may use as much CPU as that takes. */
const SETTINGS = [
  'interval = 0.1',
  'delivery_jitter_ms = 0',
  'cpu_budget_percent = 100',
  'deliver_as = "root"',
  'delivery_patience = 5',
];

export function newSite(t: TestContext, { settings = [], armWait = 1.5, conf = {} }: SiteOptions = {}): Site {
  const directory = temporaryDirectory();
  const site: Site = {
    directory,
    state: join(directory, 'state'),
    runDir: join(directory, 'run'),
    accounting: join(directory, 'accounting', 'accounting.db'),
    hooks: join(directory, 'hooks'),
    settings: join(directory, 'qmemacct.toml'),
    open: [],
  };
  t.after(async () => {
    for (const fd of site.open) closeSync(fd);
    await endSamplers(site);
  });
  chmodSync(directory, 0o755);
  mkdirSync(site.state, { mode: 0o711 });
  mkdirSync(join(site.state, 'run'), { mode: 0o700 });
  symlinkSync('../../active_jobs', join(spoolOf(directory), 'active_jobs'));
  for (const name of ['outbox', 'plain']) {
    mkdirSync(join(site.state, name));
    chmodSync(join(site.state, name), 0o1733);
  }
  mkdirSync(site.runDir, { mode: 0o755 });
  mkdirSync(join(directory, 'accounting'), { mode: 0o755 });
  mkdirSync(site.hooks);
  const source = join(packageRoot(), 'hooks');
  for (const name of readdirSync(source))
    if (name.endsWith('.sh')) copyFileSync(join(source, name), join(site.hooks, name));
  const values = {
    node: process.execPath,
    program: PROGRAM,
    settings: site.settings,
    cluster: 'test',
    state: site.state,
    run: site.runDir,
    arm_wait: String(armWait),
    small_kib: addressSpaceNeeded().small * 1024,
    full_kib: addressSpaceNeeded().full * 1024,
    full_flags: tuningFlags().join(' '),
    ...conf,
  };
  writeFileSync(
    join(site.hooks, 'hook.conf'),
    Object.entries(values)
      .map(([key, value]) => `${key}='${value}'\n`)
      .join(''),
  );
  const paths = [
    'cluster = "test"',
    `state_dir = "${site.state}"`,
    'listener_linger = 0',
    `run_dir = "${site.runDir}"`,
    `accounting = "${site.accounting}"`,
    `arm_wait_ms = ${armWait > 0 ? 1000 : 0}`,
  ];
  const given = new Set(settings.map((line) => line.split('=')[0]?.trim()));
  const defaults = SETTINGS.filter((line) => !given.has(line.split('=')[0]?.trim()));
  writeFileSync(site.settings, `${[...paths, ...defaults, ...settings].join('\n')}\n`);
  return site;
}

/** The pid in this text if such a process is alive, otherwise null. */
function processOf(pidText: string | undefined): number | null {
  const pid = Number(pidText);
  return Number.isSafeInteger(pid) && pid > 1 && startTicksOf(pid) !== null ? pid : null;
}

/** Whether the command line of this process names the site. */
function belongsTo(site: Site, pid: number): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return words.some((word) => word.startsWith(`${site.directory}/`));
  } catch {
    return false;
  }
}

/** Pids whose command line names this site: hooks, and the samplers, flushes and deliverers that they have started. */
function processesOf(site: Site): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && belongsTo(site, pid));
}

async function endSamplers(site: Site): Promise<void> {
  await until(() => {
    const pids = processesOf(site);
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone by itself.
      }
    }
    return pids.length === 0;
  }, 'the end of what the hooks started');
}

/** Whether some process of the machine is in the middle of an exec: it has memory, but no command line yet. */
function anyExecutes(): boolean {
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return (
        readFileSync(`/proc/${name}/cmdline`, 'utf8') === '' &&
        !readFileSync(`/proc/${name}/statm`, 'utf8').startsWith('0 ')
      );
    } catch {
      return false;
    }
  });
}

/** Waits until nothing that this site's hooks started is left. */
export function quiet(site: Site): Promise<boolean> {
  let idle = 0;
  let known: readonly number[] = [];
  return until(() => {
    // All of /proc is read only after the processes that are known have ended.
    if (!known.some((pid) => belongsTo(site, pid))) known = processesOf(site);
    if (known.length > 0) idle = 0;
    // On a busy machine a process of the site may be in an exec, without a command line, during all these looks.
    else if (!anyExecutes()) idle++;
    return idle > 5;
  }, 'the end of sampler and delivery');
}

export interface Step {
  readonly pid: number;
  readonly status: number;
  readonly ms: number;
}

export type Steps = Readonly<Record<'prolog' | 'start' | 'job' | 'epilog', Step>>;

export interface JobOptions {
  readonly job?: number;
  /** Changes of the spool file `config`. */
  readonly config?: Readonly<Record<string, string | null>>;
  /** The shell that runs the hooks; by default the machine's /bin/sh. */
  readonly shell?: string;
  /** Options of shepherd.c. */
  readonly shepherd?: readonly string[];
  /** The words after `--` in the command lines of prolog and epilog. */
  readonly chained?: readonly string[];
  /** Uid that owns `trace`, `error` and `exit_status` in the spool directory. */
  readonly owner?: number;
  /** The hooks keep the environment, as those of an installation without root. */
  readonly plain?: boolean;
  /** Grid Engine runs no hooks. */
  readonly hookless?: boolean;
  /** A `qrsh -inherit` task (`1.node1`) of job `job`: its directory is in the job's, and it has no hooks. */
  readonly peTask?: string;
}

export interface Job {
  readonly number: number;
  readonly spool: string;
  readonly shepherd: number;
  /** Name of the run directory. */
  readonly key: string;
  /** Resolves when a step is over ("start": when the job has begun). */
  step(name: keyof Steps): Promise<Step>;
  /** Resolves when the shepherd has ended, with every step that it made. */
  readonly ended: Promise<Partial<Steps>>;
  /** The sampler's pid, once it has written it; null: none alive. */
  sampler(): number | null;
  killShepherd(): void;
}

let jobs = 4000;

/** A link to this shell that is called `sh`: the shell then behaves as /bin/sh. */
function asSh(site: Site, shell: string): string {
  const directory = join(site.directory, `shell-${shell.replaceAll('/', '-')}`);
  if (!existsSync(directory)) {
    mkdirSync(directory);
    symlinkSync(shell, join(directory, 'sh'));
  }
  return join(directory, 'sh');
}

/** Starts a job as execd and the shepherd do. */
export function startJob(site: Site, command: readonly string[], options: JobOptions = {}): Job {
  const number = options.job ?? jobs++;
  const spool = join(site.directory, 'active_jobs', `${number}.1`, options.peTask ?? '');
  mkdirSync(spool, { recursive: true, mode: 0o755 });
  const config = sampleConfig({
    add_grp_id: null,
    job_id: String(number),
    submission_time: String(Math.floor(Date.now() / 1000)),
    h_vmem: '4G',
    host: 'node1',
    ...(options.peTask === undefined ? {} : { prolog: 'none', epilog: 'none' }),
    ...options.config,
  }).replace(
    /^ja_task_id=.*\n/m,
    (line) => `${line}${options.peTask === undefined ? '' : `pe_task_id=${options.peTask}\n`}`,
  );
  const group = options.config?.add_grp_id;
  writeFileSync(
    join(spool, 'config'),
    typeof group === 'string' ? `add_grp_id=${group}\n${config.replace(/^add_grp_id=.*\n/m, '')}` : config,
  );
  writeFileSync(
    join(spool, 'environment'),
    'HOME=/home/alice\nPATH=/usr/bin:/bin\nGREETING=two\\nlines\nLD_PRELOAD=/no/such.so\n',
  );
  writeFileSync(join(spool, 'pe_hostfile'), 'node1 2 all.q@node1 UNDEFINED\n');
  for (const name of ['trace', 'error', 'exit_status']) {
    writeFileSync(join(spool, name), '');
    if (options.owner !== undefined) chownSync(join(spool, name), options.owner, options.owner);
  }
  const shell = options.shell === undefined ? '/bin/sh' : asSh(site, options.shell);
  const chained = options.chained === undefined ? [] : ['--', ...options.chained];
  // The shell of busybox does not know -p.
  const privileged = spawnSync(shell, ['-p', '-c', ':']).status === 0 ? ['-p'] : [];
  const ourHook = (name: string): readonly string[] => [
    ...(options.plain ? [] : ['/usr/bin/env', '-i']),
    shell,
    ...privileged,
    join(site.hooks, `${name}.sh`),
    String(number),
    '0',
    ...chained,
  ];
  const hookless = options.hookless === true || options.peTask !== undefined;
  const hook = (name: string): readonly string[] => (hookless ? ['/bin/true'] : ourHook(name));
  const words = [...(options.shepherd ?? []), '+++', ...hook('prolog'), '+++', ...command, '+++', ...hook('epilog')];
  const child = spawn(shepherdProgram(), words, {
    cwd: spool,
    env: { PATH: '/usr/bin:/bin', SGE_JOB_SPOOL_DIR: spool },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const shepherd = child.pid;
  if (shepherd === undefined) throw new Error('the shepherd could not be started');
  const key = `${number}.0.${bootId().slice(0, 8)}.${shepherd}.${startTicksOf(shepherd) ?? 0}`;
  const steps: { -readonly [Name in keyof Steps]?: Step } = {};
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { step, ...result } = JSON.parse(line) as Step & { readonly step: keyof Steps };
      steps[step] = result;
      if ((step === 'prolog' || step === 'epilog') && result.ms > ALMOST_CUT_OFF_MS[step]) cutOff++;
    }
  });
  let over = false;
  const ended = new Promise<Partial<Steps>>((resolve) => {
    child.once('close', () => {
      over = true;
      resolve(steps);
    });
  });
  return {
    number,
    spool,
    shepherd,
    key,
    ended,
    step: (name) =>
      until(() => {
        if (over && steps[name] === undefined) throw new Error(`the shepherd of job ${number} ended before ${name}`);
        return steps[name] ?? null;
      }, `${name} of job ${number}`),
    sampler: () => {
      const places = [join(site.state, 'run'), join(site.state, 'plain'), join(site.runDir, 'run')];
      for (const place of places) {
        const named = /^pid=(\d+)$/m.exec(readText(join(place, key, 'pid')) ?? '')?.[1];
        const pid = processOf(named ?? readText(join(place, key, 'starting'))?.trim());
        if (pid !== null) return pid;
      }
      return null;
    },
    killShepherd: () => {
      process.kill(shepherd, 'SIGKILL');
    },
  };
}

/** The hooks' own watchdogs end them after 2 and 5 s. */
const ALMOST_CUT_OFF_MS = { prolog: 1500, epilog: 4000 } as const;
let cutOff = 0;

/** A test that is repeated if it fails while watchdogs cut hooks off: the machine was too busy to judge. */
export const it = (name: string, body: (t: TestContext) => unknown, skip: string | boolean = false): void =>
  void test(name, { skip }, (t) => repeatIfCutOff(() => body(t)));

async function repeatIfCutOff(attempt: () => unknown): Promise<void> {
  for (let tries = 1; ; tries++) {
    const before = cutOff;
    try {
      await attempt();
      return;
    } catch (error) {
      if (cutOff === before || tries === 4) throw error;
    }
  }
}

let held = 0;

/** A job that lasts until it is let go, however slow the machine is, with shell commands before and after that. */
export interface Held {
  readonly command: readonly string[];
  readonly letGo: () => void;
}

export function heldJob(site: Site, after = 'exit 3', before = ':'): Held {
  const fifo = join(site.directory, `hold-${held++}`);
  makeFifo(fifo, 0o666);
  chmodSync(fifo, 0o666);
  // Open for reading and writing, the FIFO keeps the line until the job reads it; if the test ends first, so does the job.
  const fd = openSync(fifo, constants.O_RDWR);
  site.open.push(fd);
  return {
    command: ['/bin/sh', '-c', `${before}\nread -r go < '${fifo}'\n${after}`],
    letGo: () => void writeSync(fd, 'go\n'),
  };
}

/** Sleeps in steps, so that a machine that stands still for a while does not use the time up. */
export async function lapse(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) await delay(Math.min(left, 100));
}

/** Waits until the job's sampler has looked at the job's first process, of which it then keeps files open. */
export async function lookedAt(job: Job): Promise<void> {
  const { pid } = await job.step('start');
  await until(() => {
    const sampler = job.sampler();
    if (sampler === null) return false;
    try {
      return readdirSync(`/proc/${sampler}/fd`).some((fd) => isFileOf(pid, `/proc/${sampler}/fd/${fd}`));
    } catch {
      return false;
    }
  }, `the first look at job ${job.number}`);
}

function isFileOf(pid: number, descriptor: string): boolean {
  try {
    return readlinkSync(descriptor).startsWith(`/proc/${pid}/`);
  } catch {
    return false;
  }
}

/** Lets a job go `ms` after its sampler has first looked at it. Returns the moment before that (ms since the epoch). */
export async function letGoSampled(job: Job, { letGo }: Held, ms: number): Promise<number> {
  await lookedAt(job);
  await lapse(ms);
  const before = Date.now();
  letGo();
  return before;
}

/** Waits for a sample in node.db taken after this moment: a sampler saves every 5 s, the service every 20 s. */
export async function sampledSince(site: Site, job: Job, ms: number): Promise<void> {
  await until(() => {
    try {
      const last = nodeSamples(site, job.key).at(-1);
      return last !== undefined && Date.parse(nodeRecord(site, job.key).started_at ?? '') + last.at > ms;
    } catch {
      // The sampler has not made node.db, or not its tables.
      return false;
    }
  }, `a sample of job ${job.number} in node.db`);
}

/** Runs a job that lasts `ms` from its sampler's first look, and waits until its record is delivered. */
export async function runSampled(
  site: Site,
  ms: number,
  options: JobOptions = {},
): Promise<{ readonly job: Job; readonly steps: Steps }> {
  const hold = heldJob(site);
  const job = startJob(site, hold.command, options);
  await letGoSampled(job, hold, ms);
  return wholeJob(site, job);
}

/** Runs a job from prolog to epilog and waits until its record is delivered. */
export function runJob(
  site: Site,
  command: readonly string[],
  options: JobOptions = {},
): Promise<{ readonly job: Job; readonly steps: Steps }> {
  return wholeJob(site, startJob(site, command, options));
}

async function wholeJob(site: Site, job: Job): Promise<{ readonly job: Job; readonly steps: Steps }> {
  const steps = await job.ended;
  const { prolog, start, job: main, epilog } = steps;
  if (!prolog || !start || !main || !epilog) throw new Error(`job ${job.number} ended early: ${JSON.stringify(steps)}`);
  await quiet(site);
  return { job, steps: { prolog, start, job: main, epilog } };
}

/** The record of a run in node.db. Throws when there is none. */
export function nodeRecord(site: Site, key: string): JobRecord {
  const database = new Database(join(site.state, 'node.db'), { readonly: true });
  try {
    const row = database.prepare<[string], { record: string }>('SELECT record FROM job WHERE run = ?').get(key);
    if (row === undefined) throw new Error(`node.db has no ${key}`);
    return JSON.parse(row.record) as JobRecord;
  } finally {
    database.close();
  }
}

export interface Sample {
  readonly at: number;
  readonly rss: number;
  readonly cpu: number;
  readonly processes: number;
}

export function nodeSamples(site: Site, key: string): readonly Sample[] {
  const database = new Database(join(site.state, 'node.db'), { readonly: true });
  try {
    return database
      .prepare<[string], Sample>(
        'SELECT at, rss, cpu, processes FROM sample JOIN job ON job.id = sample.job WHERE run = ? ORDER BY at',
      )
      .all(key);
  } finally {
    database.close();
  }
}

/** The only record of a job in the accounting DB; null: none. */
export async function accountingRecord(site: Site, job: number): Promise<JobRecord | null> {
  if (!existsSync(site.accounting)) return null;
  const store = openSqliteReader(site.accounting);
  try {
    const { records } = await store.job({ job_id: job });
    if (records.length > 1) throw new Error(`job ${job} has ${records.length} records`);
    return records[0]?.record ?? null;
  } finally {
    await store.close();
  }
}

/** The records of running jobs in the accounting DB. Rejects while the DB is half made. */
export async function runningAt(site: Site): Promise<readonly JobRecord[]> {
  if (!existsSync(site.accounting)) return [];
  const reader = openSqliteReader(site.accounting);
  try {
    return (await reader.running({ since: 0 })).map(({ record }) => record);
  } finally {
    await reader.close();
  }
}
