import { join } from 'node:path';
import { kind } from './kind';

/** Cells with different numbers can be up at once: each has its own directory, user ids and additional groups. */
export const cellNumber = Number(process.env.QMEMACCT_TEST_CELL ?? '0');

export function stateDirOf(cell: number): string {
  return cell === 0 ? '/run/qmemacct-cell' : `/run/qmemacct-cell-${cell}`;
}

export const defaultStateDir = stateDirOf(cellNumber);

/** The product's directories, of which every host gets private ones. */
export const productDirs = ['/var/lib/qmemacct', '/run/qmemacct', '/etc/qmemacct'] as const;

export const namespaceTypes = ['net', 'uts', 'mnt'] as const;
export type NamespaceType = (typeof namespaceTypes)[number];

/** The paths of a cell, all inside its state directory. */
export class Layout {
  readonly namespaces: string;
  /** The network namespace of the process that brought the cell up, bound here and seen by every host. */
  readonly initialNetns: string;
  readonly root: string;
  readonly common: string;
  readonly accounting: string;
  readonly spool: string;
  readonly masterMessages: string;
  readonly etc: string;
  readonly homes: string;
  readonly jobTmp: string;
  readonly sensors: string;
  readonly configs: string;
  readonly stateFile: string;

  constructor(readonly stateDir: string) {
    this.stateFile = join(stateDir, 'state.json');
    this.namespaces = join(stateDir, 'ns');
    this.initialNetns = join(this.namespaces, 'initial.net');
    this.root = join(stateDir, 'root');
    this.common = join(this.root, 'default/common');
    this.accounting = join(this.common, kind.accounting);
    this.spool = join(stateDir, 'spool');
    this.masterMessages = join(this.spool, 'qmaster/messages');
    this.etc = join(stateDir, 'etc');
    this.homes = join(stateDir, 'home');
    this.jobTmp = join(stateDir, 'tmp');
    this.sensors = join(stateDir, 'sensor');
    this.configs = join(stateDir, 'config');
  }

  namespace(host: string, type: NamespaceType): string {
    return join(this.namespaces, `${host}.${type}`);
  }

  home(user: string): string {
    return join(this.homes, user);
  }

  /** The directory that the host sees at `jobTmp`. */
  hostTmp(host: string): string {
    return join(this.stateDir, 'hosts', host, 'tmp');
  }

  /** The directory that the host sees at one of the product's directories. */
  productDir(host: string, dir: string): string {
    return join(this.stateDir, 'hosts', host, dir);
  }

  execdMessages(host: string): string {
    return join(this.spool, 'execd', host, 'messages');
  }
}
