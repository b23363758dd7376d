import { closeSync, openSync } from 'node:fs';
import { rootEnvironment } from './environment';
import { kind, spoolRoot } from './kind';
import { namespaceTypes, productDirs, type Layout } from './layout';
import { namespaceOf } from './processes';
import { runChecked } from './run';
import type { CellHost } from './state';

/** The files of /etc that a cell's hosts see in a version of their own. */
export const privateEtc = ['hosts', 'passwd', 'group', 'shadow'] as const;

const bridge = 'cell0';
const options = { env: rootEnvironment };

/** Gives every host its network, UTS and mount namespace, kept by bind mounts in the state directory. */
export async function makeNamespaces(layout: Layout, hosts: readonly CellHost[]): Promise<void> {
  const dir = layout.namespaces;
  // A mount namespace can be bound only where mounts do not propagate.
  await runChecked(['mount', '--bind', dir, dir], options);
  await runChecked(['mount', '--make-private', dir], options);
  touch(layout.initialNetns);
  await runChecked(['mount', '--bind', `/proc/${process.pid}/ns/net`, layout.initialNetns], options);
  await Promise.all(hosts.map((host) => makeHost(layout, host)));
  await connect(layout, hosts);
}

/** Words in front of a command that run it on the host. */
export function enter(layout: Layout, host: string): string[] {
  return [
    'nsenter',
    `--net=${layout.namespace(host, 'net')}`,
    `--uts=${layout.namespace(host, 'uts')}`,
    `--mount=${layout.namespace(host, 'mnt')}`,
    '--',
  ];
}

/** The namespaces of these hosts that exist, as /proc/PID/ns shows them. */
export function namespacesOf(layout: Layout, hosts: readonly string[]): Set<string> {
  const found = hosts.flatMap((host) => namespaceTypes.map((type) => namespaceOf(layout.namespace(host, type), type)));
  return new Set(found.filter((namespace) => namespace !== null));
}

async function makeHost(layout: Layout, host: CellHost): Promise<void> {
  for (const type of namespaceTypes) touch(layout.namespace(host.name, type));
  const mounts: [string, string][] = [
    [layout.root, kind.sgeRoot],
    [layout.spool, spoolRoot],
    ...privateEtc.map((name): [string, string] => [`${layout.etc}/${name}`, `/etc/${name}`]),
    // The end of a job's last task on one host removes the job's directory here.
    [layout.hostTmp(host.name), layout.jobTmp],
    ...productDirs.map((dir): [string, string] => [layout.productDir(host.name, dir), dir]),
  ];
  const script =
    'hostname "$1" && shift && ip link set lo up && while [ $# -gt 0 ]; do mount --bind "$1" "$2" || exit; shift 2; done';
  const namespaces = [
    `--net=${layout.namespace(host.name, 'net')}`,
    `--uts=${layout.namespace(host.name, 'uts')}`,
    `--mount=${layout.namespace(host.name, 'mnt')}`,
  ];
  await runChecked(['unshare', ...namespaces, 'sh', '-c', script, 'sh', host.name, ...mounts.flat()], options);
}

/** Joins the hosts by a bridge in the master's network namespace, so that the machine's own network stays as it is. */
async function connect(layout: Layout, hosts: readonly CellHost[]): Promise<void> {
  const [master, ...others] = hosts;
  if (master === undefined) return;
  const lines = [
    `ip link add name ${bridge} type bridge forward_delay 0`,
    `ip addr add ${master.address}/24 dev ${bridge}`,
    `ip link set ${bridge} up`,
    ...others.flatMap((host, index) => [
      `ip link add name port${index} type veth peer name eth0 netns ${layout.namespace(host.name, 'net')}`,
      `ip link set port${index} master ${bridge} up`,
    ]),
  ];
  await configureNetwork(layout, master, lines);
  const up = (host: CellHost): string[] => [`ip addr add ${host.address}/24 dev eth0`, 'ip link set eth0 up'];
  await Promise.all(others.map((host) => configureNetwork(layout, host, up(host))));
}

/** Enters the network namespace only: in a host's mounts, namespaces that were bound later are not visible. */
async function configureNetwork(layout: Layout, host: CellHost, lines: readonly string[]): Promise<void> {
  const argv = ['nsenter', `--net=${layout.namespace(host.name, 'net')}`, '--', 'sh', '-ec', lines.join('\n')];
  await runChecked(argv, options);
}

function touch(path: string): void {
  closeSync(openSync(path, 'a'));
}
