import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootEnvironment, systemPath } from './environment';
import { kind } from './kind';

const packages = 'iproute2 util-linux';

const neededCommands = ['ip', 'mount', 'nsenter', 'setpriv', 'umount', 'unshare'];

/** Script that makes the kinds of network devices that a cell needs; they go with its network namespace. */
const networkProbe = 'ip link add name b type bridge && ip link add name v type veth peer name w';

let known: string | null | undefined;

/** Why no cell can run on this machine, with what would fix it; null: one can. */
export function clusterObstacle(): string | null {
  known ??= findObstacle();
  return known;
}

function findObstacle(): string | null {
  if (process.platform !== 'linux') return 'a Grid Engine cell needs Linux';
  if (process.getuid?.() !== 0) return 'a Grid Engine cell needs root: it makes namespaces and mounts';
  const missing = kind.obstacle();
  if (missing !== null) return missing;
  const command = neededCommands.find((name) => !isOnPath(name));
  if (command !== undefined) return `no command ${command}: install Debian's packages ${packages}`;
  if (!/^sgeadmin:/m.test(readFileSync('/etc/passwd', 'latin1'))) {
    return 'no user sgeadmin: reinstall gridengine-common, whose installation makes it';
  }
  const probe = spawnSync('unshare', ['--net', '--uts', '--mount', 'sh', '-c', networkProbe], {
    timeout: 60_000,
    encoding: 'utf8',
    env: rootEnvironment,
  });
  if (probe.status === 0) return null;
  const reason = probe.error?.message ?? probe.stderr.trim();
  return `no network namespace with a bridge and veth pairs can be made here (in a container, give it CAP_SYS_ADMIN and CAP_NET_ADMIN): ${reason}`;
}

function isOnPath(name: string): boolean {
  return systemPath.split(':').some((dir) => {
    try {
      accessSync(join(dir, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
