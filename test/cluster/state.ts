import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isAlive, startTimeOf, type ProcessId } from './processes';
import type { Layout } from './layout';

export interface CellHost {
  readonly name: string;
  readonly address: string;
  readonly role: 'master' | 'exec';
}

export interface CellUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** What another process needs to use the cell or to clean it up. */
export interface CellState {
  readonly phase: 'starting' | 'up';
  /** The process whose end makes the cell stale; null for one that is kept until it is brought down. */
  readonly holder: (ProcessId & { readonly bootId: string }) | null;
  readonly hosts: readonly CellHost[];
  readonly users: readonly CellUser[];
}

export function thisProcess(): CellState['holder'] {
  return { pid: process.pid, startTime: startTimeOf(process.pid) ?? '', bootId: bootId() };
}

export function isHeld(state: CellState): boolean {
  return state.holder !== null && state.holder.bootId === bootId() && isAlive(state.holder);
}

export function writeState(layout: Layout, state: CellState): void {
  const fresh = `${layout.stateFile}.new`;
  writeFileSync(fresh, `${JSON.stringify(state, null, 2)}\n`);
  renameSync(fresh, layout.stateFile);
}

/** The recorded state; null if there is none or it can't be read. */
export function readState(layout: Layout): CellState | null {
  try {
    // Written by writeState() of this same version, in a directory that only root can write.
    return JSON.parse(readFileSync(layout.stateFile, 'utf8')) as CellState;
  } catch {
    return null;
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
