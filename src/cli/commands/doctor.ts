import { basename } from 'node:path';
import type { Command } from 'commander';
import { reasonOf } from '../../base/user-error';
import { loadSettings } from '../../record/settings';
import { ownHost } from '../../sampler/delivery/node-status';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT, usageError } from '../command';
import { checkAccounting } from '../doctor/check-accounting';
import { checkClock, checkTools } from '../doctor/check-tools';
import { checkExport } from '../doctor/check-export';
import { checkGridEngine } from '../doctor/check-gridengine';
import { checkKernel } from '../doctor/check-kernel';
import { checkLimits } from '../doctor/check-limits';
import { checkMeasurement } from '../doctor/check-measurement';
import { checkNightly } from '../doctor/check-nightly';
import { checkProgram } from '../doctor/check-program';
import { checkServer } from '../doctor/check-server';
import { checkServices, checkTimers } from '../doctor/check-timers';
import { checkScope } from '../doctor/check-scope';
import { checkState } from '../doctor/check-state';
import { checkVisibility } from '../doctor/check-visibility';
import { findingsIn, type Finding, renderFindings } from '../doctor/finding';
import { askAll, faultsByHost, faultsOfAll } from '../doctor/all-hosts';
import { templateWords } from '../doctor/ask-host';
import { executionHosts, findRole, roleFinding } from '../doctor/host-role';
import { readNodeState, type NodeState } from '../doctor/node-state';
import { DEFAULT_PREFIX, systemPlaces } from '../install/places';
import { describeTest, failedTest, selfTest, type SelfTest } from '../install/self-test';
import { writeStamp } from '../install/stamp';
import { unsafeEnv } from '../install/static-env';
import { screenOf, textOrJson, writeLines } from '../output';
import type { Terminal } from '../terminal';

interface DoctorOptions extends GlobalOptions {
  readonly selfTest?: boolean;
  readonly prefix?: string;
  readonly env?: string;
  readonly executionHost?: boolean;
  readonly all?: boolean;
  readonly nodeCheck?: string;
}

/** `qmemacct doctor` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--self-test', 'also play a small job through the installed hooks (as root)')
    .option('--prefix <dir>', 'where the program is installed')
    .option('--env <path>', 'with --self-test: the static "env" for "qmemacct install --env"')
    .option('--execution-host', 'check what jobs need, even where none have run yet')
    .option('--all', 'ask the doctor of every execution host, and show what is wrong, each fault once with its hosts')
    .option('--node-check <template>', `with --all: how to run a command on a host (default: '${SSH}')`)
    .action(commandAction<DoctorOptions>(context, doctor));
}

/** Does not wait for a host that asks for a password or does not answer. */
const SSH = 'ssh -oBatchMode=yes -oConnectTimeout=10 {host}';

const { ok, note, problem } = findingsIn('self-test');

/** Runs the self-test's job, and renews the stamp that `install` asks for. */
async function test(state: NodeState, now: Date, env?: string): Promise<SelfTest> {
  const { conf, settings, prefix, stamp } = state;
  if (!state.isRoot) return failedTest('needs root');
  if (conf === null) return failedTest(`nothing is installed under ${prefix}; run "qmemacct install --node"`);
  const badEnv = env === undefined ? null : unsafeEnv(env);
  if (badEnv !== null) return failedTest(`--env ${env ?? ''}: ${badEnv}`);
  const result = await selfTest(conf, settings.deliver_as);
  try {
    const installed = { prefix, version: basename(conf.program), services: stamp?.services ?? [] };
    writeStamp(settings, installed, result, now);
    return result;
  } catch (error) {
    return failedTest([...result.problems, reasonOf(error)].join('; '));
  }
}

function findingsOf(result: SelfTest): Finding[] {
  if (!result.ok)
    return result.problems.map((reason) =>
      problem('job', reason, 'fix it before the hooks are configured for this host'),
    );
  return [ok('job', describeTest(result)), ...result.problems.map((reason) => note('job', reason))];
}

/** Checks what the jobs of a host need, and what can be measured about them. */
async function checkNode(state: NodeState, now: Date): Promise<Finding[]> {
  return [
    ...checkKernel(),
    ...checkLimits(state.isRoot),
    ...(await checkMeasurement(state)),
    ...checkScope(state.settings),
    ...checkTools(),
    ...checkState(state, now),
  ];
}

/** Runs `doctor` on every execution host; resolves to 0 if all answer without a problem, else 1. */
async function doctorOfAll(options: DoctorOptions, terminal: Terminal): Promise<number> {
  const { prefix = DEFAULT_PREFIX, config: settingsPath, nodeCheck = SSH } = options;
  const template = templateWords(nodeCheck);
  const settings = loadSettings(settingsPath);
  const hosts = await executionHosts(terminal.env, settings);
  if (typeof hosts === 'string') throw new CommandError(`doctor --all: no list of hosts: ${hosts}`, EXIT.unavailable);
  const asked = [
    '--execution-host',
    ...(options.selfTest ? ['--self-test'] : []),
    ...(options.env === undefined ? [] : ['--env', options.env]),
  ];
  const answers = await askAll(hosts, { template, prefix, settingsPath, options: asked }, ownHost(settings));
  const findings = faultsOfAll(answers);
  return show(findings, { hosts: faultsByHost(answers) }, options, terminal);
}

/** Prints the findings, as JSON together with `more`; returns the exit status. */
function show(findings: readonly Finding[], more: object, options: DoctorOptions, terminal: Terminal): number {
  const well = findings.every(({ severity }) => severity !== 'problem');
  if (textOrJson(options, 'doctor') === 'json')
    terminal.write(`${JSON.stringify({ schema: 1, ok: well, checks: findings, ...more }, null, 1)}\n`);
  else writeLines(terminal, renderFindings(findings, screenOf(terminal, options)));
  return well ? EXIT.found : EXIT.nothing;
}

/** `doctor`; resolves to 0 if there is no problem, else 1. Rejects with CommandError or SettingsError. */
export async function doctor(options: DoctorOptions, terminal: Terminal): Promise<number> {
  textOrJson(options, 'doctor');
  if (options.all) return doctorOfAll(options, terminal);
  if (options.nodeCheck !== undefined) throw usageError('--node-check is how --all asks the hosts: give both');
  const now = terminal.now();
  const read = (): NodeState => readNodeState(options.config, options.prefix ?? null, DEFAULT_PREFIX);
  const result = options.selfTest ? await test(read(), now, options.env) : null;
  const state = read();
  const role = await findRole(state, terminal.env, options.executionHost === true || options.selfTest === true);
  const findings = [
    roleFinding(role),
    ...checkProgram(state, role),
    ...(role.runsJobs ? await checkNode(state, now) : []),
    ...checkAccounting(state, role, now, terminal.env),
    ...checkVisibility(state.settings),
    ...(await checkServer(state, systemPlaces())),
    ...(await checkExport(state.settings)),
    ...checkTimers(systemPlaces()),
    ...checkServices(state, systemPlaces()),
    ...(await checkNightly(state, systemPlaces(), now)),
    ...checkClock(now),
    ...(await checkGridEngine(state, terminal.env)),
    ...(result === null ? [] : findingsOf(result)),
  ];
  return show(findings, { self_test: result }, options, terminal);
}
