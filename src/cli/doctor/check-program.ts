import { execFileSync } from 'node:child_process';
import { reasonOf } from '../../base/user-error';
import { untrusted } from '../../base/trusted-path';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../base/package-root';
import { programPath } from '../../base/programs';
import { DISABLED_FILE } from '../../sampler/delivery/node-status';
import { confOfSettings } from '../install/hook-conf';
import { PASS_THROUGH } from '../install/pass-through';
import { networkFilesystemOf } from '../install/local-path';
import { isIntact } from '../install/version';
import { findingsIn, type Finding } from './finding';
import type { HostRole } from './host-role';
import type { NodeState } from './node-state';

const { ok, note, warning, problem } = findingsIn('program');

const REINSTALL = 'run "qmemacct install --node"';

function checkNode(node: string, root: string): Finding {
  let version: string;
  try {
    version = execFileSync(node, [programPath('cli/doctor/load-natives', root)], {
      encoding: 'utf8',
      timeout: 20_000,
      stdio: 'pipe',
    });
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    // A Node too old to parse the program prints a whole page.
    const line = said.split('\n').find((text) => /Error|error|not found/.test(text)) ?? (said || reasonOf(error));
    const says = `${node} can't load the native modules: ${line.trim()}; no job is sampled`;
    return problem('Node', says, `${REINSTALL} after "npm ci" with that Node`);
  }
  const major = Number(/^v(\d+)/.exec(version)?.[1] ?? 0);
  if (major < 20)
    return problem('Node', `${node} is ${version}, and 20 is needed`, `install Node 20 or later, then ${REINSTALL}`);
  return ok('Node', `${version} (${node}), native modules load`);
}

function checkInstallation({ prefix, version, conf, stamp }: NodeState, runsJobs: boolean): Finding[] {
  if (version === null && !runsJobs) return [];
  if (version === null)
    return [warning('installation', `none under ${prefix}: no hooks on this host`, `${REINSTALL} if jobs run here`)];
  if (version === PASS_THROUGH)
    return [warning('installation', 'uninstalled; only pass-through hooks are left', REINSTALL)];
  if (conf === null)
    return [problem('installation', `${join(prefix, version)}: its hook.conf is missing or damaged`, REINSTALL)];
  const directory = join(prefix, version);
  const findings: Finding[] = [];
  const distrust = untrusted(directory);
  if (distrust !== null)
    findings.push(
      problem('installation', `${distrust}, and root runs what is in ${directory}`, 'take that permission away'),
    );
  const network = networkFilesystemOf(directory);
  if (network !== null)
    findings.push(
      problem(
        'installation',
        `${directory} lies on ${network}: hooks would hang with it`,
        'install with a local --prefix',
      ),
    );
  if (!isIntact({ name: version, directory, conf }))
    findings.push(problem('installation', `${directory} is not as it was installed`, REINSTALL));
  if (stamp?.version !== version)
    findings.push(warning('installation', `${version} was never tested here`, 'run "qmemacct doctor --self-test"'));
  else if (!stamp.ok)
    findings.push(
      problem(
        'installation',
        `self-test of ${stamp.tested_at}: ${stamp.problems.join('; ')}`,
        'fix that, then run "qmemacct doctor --self-test"',
      ),
    );
  return findings.length > 0 ? findings : [ok('installation', `${directory}, tested ${stamp?.tested_at ?? ''}`)];
}

/** Settings, and what they are called in hook.conf. */
const IN_CONF = [
  ['state_dir', 'state'],
  ['run_dir', 'run'],
  ['arm_wait_ms', 'arm_wait'],
  ['cgroup', 'cgroup'],
  ['scope', 'scope'],
  ['cluster', 'cluster'],
] as const;

/** Checks the settings that the hooks take from hook.conf, as installed, and not from the settings file. */
function* checkConf({ conf, settings, settingsPath }: NodeState): Generator<Finding> {
  if (conf === null) return;
  const wanted = confOfSettings(settings, settingsPath);
  for (const [key, name] of IN_CONF) {
    const says = `${key} is ${wanted[name]} in ${settingsPath}, but the hooks were installed with ${conf[name]}`;
    if (wanted[name] !== conf[name]) yield problem('configuration', says, REINSTALL);
  }
  if (conf.settings !== settingsPath)
    yield note('configuration', `the hooks use ${conf.settings}, not ${settingsPath}`);
}

/** Checks Node, native modules, the installed version and its configuration. */
export function* checkProgram(state: NodeState, { runsJobs }: Pick<HostRole, 'runsJobs'>): Generator<Finding> {
  const { conf, settingsPath } = state;
  yield checkNode(conf?.node ?? process.execPath, conf?.program ?? packageRoot());
  yield* checkInstallation(state, runsJobs);
  if (existsSync(settingsPath)) yield ok('configuration', settingsPath);
  else yield note('configuration', `${settingsPath} does not exist: every key has its default`);
  yield* checkConf(state);
  if (runsJobs && existsSync(DISABLED_FILE))
    yield warning('disabled', `${DISABLED_FILE} exists: the hooks leave at once, no job here is measured`, `remove it`);
}
