import { join } from 'node:path';
import type { Dialect } from '../../src/gridengine/dialect';
import type { AccountingRecord } from './formats';
import type { Hosts } from './hosts';
import { sonOfGridEngine } from './kind-sge';
import { openClusterScheduler } from './kind-ocs';
import type { Layout } from './layout';
import type { CellHost } from './state';

/** What differs between cells by their kind of Grid Engine. */
export interface CellKind {
  readonly name: string;
  readonly dialect: Dialect;
  /** Where the hosts see SGE_ROOT: each cell mounts its own there, inside its hosts only. */
  readonly sgeRoot: string;
  /** Directory of the programs themselves, daemons and clients. */
  readonly binaries: string;
  /** Directories in front of the system's in users' PATH. */
  readonly path: readonly string[];
  /** Name of the accounting file in `common`. */
  readonly accounting: string;
  readonly readAccounting: (text: string) => AccountingRecord[];
  /** Whether root's hooks are safe only behind a static `env`: the shepherd lets the owner's LD_AUDIT through to them. */
  readonly wantsStaticEnv: boolean;
  /** Whether `config` of a slave task has the number of slots that the job has on its host. */
  readonly tasksNameTheirSlots: boolean;
  /** `failed` in the accounting line of a job that execd killed at a limit. */
  readonly failedAtLimit: '37' | '100';
  /** Whether accounting has exit status 0 for a job of a tight PE that ran no task (issue CS-2632 of its makers). */
  readonly losesExitStatus: boolean;
  /** Fields of a parallel environment that only this kind has. */
  readonly parallelEnvironment: Readonly<Record<string, string>>;
  /** Why no such cell can be made on this machine, with what would change that; null: it can. */
  readonly obstacle: () => string | null;
  /** Writes SGE_ROOT, before there are hosts. */
  readonly writeFiles: (layout: Layout, hosts: readonly CellHost[]) => void;
  /** Makes qmaster's database; an installer may also start qmaster. */
  readonly initialise: (hosts: Hosts) => Promise<void>;
}

const kinds: readonly CellKind[] = [
  sonOfGridEngine,
  { ...openClusterScheduler('ocs9.1', /ocs-9\.1\..*\.tar\.xz$/), losesExitStatus: true },
  openClusterScheduler('ocs9.2', /ocs-9\.2\..*\.tar\.xz$/),
];

export { adminUser, spoolRoot } from './kind-sge';

/** Environment variable with the kind that a process works with; default: Debian's 8.1.9. */
export const KIND_VARIABLE = 'QMEMACCT_CELL_KIND';

function chosen(): CellKind {
  const name = process.env[KIND_VARIABLE] ?? sonOfGridEngine.name;
  const found = kinds.find((kind) => kind.name === name);
  if (found === undefined)
    throw new Error(`${KIND_VARIABLE}=${name}: there are ${kinds.map((known) => known.name).join(', ')}`);
  return found;
}

/** The kind of Grid Engine of this process's cells. */
export const kind = chosen();

/**
 * Exit statuses that the record of a job that ended well can have before its accounting line is read. null: Open Cluster
 * Scheduler removes the spool directory at once, before a loaded machine has read it.
 */
export const goodEnds: readonly (number | null)[] = kind.dialect === 'ocs' ? [0, null] : [0];

/** Path of a client program itself: Debian's on PATH is a shell script that takes five times as long. */
export function client(name: 'qacct' | 'qconf' | 'qdel' | 'qhost' | 'qmod' | 'qstat' | 'qsub'): string {
  return join(kind.binaries, name);
}
