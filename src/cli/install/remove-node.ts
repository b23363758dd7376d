import { removeTree } from '../../base/remove-tree';
import { until } from '../../base/until';
import { retireListener } from '../../sampler/listener/directory';
import { existsSync, readdirSync, rmSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NodeStore } from '../../sampler/node-store/node-store';
import type { Settings } from '../../record/settings';
import { tidyNode } from '../../sampler/node-store/storage';
import { hookDirectory, type SystemPlaces } from './places';
import { step, type Step } from './steps';
import { removeListenerSteps } from './listener-files';
import { removeServeSteps } from './serve-files';
import { removeSamplerSteps } from './sampler-files';
import { confOfSettings } from './hook-conf';
import { openRuns, readHookConf, PASS_THROUGH, writePassThrough } from './pass-through';
import type { PassThroughNeed } from './pass-through-need';
import { removeStamp } from './stamp';
import { FLUSH, NIGHTLY, removalSteps, systemctl } from './services';
import { removeSystemFiles } from './system-files';
import { currentVersion, installedVersions, leftovers, runningVersions, switchCurrent } from './versions';

interface RemovalOptions {
  readonly source: string;
  readonly prefix: string;
  readonly settings: Settings;
  readonly settingsPath: string;
  readonly places: SystemPlaces;
  readonly purge: boolean;
  readonly passThrough: PassThroughNeed;
  readonly now: Date;
}

const FLUSH_PATIENCE = 5;
const LET_GO_MS = 3000;
/** A file beside the pass-through hooks, made when nothing named the hooks any more. */
const UNNAMED = 'unnamed-since';
/** An execd gets a changed configuration in answer to its next load report. */
const TAKEN_UP_AFTER_MS = 600_000;

/** Delivers the records that can still be delivered. */
function flushStep(settings: Settings): Step[] {
  if (!existsSync(join(settings.state_dir, 'node.db'))) return [];
  return [
    {
      says: 'finish and deliver what is left on this node',
      apply: async () => {
        const store = new NodeStore(settings.state_dir);
        try {
          const outcome = await tidyNode(store, { ...settings, delivery_jitter_ms: 0 }, FLUSH_PATIENCE);
          if (outcome.left === 0) return null;
          return `${outcome.left} records stay in ${settings.state_dir}/node.db: ${outcome.problem ?? 'another process is delivering'}`;
        } finally {
          store.close();
        }
      },
    },
  ];
}

/** Removes the services and timers of this host, and their files. */
function systemSteps(options: RemovalOptions): Step[] {
  const { places, prefix, settings } = options;
  const steps = [
    ...removeSamplerSteps(options),
    ...removeListenerSteps(places, settings, false),
    ...removalSteps(NIGHTLY, places),
    ...removeServeSteps(places, settings),
    ...removalSteps(FLUSH, places),
    ...removeSystemFiles(places, prefix),
  ];
  if (places.units === null || steps.length === 0) return steps;
  // Until daemon-reload, systemd keeps units whose files have been removed.
  return [...steps, { says: 'systemctl daemon-reload', apply: () => systemctl(['daemon-reload'], 'run it by hand') }];
}

/** Switches to the pass-through hooks; empty if they are current already, or nothing is installed. */
function passThroughSteps(options: RemovalOptions): Step[] {
  const { prefix, source, settings, settingsPath } = options;
  const current = currentVersion(prefix);
  if (current === null || current === PASS_THROUGH) return [];
  const program = join(prefix, current);
  const lost = { ...confOfSettings(settings, settingsPath), node: process.execPath, program };
  const conf = readHookConf(program) ?? lost;
  return [
    step(`switch ${join(prefix, 'current')} to hooks that start the site's own ones only`, () => {
      writePassThrough(prefix, source, conf);
      switchCurrent(prefix, PASS_THROUGH);
      removeStamp(settings.state_dir);
    }),
  ];
}

function versionsInUse(prefix: string): readonly string[] {
  const running = runningVersions(prefix);
  const conf = readHookConf(join(prefix, PASS_THROUGH));
  const waiting = conf !== null && openRuns(conf).length > 0;
  return installedVersions(prefix).filter(
    (name) => running.has(name) || (waiting && conf.program === join(prefix, name)),
  );
}

function versionStep({ prefix, settings }: RemovalOptions): Step[] {
  if (installedVersions(prefix).length === 0) return [];
  return [
    {
      says: `remove the program from ${prefix}, as far as no job's sampler runs from it`,
      apply: async () => {
        await retireListener(settings);
        // A sampler that has just acknowledged its epilog is about to end.
        await until(() => versionsInUse(prefix).length === 0, LET_GO_MS, 200);
        const inUse = versionsInUse(prefix);
        for (const name of installedVersions(prefix))
          if (!inUse.includes(name)) rmSync(join(prefix, name), { recursive: true, force: true });
        if (inUse.length === 0) return null;
        return `${inUse.join(', ')}: stays until the jobs that are measured from there have ended; then run this again`;
      },
    },
  ];
}

/** When an earlier uninstallation first found that nothing names the hooks (ms); null: none has found so. */
function unnamedSince(prefix: string): number | null {
  return statSync(join(prefix, PASS_THROUGH, UNNAMED), { throwIfNoEntry: false })?.mtimeMs ?? null;
}

/** What removes the hooks later: the program that runs may have been removed just now, and the link to it has. */
function removedLater(prefix: string, source: string): string {
  const program = join(source, 'bin', 'qmemacct');
  return existsSync(program)
    ? `Run "${program} uninstall --node" again later to remove them`
    : `The program has gone: once nothing names them, "rm -r ${prefix}" removes them`;
}

function keepPassThrough({ prefix, source }: RemovalOptions, reason: string, note: () => void): Step {
  return {
    says: `leave the hooks at ${hookDirectory(prefix)}, which do nothing of their own`,
    apply: () => {
      note();
      return `${reason}; a missing hook would stop this host's queues. ${removedLater(prefix, source)}`;
    },
  };
}

function removePrefix(prefix: string): Step {
  return {
    says: `remove ${prefix}`,
    apply: () => {
      if (installedVersions(prefix).length > 0) return `${prefix}: stays with the versions that are in use`;
      for (const name of ['current', PASS_THROUGH, ...leftovers(prefix)])
        rmSync(join(prefix, name), { recursive: true, force: true });
      try {
        rmdirSync(prefix);
        return null;
      } catch {
        return `${prefix}: holds other files: ${readdirSync(prefix).join(', ')}`;
      }
    },
  };
}

function lastSteps(options: RemovalOptions): Step[] {
  const { prefix, passThrough, now } = options;
  if (!existsSync(prefix)) return [];
  if (currentVersion(prefix) === null) return [removePrefix(prefix)];
  const mark = join(prefix, PASS_THROUGH, UNNAMED);
  if (passThrough.kind === 'named')
    return [keepPassThrough(options, passThrough.reason, () => rmSync(mark, { force: true }))];
  const since = unnamedSince(prefix);
  if (passThrough.kind === 'unnamed' && (since === null || now.getTime() - since < TAKEN_UP_AFTER_MS)) {
    const reason = "Grid Engine names them no more, but this host's execd may not have heard that yet (10 minutes)";
    return [keepPassThrough(options, reason, () => since ?? writeFileSync(mark, ''))];
  }
  return [removePrefix(prefix)];
}

function purgeSteps({ settings, settingsPath, purge }: RemovalOptions): Step[] {
  if (!purge) return [];
  const { state_dir: state, run_dir: run } = settings;
  const withDb = settings.accounting.startsWith(`${state}/`) ? ', with the accounting DB' : '';
  const remove = (path: string, more: string): Step => ({
    says: `remove ${path}${more}`,
    apply: () => {
      if (openRuns({ state, run }).length > 0) return `${path}: stays while jobs are measured; run this again later`;
      removeTree(path);
      return null;
    },
  });
  // The settings go last: they name the directories.
  return [
    ...(existsSync(state) ? [remove(state, withDb)] : []),
    ...(existsSync(run) ? [remove(run, '')] : []),
    ...(existsSync(settingsPath) ? [remove(settingsPath, '')] : []),
  ];
}

/** The steps that remove the program from this host, in order; running jobs are finished by their present samplers. */
export function planNodeRemoval(options: RemovalOptions): readonly Step[] {
  const { settings } = options;
  return [
    ...systemSteps(options),
    ...passThroughSteps(options),
    ...(options.purge ? [] : flushStep(settings)),
    ...versionStep(options),
    ...lastSteps(options),
    ...purgeSteps(options),
  ];
}
