import { readText, whyUnreadable } from '../files';
import { natural, words } from '../numbers';
import { pageSize } from '../page-size';
import { metricsOf, opened, reading, readingsByKey, source, type Metric, type Reading } from '../source';

const { gauge, counter } = metricsOf('sockets');

/** Numbers of `/proc/net/sockstat` and `sockstat6`, by line and word. */
const SOCKSTAT: Readonly<Record<string, Metric>> = {
  'sockets used': gauge('used', 'count', 'Sockets of all kinds that are open.'),
  'TCP inuse': gauge('tcp', 'count', 'TCP sockets over IPv4 in use, TIME_WAIT left out.'),
  'TCP orphan': gauge('tcp_orphan', 'count', 'TCP sockets that no process holds open any more.'),
  'TCP tw': gauge('tcp_time_wait', 'count', 'TCP connections in TIME_WAIT.'),
  'TCP alloc': gauge('tcp_allocated', 'count', 'TCP sockets that exist, over IPv4 and IPv6.'),
  'TCP mem': gauge('tcp_memory', 'bytes', 'Memory of TCP buffers.'),
  'TCP6 inuse': gauge('tcp6', 'count', 'TCP sockets over IPv6 in use, TIME_WAIT left out.'),
  'UDP inuse': gauge('udp', 'count', 'UDP sockets over IPv4 in use.'),
  'UDP mem': gauge('udp_memory', 'bytes', 'Memory of UDP buffers.'),
  'UDP6 inuse': gauge('udp6', 'count', 'UDP sockets over IPv6 in use.'),
  'RAW inuse': gauge('raw', 'count', 'Raw sockets over IPv4 in use.'),
  'RAW6 inuse': gauge('raw6', 'count', 'Raw sockets over IPv6 in use.'),
};

/** Columns of the "Tcp:" lines of `/proc/net/snmp`. */
const SNMP: Readonly<Record<string, Metric>> = {
  CurrEstab: gauge('tcp_established', 'count', 'TCP connections that are established or wait to be closed here.'),
  RetransSegs: counter('tcp_retransmitted', 'count', 'TCP segments sent again.'),
};

const UNIX = gauge('unix', 'count', 'Unix sockets.');

/** Parses `/proc/net/sockstat` or `sockstat6`: "line word" to number; memory, which is there in pages, in bytes. */
export function parseSockstat(text: string, page: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [first, ...rest] = words(line);
    if (first?.endsWith(':') !== true) continue;
    for (let index = 0; index + 1 < rest.length; index += 2) {
      const word = String(rest[index]);
      const number = natural(rest[index + 1]);
      if (number !== null) found.set(`${first.slice(0, -1)} ${word}`, word === 'mem' ? number * page : number);
    }
  }
  return found;
}

/** Parses the two "Tcp:" lines of `/proc/net/snmp`, names and numbers. Negative ones (MaxConn -1) are left out. */
export function parseTcpCounters(text: string): ReadonlyMap<string, number> {
  const [names = [], numbers = []] = text
    .split('\n')
    .filter((line) => line.startsWith('Tcp: '))
    .map(words);
  const found = new Map<string, number>();
  names.forEach((name, index) => {
    const number = natural(numbers[index]);
    if (number !== null) found.set(name, number);
  });
  return found;
}

/** Counts the sockets of `/proc/net/unix`: its lines but the first. */
export const countUnixSockets = (text: string): number => text.match(/^[0-9a-f]{8,16}: /gm)?.length ?? 0;

export const sockets = source({
  name: 'sockets',
  reads: ['/proc/net/sockstat', '/proc/net/sockstat6', '/proc/net/snmp', '/proc/net/unix'],
  metrics: [...Object.values(SOCKSTAT), ...Object.values(SNMP), UNIX],
  open: ({ proc }) => {
    const path = `${proc}/net/sockstat`;
    const page = pageSize(proc);
    const read = (): readonly Reading[] => {
      const sockstat = new Map([path, `${path}6`].flatMap((file) => [...parseSockstat(readText(file) ?? '', page)]));
      if (sockstat.size === 0) return [];
      const unix = readText(`${proc}/net/unix`);
      return [
        ...readingsByKey(SOCKSTAT, sockstat),
        ...readingsByKey(SNMP, parseTcpCounters(readText(`${proc}/net/snmp`) ?? '')),
        ...(unix === null ? [] : [reading(UNIX, countUnixSockets(unix))]),
      ];
    };
    return opened(read, () => whyUnreadable(path));
  },
});
