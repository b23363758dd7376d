import { openedFile, readInteger, readNatural, readText } from '../files';
import { naturals, words } from '../numbers';
import { listOption, metricsOf, reading, source, type Reading } from '../source';

const { gauge, counter } = metricsOf('network');

const INTERFACE = { instance: 'interface' };

const COUNTERS = {
  receivedBytes: counter('received', 'bytes', 'Received.', INTERFACE),
  receivedPackets: counter('received_packets', 'count', 'Packets received.', INTERFACE),
  receivedErrors: counter('received_errors', 'count', 'Packets received in error.', INTERFACE),
  receivedDropped: counter('received_dropped', 'count', 'Packets received and dropped for want of room.', INTERFACE),
  sentBytes: counter('sent', 'bytes', 'Sent.', INTERFACE),
  sentPackets: counter('sent_packets', 'count', 'Packets sent.', INTERFACE),
  sentErrors: counter('sent_errors', 'count', 'Packets that could not be sent.', INTERFACE),
  sentDropped: counter('sent_dropped', 'count', 'Packets dropped instead of sent.', INTERFACE),
} as const;

type Key = keyof typeof COUNTERS;
const KEYS = Object.keys(COUNTERS) as readonly Key[];

/** One line of `/proc/net/dev`. */
interface InterfaceCounters extends Readonly<Record<Key, number>> {
  readonly name: string;
}

const SPEED = gauge('speed', 'bits_per_second', 'Speed of the link, where the driver knows it.', INTERFACE);
const MTU = gauge('mtu', 'bytes', 'Largest packet.', INTERFACE);
const UP = gauge('up', 'count', '1: the interface is up and has a link; 0: not.', INTERFACE);
const FULL_DUPLEX = gauge('full_duplex', 'count', '1: full duplex; 0: half; none: unknown.', INTERFACE);

/**
 * Parses `/proc/net/dev`, or `/proc/PID/net/dev` for the network namespace of a process (proc_pid_net(5)). The counters
 * of some drivers are of 32 bits. Lines that make no sense are left out.
 */
export function parseNetDev(text: string): readonly InterfaceCounters[] {
  return text.split('\n').flatMap((line) => {
    // Old kernels leave no blank after the colon; names may hold one ("eth0:1").
    const colon = line.lastIndexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim();
    const fields = naturals(words(line.slice(colon + 1)));
    if (colon < 0 || !isInterfaceName(name) || fields === null || fields.length < 12) return [];
    const field = (index: number): number => fields[index] ?? 0;
    const counters: InterfaceCounters = {
      name,
      receivedBytes: field(0),
      receivedPackets: field(1),
      receivedErrors: field(2),
      receivedDropped: field(3),
      sentBytes: field(8),
      sentPackets: field(9),
      sentErrors: field(10),
      sentDropped: field(11),
    };
    return [counters];
  });
}

/** Names are parts of paths below: what the kernel allows (dev_valid_name), nothing that leaves the directory. */
const isInterfaceName = (name: string): boolean =>
  name !== '' && name !== '.' && name !== '..' && name.length < 16 && !/[\s/]/.test(name);

/** Readings that hardly ever change: speed, size of packets, link. What is unknown is left out. */
function linkReadings(sys: string, name: string): readonly Reading[] {
  const directory = `${sys}/class/net/${name}`;
  const mtu = readNatural(`${directory}/mtu`);
  if (mtu === null) return [];
  // Speed and duplex can't be read while the interface is down; a driver that knows no speed says -1.
  const isUp = readInteger(`${directory}/carrier`) === 1;
  const megabits = isUp ? (readInteger(`${directory}/speed`) ?? -1) : -1;
  const duplex = isUp ? readText(`${directory}/duplex`)?.trim() : undefined;
  return [
    reading(MTU, mtu, name),
    reading(UP, isUp ? 1 : 0, name),
    // Some drivers print -1 as an unsigned number.
    ...(megabits > 0 && megabits < 2 ** 31 ? [reading(SPEED, megabits * 1e6, name)] : []),
    ...(duplex === 'full' || duplex === 'half' ? [reading(FULL_DUPLEX, duplex === 'full' ? 1 : 0, name)] : []),
  ];
}

const LINKS_AGE_MS = 60_000;

export const network = source({
  name: 'network',
  reads: ['/proc/net/dev', '/sys/class/net/*/{mtu,carrier,speed,duplex}'],
  metrics: [...Object.values(COUNTERS), SPEED, MTU, UP, FULL_DUPLEX],
  // Ends of pairs and bridges on the host that count again what a real interface counts.
  options: { left_out: ['veth', 'ifb', 'dummy', 'docker', 'virbr', 'vnet', 'tap', 'cni', 'cali', 'flannel'] },
  open: ({ proc, sys, now, options }) => {
    const leftOut = listOption(options.left_out);
    let links: ReadonlyMap<string, readonly Reading[]> = new Map();
    let linksAt = -Infinity;

    // Reading the speed takes a lock of the kernel's network configuration and asks the driver: once a minute will do.
    function linksOf(names: readonly string[]): ReadonlyMap<string, readonly Reading[]> {
      if (now() - linksAt >= LINKS_AGE_MS || names.length !== links.size || !names.every((name) => links.has(name))) {
        links = new Map(names.map((name) => [name, linkReadings(sys, name)]));
        linksAt = now();
      }
      return links;
    }

    return openedFile(`${proc}/net/dev`, (text) => {
      const interfaces = parseNetDev(text).filter(({ name }) => !leftOut.some((prefix) => name.startsWith(prefix)));
      const known = linksOf(interfaces.map(({ name }) => name));
      return interfaces.flatMap((one) => [
        ...KEYS.map((key) => reading(COUNTERS[key], one[key], one.name)),
        ...(known.get(one.name) ?? []),
      ]);
    });
  },
});
