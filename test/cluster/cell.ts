import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Daemons } from './daemons';
import { Hosts } from './hosts';
import { kind, spoolRoot } from './kind';
import { defaultStateDir, Layout, productDirs } from './layout';
import { Cell } from './live-cell';
import { withCellLock } from './lock';
import { makeNamespaces } from './namespaces';
import { clusterObstacle } from './packages';
import { Settings } from './settings';
import { configure, writeFiles, type ConfigOptions } from './setup';
import { isHeld, readState, thisProcess, writeState, type CellHost, type CellState } from './state';
import { heldNamespaces, tearDown } from './teardown';
import { chooseUsers } from './users';
import { PATIENCE_MS } from '../support/until';

export type { AccountingRecord, ListedTask } from './formats';
export type { OnOptions } from './hosts';
export { productDirs } from './layout';
export { Cell } from './live-cell';
export { clusterObstacle } from './packages';
export type { CommandResult } from './run';

export interface UpOptions extends Partial<ConfigOptions> {
  readonly stateDir?: string;
  /** How many of ge1 and ge2 there are; default both. */
  readonly execHosts?: 1 | 2;
  /** Ordinary users, with home directories; default gealice and gebob. */
  readonly users?: readonly string[];
  /** Keep the cell when this process ends, until someone brings it down; default: it is stale then. */
  readonly keep?: boolean;
  /** How long to wait for a cell that another process is using; default 0. */
  readonly waitMs?: number;
}

const allHosts: readonly CellHost[] = [
  { name: 'ge0', address: '10.83.0.10', role: 'master' },
  { name: 'ge1', address: '10.83.0.11', role: 'exec' },
  { name: 'ge2', address: '10.83.0.12', role: 'exec' },
];

const defaults: ConfigOptions = {
  // A default of 0 does not mean "unlimited": a job that does not request h_vmem gets an address space of 10 MiB, and
  // execd kills it when it first looks at its usage.
  hVmem: { consumable: 'YES', default: '1G' },
  execdParams: 'none',
  loadReportSeconds: 1,
};

/**
 * Brings a cell up: qmaster on ge0, execution hosts ge1 and ge2. Cleans up first what a crashed process left. Rejects if
 * no cell can run here (clusterObstacle()), or if one is up that a living process uses or someone keeps.
 */
export async function upCell(options: UpOptions = {}): Promise<Cell> {
  const obstacle = clusterObstacle();
  if (obstacle !== null) throw new Error(`no Grid Engine cell can run here: ${obstacle}`);
  const layout = new Layout(options.stateDir ?? defaultStateDir);
  const deadline = Date.now() + (options.waitMs ?? 0);
  for (;;) {
    const result = await withCellLock(layout.stateDir, PATIENCE_MS, () => tryUp(layout, options));
    if (result instanceof Cell) return result;
    if (Date.now() > deadline) throw new Error(result);
    await sleep(500);
  }
}

/** The cell that is up in this directory. Throws if none is. */
export function attachCell(stateDir = defaultStateDir): Cell {
  const layout = new Layout(stateDir);
  const state = readState(layout);
  if (state?.phase !== 'up' || heldNamespaces(layout).size === 0)
    throw new Error(`no cell is up in ${stateDir}: npm run cluster -- up`);
  return new Cell(stateDir, state);
}

/** Brings down whatever is left of a cell in this directory, even a half-made one. Does nothing if there is none. */
export async function downCell(stateDir = defaultStateDir): Promise<void> {
  await withCellLock(stateDir, PATIENCE_MS, () => tearDown(new Layout(stateDir)));
}

/** The new cell, or why there can be none now. */
async function tryUp(layout: Layout, options: UpOptions): Promise<Cell | string> {
  const old = readState(layout);
  const isUp = old?.phase === 'up' && heldNamespaces(layout).size > 0;
  if (isUp && (old.holder === null || isHeld(old))) {
    const user = old.holder === null ? 'kept until it is brought down' : `in use by process ${old.holder.pid}`;
    return `a cell is up in ${layout.stateDir}, ${user}: npm run cluster -- down`;
  }
  await tearDown(layout);
  try {
    return await bringUp(layout, options);
  } catch (error) {
    await tearDown(layout);
    throw error;
  }
}

async function bringUp(layout: Layout, options: UpOptions): Promise<Cell> {
  const hosts = allHosts.slice(0, 1 + (options.execHosts ?? 2));
  const state: CellState = {
    phase: 'starting',
    holder: options.keep === true ? null : thisProcess(),
    hosts,
    users: chooseUsers(layout, options.users ?? ['gealice', 'gebob']),
  };
  mkdirSync(layout.stateDir, { mode: 0o755 });
  writeState(layout, state);
  writeFiles(layout, state);
  // Never removed: another cell of this machine may have its own directories mounted there, which a removal unmounts.
  for (const dir of [...productDirs, kind.sgeRoot, spoolRoot]) mkdirSync(dir, { recursive: true });
  await makeNamespaces(layout, hosts);

  const access = new Hosts(layout, hosts);
  const daemons = new Daemons(layout, access);
  await kind.initialise(access);
  await daemons.startMaster();
  await configure(layout, access, new Settings(layout, access, daemons), { ...defaults, ...options });
  await daemons.startExecds(access.exec);
  writeState(layout, { ...state, phase: 'up' });
  return new Cell(layout.stateDir, state);
}
