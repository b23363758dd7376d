import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../base/user-error';
import { untrusted } from '../../base/trusted-path';
import { composeHookCommand } from '../../gridengine/our-hook';
import { readText } from '../../sources/files';
import type { Settings } from '../../record/settings';
import { CommandError, EXIT, usageError } from '../command';
import { accountingDirectorySteps } from './accounting-directory';
import { directorySteps, nodeDirectories } from './directories';
import { networkFilesystemOf, chooseNode } from './local-path';
import { confOfSettings } from './hook-conf';
import { hookDirectory, type SystemPlaces } from './places';
import { nightlySteps } from './nightly-files';
import { selfTest, type SelfTest } from './self-test';
import { writeStamp } from './stamp';
import { step, type Step } from './steps';
import { PASS_THROUGH } from './pass-through';
import { listenerSteps } from './listener-files';
import { samplerSteps } from './sampler-files';
import { serveSteps } from './serve-files';
import {
  configurationsOf,
  FLUSH,
  isSetUp,
  isTimed,
  NIGHTLY,
  requirePlain,
  SERVER,
  SERVICES,
  setUpSteps,
} from './services';
import { fileSteps, linkSteps, tmpfilesSteps } from './system-files';
import type { NodeSettings } from './node-settings';
import { describeVersion, isIntact, writeVersion, type Version } from './version';
import { currentVersion, idleVersions, leftovers, removeVersions, switchCurrent } from './versions';

export interface NodeInstallation {
  readonly version: Version;
  readonly settings: Settings;
  readonly prefix: string;
  readonly places: SystemPlaces;
  /** The version that is current before this installation; null: none. */
  readonly previous: string | null;
  /** The steps before the self-test, which tests the new version before any job uses it. */
  readonly preparations: readonly Step[];
  /** The steps that make the new version the current one. */
  readonly activations: readonly Step[];
}

export interface NodeOptions {
  readonly source: string;
  readonly prefix: string;
  readonly settingsPath: string;
  readonly chosen: NodeSettings;
  readonly places: SystemPlaces;
  readonly timer: boolean;
  /** Also sets up the nightly job; one that is set up already is kept up to date in any case. */
  readonly nightly: boolean;
  /** Also sets up the server; likewise. */
  readonly serve: boolean;
  readonly execPath: string;
}

/** Throws CommandError unless the path is local, and only root can change it: root's hooks depend on what is there. */
function requireSafe(what: string, path: string, option: string): void {
  if (!path.startsWith('/')) throw usageError(`${option} "${path}": give an absolute path`);
  const reason = untrusted(path);
  if (reason !== null)
    throw new CommandError(
      `${what} ${path}: ${reason}, and root would trust it; fix that, or choose another ${option}`,
      EXIT.unavailable,
    );
  const network = networkFilesystemOf(path);
  if (network !== null)
    throw new CommandError(
      `${what} ${path}: lies on ${network}, and a hook must not hang with it; choose a local ${option}`,
      EXIT.unavailable,
    );
}

function requireHookPath(prefix: string): void {
  const line = composeHookCommand({
    stage: 'prolog',
    directory: hookDirectory(prefix),
    privileged: true,
    original: null,
  });
  if (!line.ok) throw usageError(`--prefix ${prefix}: Grid Engine could not start hooks there: ${line.error}`);
}

/**
 * Throws CommandError if this host has an installation with another configuration, whose hooks, timers and services would
 * silently become this one's. A file that is gone has been moved.
 */
function requireOneConfiguration(settingsPath: string, prefix: string, places: SystemPlaces): void {
  const conf =
    currentVersion(prefix) === PASS_THROUGH ? '' : (readText(join(hookDirectory(prefix), 'hook.conf')) ?? '');
  const ofHooks = /^settings='([^']+)'$/m.exec(conf)?.[1];
  const named = [...(ofHooks === undefined ? [] : [ofHooks]), ...configurationsOf(FLUSH, places)];
  const other = named.find((path) => path !== settingsPath && existsSync(path));
  if (other === undefined) return;
  throw new CommandError(
    `${settingsPath}: this host is installed with ${other}, and has one configuration; give --config ${other}, or first run "qmemacct --config ${other} uninstall --node"`,
    EXIT.unavailable,
  );
}

function writeSteps(version: Version): Step[] {
  if (isIntact(version)) return [];
  const { path, copyReason } = version.node;
  const node = copyReason === null ? '' : `, with a copy of ${path} (${copyReason})`;
  const verb = existsSync(version.directory) ? 'replace the damaged' : 'write';
  return [step(`${verb} ${version.directory} (${version.files.length} files${node})`, () => writeVersion(version))];
}

function switchSteps(version: Version, prefix: string, previous: string | null): Step[] {
  const steps: Step[] = [];
  if (previous !== version.name)
    steps.push(
      step(`switch ${join(prefix, 'current')} from ${previous ?? 'nothing'} to ${version.name}`, () =>
        switchCurrent(prefix, version.name),
      ),
    );
  const passThrough = join(prefix, PASS_THROUGH);
  if (previous !== PASS_THROUGH && existsSync(passThrough))
    steps.push(step(`remove ${passThrough}`, () => rmSync(passThrough, { recursive: true, force: true })));
  const idle = [...idleVersions(prefix, [version.name, previous]), ...leftovers(prefix)];
  if (idle.length > 0)
    steps.push(step(`remove ${idle.join(', ')}: nothing runs from there`, () => removeVersions(prefix, idle)));
  return steps;
}

/** What an installation on this host would do, in order. Throws CommandError if it would be unsafe. */
export function planNode(options: NodeOptions): NodeInstallation {
  const { prefix, settingsPath, chosen, places } = options;
  const { settings } = chosen;
  requireHookPath(prefix);
  requireSafe('the program directory', prefix, '--prefix');
  requireSafe('the state directory', settings.state_dir, '--state-dir');
  requireSafe('the run-time directory', settings.run_dir, '--run-dir');
  requireSafe('the configuration', settingsPath, '--config');
  requirePlain('--config', settingsPath);
  requireOneConfiguration(settingsPath, prefix, places);
  const node = chooseNode(options.execPath, options.source);
  const version = describeVersion(options.source, prefix, confOfSettings(settings, settingsPath), node);
  const host = { places, prefix, settings, settingsPath, hooks: join(options.source, 'hooks') };
  const previous = currentVersion(prefix);
  const renewed = previous !== version.name;
  const preparations = [
    ...nodeDirectories(settings).flatMap(directorySteps),
    ...tmpfilesSteps(places, settings.run_dir),
    ...(chosen.text === null ? [] : fileSteps(settingsPath, chosen.text)),
    ...accountingDirectorySteps(settings),
    ...directorySteps({ path: prefix, mode: 0o755, uid: 0, gid: 0 }),
    ...writeSteps(version),
  ];
  const activations = [
    ...switchSteps(version, prefix, previous),
    ...(options.timer ? setUpSteps(FLUSH, host, { runs: isTimed(FLUSH, places) }) : []),
    ...(options.nightly || isSetUp(NIGHTLY, places) ? nightlySteps(host, options.nightly) : []),
    ...listenerSteps(host, renewed),
    ...samplerSteps(host, renewed),
    ...linkSteps(places, prefix),
    ...(options.serve || isSetUp(SERVER, places) ? serveSteps(host, renewed) : []),
  ];
  return { version, settings, prefix, places, previous, preparations, activations };
}

/** Applies the steps; `print` gets each step's text first, `warn` its warning. Rejects with CommandError. */
export async function applySteps(
  steps: readonly Step[],
  print: (line: string) => void,
  warn: (line: string) => void,
): Promise<void> {
  for (const { says, apply } of steps) {
    print(says);
    try {
      const warning = await apply();
      if (warning !== null) warn(warning);
    } catch (error) {
      if (error instanceof CommandError) throw error;
      const reason = reasonOf(error);
      throw new CommandError(`could not ${says}: ${reason}; fix that, then run this again`, EXIT.unavailable, {
        cause: error,
      });
    }
  }
}

interface NodeOutcome {
  readonly test: SelfTest;
  /** false: the previous version stays the current one. */
  readonly activated: boolean;
}

/**
 * Installs the new version, tests it, and makes it the current one if it passes. Without a previous version it becomes
 * current even if it fails: a missing hook would stop the host's queues. The stamp says whether it failed.
 */
export async function installOnNode(
  installation: NodeInstallation,
  print: (line: string) => void,
  warn: (line: string) => void,
): Promise<NodeOutcome> {
  const { version, settings, prefix, places, previous, preparations, activations } = installation;
  await applySteps(preparations, print, warn);
  const test = await selfTest(version.conf, settings.deliver_as);
  if (!test.ok && previous !== null && previous !== version.name) return { test, activated: false };
  await applySteps(activations, print, warn);
  const services = SERVICES.filter((service) => isSetUp(service, places)).map(({ name }) => name);
  writeStamp(settings, { prefix, version: version.name, services }, test);
  return { test, activated: true };
}
