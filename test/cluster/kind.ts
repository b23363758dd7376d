import { join } from 'node:path';
import type { Dialect } from '../../src/gridengine/dialect';
import type { AccountingRecord } from './formats';
import type { Hosts } from './hosts';
import { sonOfGridEngine } from './kind-sge';
import { openClusterScheduler } from './kind-ocs';
import type { Layout } from './layout';
import type { CellHost } from './state';

/** What a cell of one kind of Grid Engine needs that one of another kind does not. */
export interface CellKind {
  readonly name: string;
  readonly dialect: Dialect;
  /** Where the hosts see SGE_ROOT; a cell mounts its own there, inside its hosts only. */
  readonly sgeRoot: string;
  /** The programs themselves, daemons and clients. */
  readonly binaries: string;
  /** For the PATH of users, in front of the system's. */
  readonly path: readonly string[];
  /** Name of the accounting file in `common`. */
  readonly accounting: string;
  readonly readAccounting: (text: string) => AccountingRecord[];
  /** Hooks of root are safe only behind a static `env`: the shepherd keeps no LD_AUDIT of the job's owner from them. */
  readonly wantsStaticEnv: boolean;
  /** `config` of a task of a parallel job says how many slots its host has for the job. */
  readonly tasksNameTheirSlots: boolean;
  /** `failed` of a job that execd killed for a limit. */
  readonly failedAtLimit: '37' | '100';
  /** Accounting has exit status 0 for a job of a tight parallel environment that ran no task (CS-2632 of its makers). */
  readonly losesExitStatus: boolean;
  /** What one of its parallel environments has beside the fields that all kinds know. */
  readonly parallelEnvironment: Readonly<Record<string, string>>;
  /** Why it can't be made on this machine, with what would change that; null where it can. */
  readonly obstacle: () => string | null;
  /** Writes SGE_ROOT, before there are hosts. */
  readonly writeFiles: (layout: Layout, hosts: readonly CellHost[]) => void;
  /** Makes qmaster's data base; an installer may start it, too. */
  readonly initialise: (hosts: Hosts) => Promise<void>;
}

const kinds: readonly CellKind[] = [
  sonOfGridEngine,
  { ...openClusterScheduler('ocs9.1', /ocs-9\.1\..*\.tar\.xz$/), losesExitStatus: true },
  openClusterScheduler('ocs9.2', /ocs-9\.2\..*\.tar\.xz$/),
];

export { adminUser, spoolRoot } from './kind-sge';

/** Which of them a process works with; Debian's 8.1.9 where it is not set. */
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
 * Exit status that records of jobs that ended well have before their lines are read. Open Cluster Scheduler removes the
 * spool directory at once: a loaded machine comes too late to read it there.
 */
export const goodEnds: readonly (number | null)[] = kind.dialect === 'ocs' ? [0, null] : [0];

/** A client program itself: Debian's on PATH is a shell script that looks for SGE_ROOT and takes five times as long. */
export function client(name: 'qacct' | 'qconf' | 'qdel' | 'qhost' | 'qmod' | 'qstat' | 'qsub'): string {
  return join(kind.binaries, name);
}
