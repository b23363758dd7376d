import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { until } from '../../base/until';
import { otherCommandLines } from '../../base/command-lines';
import { reasonOf } from '../../base/user-error';
import { removeTree } from '../../base/remove-tree';
import { makeOwnedDirectory, setMode } from '../../base/set-owner';
import { openSqliteReader } from '../../accounting/sqlite/sqlite-store';
import { NodeStore } from '../../sampler/node-store/node-store';
import { delivererIdentity } from '../../sampler/delivery/outbox-feeder';
import type { JobRecord } from '../../record/record';
import { DEFAULT_SETTINGS, loadSettings, settingsToml, type Settings } from '../../record/settings';
import { tidyNode } from '../../sampler/node-store/storage';
import { writeSpool } from '../run/private-state';
import { confOfSettings, hookConfText, type HookConf } from './hook-conf';
import { DISABLED_FILE } from '../../sampler/delivery/node-status';

export interface SelfTest {
  /** The hooks can be configured for this host: they end with status 0 in time, and a job gets its record. */
  readonly ok: boolean;
  /** What went wrong, or what was not tested; one line each. */
  readonly problems: readonly string[];
  readonly prologMs: number | null;
  readonly epilogMs: number | null;
  readonly mode: 'full' | 'small' | null;
  readonly samples: number | null;
}

const JOB_SECONDS = 0.5;
const HOOKS_WITHIN_MS = 30_000;
const RECORD_WITHIN_MS = 15_000;
const SAMPLER_ENDS_WITHIN_MS = 5000;
const PREFIX = 'self-test.';

/**
 * Stands in for the shepherd: it works in the job's spool directory, starts the hooks as our line in Grid Engine's
 * configuration does, and leaves job_pid and usage where the sampler looks for them.
 */
const SHEPHERD = `
cd "$1" || exit 1
env -i /bin/sh -p "$2/prolog.sh" 1 0
echo "prolog $?"
begin=$(date +%s)
sleep ${JOB_SECONDS} &
job=$!
echo "$job" >job_pid
wait "$job"
status=$?
end=$(date +%s)
printf '%s\\n' "wait_status=0" "exit_status=$status" "signal=0" "start_time=$begin" "end_time=$end" \\
  "ru_wallclock=$((end - begin))" "ru_utime=0" "ru_stime=0" "ru_maxrss=1000" >usage
echo job
env -i /bin/sh -p "$2/epilog.sh" 1 0
echo "epilog $?"
`;

interface HookRun {
  readonly status: number;
  readonly ms: number;
}

interface Played {
  readonly prolog: HookRun | null;
  readonly epilog: HookRun | null;
  readonly noise: string;
}

function play(spool: string, hooks: string): Promise<Played> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', SHEPHERD, 'shepherd', spool, hooks], {
      cwd: '/',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: HOOKS_WITHIN_MS,
      killSignal: 'SIGKILL',
    });
    let last = performance.now();
    let noise = '';
    let prolog: HookRun | null = null;
    let epilog: HookRun | null = null;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const now = performance.now();
      const [, hook, status] = /^(prolog|epilog) (\d+)$/.exec(line) ?? [];
      const run = { status: Number(status), ms: Math.round(now - last) };
      if (hook === 'prolog') prolog = run;
      else if (hook === 'epilog') epilog = run;
      else if (line !== 'job') noise += line;
      last = now;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      noise += text;
    });
    child.on('error', reject);
    child.on('close', () => resolve({ prolog, epilog, noise: noise.trim().slice(0, 500) }));
  });
}

interface Stage {
  readonly spool: string;
  readonly hooks: string;
  readonly settingsPath: string;
}

/** Makes a miniature site in a private directory: links to the installed hooks, its own hook.conf and settings. */
function setStage(directory: string, conf: HookConf, deliverAs: string): Stage {
  const settingsPath = join(directory, 'qmemacct.toml');
  const hooks = join(directory, 'hooks');
  const spool = join(directory, 'active_jobs', '1.1');
  const state = join(directory, 'state');
  for (const path of [hooks, spool, join(state, 'run'), join(state, 'outbox')]) mkdirSync(path, { recursive: true });
  // The deliverer, which is not root, must reach the accounting DB in there.
  setMode(directory, 0o711);
  const owner = delivererIdentity(deliverAs) ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  makeOwnedDirectory(join(directory, 'accounting'), 0o750, owner);
  for (const name of readdirSync(join(conf.program, 'hooks')))
    if (name.endsWith('.sh')) symlinkSync(join(conf.program, 'hooks', name), join(hooks, name));
  const settings: Settings = {
    ...DEFAULT_SETTINGS,
    cluster: 'self-test',
    state_dir: state,
    run_dir: join(directory, 'run'),
    accounting: join(directory, 'accounting', 'accounting.db'),
    deliver_as: deliverAs,
    delivery_jitter_ms: 0,
    delivery_patience: 3,
    // No listener may stay behind that runs from a version under test.
    listener_linger: 0,
    arm_wait_ms: 0,
    cgroup: 'off',
    scope: 'job',
  };
  writeFileSync(settingsPath, settingsToml(settings));
  writeFileSync(join(hooks, 'hook.conf'), hookConfText({ ...conf, ...confOfSettings(settings, settingsPath) }));
  writeSpool(spool, { job: 1, name: 'self-test', hVmem: '1G', slots: 1, pe: null }, Date.now());
  return { spool, hooks, settingsPath };
}

async function recordIn(accounting: string): Promise<JobRecord | null> {
  if (!existsSync(accounting)) return null;
  const reader = openSqliteReader(accounting);
  try {
    return (await reader.job({ job_id: 1 })).records[0]?.record ?? null;
  } finally {
    await reader.close();
  }
}

/** The record in the accounting DB; a string: why it did not arrive. */
async function delivered(settingsPath: string): Promise<JobRecord | string> {
  const settings = loadSettings(settingsPath);
  const record = await until(() => recordIn(settings.accounting).catch(() => null), RECORD_WITHIN_MS, 50);
  if (record !== null) return record;
  await samplerGone(settingsPath);
  const store = new NodeStore(settings.state_dir);
  try {
    const waiting = store.running().length;
    const { problem, delivered: count } = await tidyNode(store, settings, 5);
    if (problem !== null) return `the record could not be delivered: ${problem}`;
    if (count > 0) return 'the sampler did not deliver its record; a later attempt did';
    return waiting > 0
      ? 'the sampler did not finish its record'
      : 'the sampler left no record; the system log may show why';
  } finally {
    store.close();
  }
}

/** Waits until the sampler, which outlives the epilog, has ended. */
async function samplerGone(settingsPath: string): Promise<void> {
  const runs = (): boolean => [...otherCommandLines()].some((words) => words.includes(settingsPath));
  await until(() => !runs(), SAMPLER_ENDS_WITHIN_MS, 50);
}

function hookProblems({ prolog, epilog, noise }: Played): string[] {
  const check = (name: string, run: HookRun | null, mostMs: number): string[] => {
    if (run === null) return [`the ${name} did not end`];
    if (run.status !== 0) return [`the ${name} ended with status ${run.status}: Grid Engine would stop the queue`];
    return run.ms > mostMs ? [`the ${name} took ${run.ms} ms`] : [];
  };
  return [
    ...check('prolog', prolog, 2500),
    ...check('epilog', epilog, 5500),
    ...(noise === '' ? [] : [`the hooks wrote into the job's output: ${noise}`]),
  ];
}

const LEFTOVER_AFTER_MS = 600_000;

/** Removes what killed self-tests left; not recent directories, as another self-test may be running. */
function removeLeftovers(stateDir: string): void {
  for (const name of readdirSync(stateDir)) {
    const path = join(stateDir, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (name.startsWith(PREFIX) && age > LEFTOVER_AFTER_MS) removeTree(path);
  }
}

/** The result of a self-test that could not be made, with the reason. */
export const failedTest = (reason: string): SelfTest => ({
  ok: false,
  problems: [reason],
  prologMs: null,
  epilogMs: null,
  mode: null,
  samples: null,
});

/**
 * Runs a half-second job through the installed hooks, sampler and deliverer, in a private directory under the state
 * directory: the site's stores are not touched. Needs root. Never rejects.
 */
export function selfTest(conf: HookConf, deliverAs: string): Promise<SelfTest> {
  return tryHooks(conf, deliverAs).catch((error: unknown) => failedTest(`it could not be made: ${reasonOf(error)}`));
}

async function tryHooks(conf: HookConf, deliverAs: string): Promise<SelfTest> {
  const disabled = existsSync(DISABLED_FILE);
  removeLeftovers(conf.state);
  const directory = mkdtempSync(join(conf.state, PREFIX));
  try {
    const stage = setStage(directory, conf, deliverAs);
    const played = await play(stage.spool, stage.hooks);
    const problems = hookProblems(played);
    const times = { prologMs: played.prolog?.ms ?? null, epilogMs: played.epilog?.ms ?? null };
    const nothing = { ...times, mode: null, samples: null };
    if (problems.length > 0) return { ok: false, problems, ...nothing };
    if (disabled)
      return { ok: true, problems: [`${DISABLED_FILE} exists: only the hooks' exit status was tested`], ...nothing };
    const record = await delivered(stage.settingsPath);
    if (typeof record === 'string') return { ok: false, problems: [record], ...nothing };
    const seen = { ...times, mode: record.sampler?.mode ?? null, samples: record.samples };
    if (record.status !== 'finished' || record.samples === 0)
      return { ok: false, problems: [`the job's record is "${record.status}": ${record.notes.join(' ')}`], ...seen };
    return { ok: true, problems: [], ...seen };
  } finally {
    await samplerGone(join(directory, 'qmemacct.toml'));
    removeTree(directory);
  }
}

/** The figures of a self-test: "prolog 12 ms, epilog 40 ms, 3 samples in the full mode". */
export function describeTest({ prologMs, epilogMs, samples, mode }: SelfTest): string {
  const sampled = samples === null ? '' : `, ${samples} samples in the ${mode ?? 'full'} mode`;
  return `prolog ${prologMs ?? '?'} ms, epilog ${epilogMs ?? '?'} ms${sampled}`;
}
