import { closeSync, constants, openSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { MIB } from '../base/units';
import { textOfUntrusted } from '../base/read-untrusted';

/** `comm` of what Grid Engine itself runs on a host; the kernel keeps 15 bytes of it. */
export type DaemonName = 'sge_execd' | 'sge_qmaster' | 'sge_shepherd';

/** A process of Grid Engine, run by an account that the caller trusts. */
interface Daemon {
  readonly pid: number;
  readonly name: DaemonName;
  /** For a daemon that root started: the admin user's, but for moments in which it works as root. */
  readonly effectiveUid: number;
  /** Its working directory, which is its spool directory; null: it can't be read. */
  readonly directory: string | null;
  /** Owner of that directory. */
  readonly directoryUid: number | null;
  /** The environment it was started with, `NAME=value` and NUL; empty: it can't be read. */
  readonly environment: string;
  /** Text of its /proc/PID/status. */
  readonly status: string;
}

const NAMES: ReadonlySet<string> = new Set<DaemonName>(['sge_execd', 'sge_qmaster', 'sge_shepherd']);
const isName = (name: string): name is DaemonName => NAMES.has(name);

/** Bytes that are read of a status, and of an environment, at most: more than any sensible one has. */
const MOST_STATUS_BYTES = 64 * 1024;
const MOST_ENVIRONMENT_BYTES = MIB;

function attempt<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null;
  }
}

const nameOf = (directory: string): string => textOfUntrusted(join(directory, 'comm'), 256)?.trimEnd() ?? '';

/** Reads by an open directory of /proc, which stays that of this process when another one gets its pid. */
function readDaemon(pid: number, directory: string, believed: ReadonlySet<number>): Daemon | null {
  const name = nameOf(directory);
  const environment = textOfUntrusted(join(directory, 'environ'), MOST_ENVIRONMENT_BYTES) ?? '';
  const work = join(directory, 'cwd');
  const found = { directory: attempt(() => readlinkSync(work)), directoryUid: attempt(() => statSync(work).uid) };
  const program = attempt(() => readlinkSync(join(directory, 'exe')));
  // Read last: a process can give up root's id, and never get it.
  const status = textOfUntrusted(join(directory, 'status'), MOST_STATUS_BYTES) ?? '';
  const [, real, effective] = /^Uid:\s*(\d+)\s+(\d+)\s/m.exec(status) ?? [];
  if (!isName(name) || !believed.has(Number(real ?? NaN))) return null;
  if (program !== null && !basename(program).startsWith(name)) return null;
  return { pid, name, effectiveUid: Number(effective), environment, status, ...found };
}

/**
 * Daemons and shepherds of Grid Engine on this host, the lowest pid first. Anybody can call a process `sge_execd`: only
 * those whose real uid is among `believed` count. Grid Engine's own have root's real uid and the effective uid of the
 * admin user (seen on 8.1.9: `Uid: 0 103 0 103`); a setuid program that a user starts by a link called `sge_execd`
 * keeps the user's real uid but for moments (sudo), and is another program.
 */
export function daemons(believed: ReadonlySet<number>, procRoot = '/proc'): readonly Daemon[] {
  const pids = (attempt(() => readdirSync(procRoot)) ?? []).filter((name) => /^\d+$/.test(name)).map(Number);
  return pids
    .sort((one, other) => one - other)
    .flatMap((pid) => {
      if (!isName(nameOf(join(procRoot, String(pid))))) return [];
      const held = attempt(() =>
        openSync(join(procRoot, String(pid)), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW),
      );
      if (held === null) return [];
      try {
        return readDaemon(pid, `/proc/self/fd/${held}`, believed) ?? [];
      } finally {
        closeSync(held);
      }
    });
}
