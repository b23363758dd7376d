import { existsSync, readdirSync, rmSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openNodeStore } from '../../sampler/node-store';
import type { Settings } from '../../sampler/settings';
import { tidyNode } from '../../sampler/storage';
import { hookDirectory, type SystemPlaces } from './places';
import { step, type Step } from './step';
import { openRuns, readHookConf, STUB, writeStub } from './stub';
import { stopTimer, systemFilesOf } from './system-files';
import { currentVersion, installedVersions, runningVersions, switchCurrent } from './versions';

export interface RemovalOptions {
  readonly source: string;
  readonly prefix: string;
  readonly settings: Settings;
  readonly settingsPath: string;
  readonly places: SystemPlaces;
  readonly purge: boolean;
  /** Why hooks must stay at their path; null: they can go. */
  readonly stubReason: string | null;
}

const FLUSH_PATIENCE = 5;
const LET_GO_MS = 3000;

/** Hands over what can still be handed over. */
function flushStep(settings: Settings): Step[] {
  if (!existsSync(join(settings.state_dir, 'node.db'))) return [];
  return [
    {
      says: 'finish and deliver what is left on this node',
      apply: async () => {
        const store = openNodeStore(settings.state_dir);
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

function systemSteps(places: SystemPlaces, prefix: string): Step[] {
  const files = systemFilesOf({ places, prefix });
  const stop: Step[] = files.some((path) => path.endsWith('.timer'))
    ? [{ says: 'stop qmemacct-flush.timer', apply: () => stopTimer(places) }]
    : [];
  return [...stop, ...files.map((path) => step(`remove ${path}`, () => rmSync(path, { force: true })))];
}

/** Switches to the stubs; on the way from them to nothing there is nothing to switch. */
function stubSteps({ prefix, source }: RemovalOptions): Step[] {
  const current = currentVersion(prefix);
  if (current === null || current === STUB) return [];
  const conf = readHookConf(join(prefix, current));
  if (conf === null) return [];
  return [
    step(`switch ${join(prefix, 'current')} to hooks that start the site's own ones only`, () => {
      writeStub(prefix, source, conf);
      switchCurrent(prefix, STUB);
    }),
  ];
}

async function versionsInUse(prefix: string): Promise<readonly string[]> {
  // A sampler whose epilog has just answered is on its way out.
  const deadline = Date.now() + LET_GO_MS;
  for (;;) {
    const running = runningVersions(prefix);
    const conf = readHookConf(join(prefix, STUB));
    const waiting = conf !== null && openRuns(conf).length > 0;
    const inUse = installedVersions(prefix).filter(
      (name) => running.has(name) || (waiting && conf.program === join(prefix, name)),
    );
    if (inUse.length === 0 || Date.now() > deadline) return inUse;
    await sleep(200);
  }
}

function versionStep(prefix: string): Step[] {
  if (installedVersions(prefix).length === 0) return [];
  return [
    {
      says: `remove the program from ${prefix}, as far as no job's sampler runs from it`,
      apply: async () => {
        const inUse = await versionsInUse(prefix);
        for (const name of installedVersions(prefix))
          if (!inUse.includes(name)) rmSync(join(prefix, name), { recursive: true, force: true });
        if (inUse.length === 0) return null;
        return `${inUse.join(', ')}: stays until the jobs that are measured from there have ended; then run this again`;
      },
    },
  ];
}

function lastSteps({ prefix, stubReason }: RemovalOptions): Step[] {
  if (!existsSync(prefix)) return [];
  if (stubReason !== null)
    return [
      {
        says: `leave the hooks at ${hookDirectory(prefix)}, which do nothing of their own`,
        apply: () => `${stubReason}; a missing hook would stop this host's queues. Run this again later to remove them`,
      },
    ];
  return [
    {
      says: `remove ${prefix}`,
      apply: () => {
        if (installedVersions(prefix).length > 0) return `${prefix}: stays with the versions that are in use`;
        for (const name of ['current', STUB]) rmSync(join(prefix, name), { recursive: true, force: true });
        try {
          rmdirSync(prefix);
          return null;
        } catch {
          return `${prefix}: holds other files: ${readdirSync(prefix).join(', ')}`;
        }
      },
    },
  ];
}

function purgeSteps({ settings, settingsPath, purge }: RemovalOptions): Step[] {
  if (!purge) return [];
  const inState = settings.accounting.startsWith(`${settings.state_dir}/`);
  const says = [
    ...[settings.state_dir, settings.run_dir].map(
      (path) => [path, path === settings.state_dir && inState ? ', with the accounting DB' : ''] as const,
    ),
    [settingsPath, ''] as const,
  ].filter(([path]) => existsSync(path));
  return says.map(([path, more]) =>
    step(`remove ${path}${more}`, () => {
      rmSync(path, { recursive: true, force: true });
      if (path !== settingsPath) return;
      try {
        rmdirSync(dirname(path));
      } catch {
        // The admin keeps something else there.
      }
    }),
  );
}

/** What takes the program off this host, in order; running jobs are finished by the samplers that they have. */
export function planNodeRemoval(options: RemovalOptions): readonly Step[] {
  const { settings, places, prefix } = options;
  return [
    ...systemSteps(places, prefix),
    ...stubSteps(options),
    ...(options.purge ? [] : flushStep(settings)),
    ...versionStep(prefix),
    ...lastSteps(options),
    ...purgeSteps(options),
  ];
}
