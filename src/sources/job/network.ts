import { readlinkSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { readText } from '../files';
import { parseNetDev } from '../node/network';
import { metricsOf, unavailable, USUAL, type ProcessSource, type Reading, type Unavailable } from '../source';

const { counter } = metricsOf('jobnetwork', 'job');
const INTERFACE = { instance: 'namespace/interface' };

const METRICS = [
  counter('received', 'bytes', "Received in the job's own network namespace, loopback left out.", INTERFACE),
  counter('sent', 'bytes', "Sent in the job's own network namespace, loopback left out.", INTERFACE),
  counter('received_packets', 'count', "Packets received in the job's own network namespace.", INTERFACE),
  counter('sent_packets', 'count', "Packets sent in the job's own network namespace.", INTERFACE),
  counter(
    'errors',
    'count',
    "Packets lost in the job's own network namespace: errors and drops in both directions.",
    INTERFACE,
  ),
] as const;

const namespaceNumber = (link: string): string => /^net:\[(\d+)\]$/.exec(link)?.[1] ?? link;

const DENIED = Symbol('no right to see it');

/** The network namespace of a process; null: gone. */
function namespaceOf(proc: string, pid: number | 'self'): string | typeof DENIED | null {
  try {
    return readlinkSync(`${proc}/${pid}/ns/net`);
  } catch (error) {
    const code = codeOf(error);
    return code === 'EACCES' || code === 'EPERM' ? DENIED : null;
  }
}

/** A job can make any number of namespaces and interfaces: only the first ones are read. */
const MOST_INTERFACES = 256;

/** `known`: the interfaces that have been read before. */
function readJob(
  proc: string,
  pids: readonly number[],
  ofNode: ReadonlySet<string>,
  known: Set<string>,
): readonly Reading[] | Unavailable {
  const own = new Map<string, number>();
  let denied = 0;
  for (const pid of pids) {
    const namespace = namespaceOf(proc, pid);
    if (namespace === DENIED) denied++;
    else if (namespace !== null && !ofNode.has(namespace) && !own.has(namespace)) own.set(namespace, pid);
  }
  if (own.size === 0)
    return denied > 0
      ? unavailable('/proc/PID/ns/net: permission denied', 'run the hooks as root (root@ in the prolog)')
      : unavailable("the job shares the node's network namespace");
  const readings: Reading[] = [];
  let seen = 0;
  for (const [namespace, pid] of own) {
    if (seen > MOST_INTERFACES) break;
    for (const found of parseNetDev(readText(`${proc}/${pid}/net/dev`) ?? '')) {
      seen++;
      // Counters of two namespaces are not added up: they begin and end at different times.
      const instance = `${namespaceNumber(namespace)}/${found.name}`;
      if (found.name === 'lo' || (!known.has(instance) && known.size >= MOST_INTERFACES)) continue;
      known.add(instance);
      const values = [
        found.receivedBytes,
        found.sentBytes,
        found.receivedPackets,
        found.sentPackets,
        found.receivedErrors + found.receivedDropped + found.sentErrors + found.sentDropped,
      ] as const;
      readings.push(...values.map((value, index) => ({ metric: METRICS[index]?.name ?? '', instance, value })));
    }
  }
  return readings;
}

/** Network traffic of a job whose processes live in a network namespace of their own (a container). */
export const jobNetwork: ProcessSource = {
  ...USUAL,
  name: 'jobnetwork',
  reads: ['/proc/PID/ns/net', '/proc/PID/net/dev'],
  metrics: METRICS,
  open: ({ proc }) => {
    const self = namespaceOf(proc, 'self');
    if (self === null || self === DENIED)
      return unavailable(`no ${proc}/self/ns/net: the kernel has no network namespaces`);
    const first = namespaceOf(proc, 1);
    // A sampler may itself be in a namespace that is not the first process's: both are the node's.
    const ofNode = new Set([self, ...(first === null || first === DENIED ? [] : [first])]);
    const known = new Set<string>();
    return { read: (pids) => readJob(proc, pids, ofNode, known), close: () => undefined };
  },
};
