import { readText, whyUnreadable } from '../files';
import { metricsOf, opened, reading, source, type Reading } from '../source';

const { gauge } = metricsOf('tcpstates');

const SOCKETS = gauge('sockets', 'count', 'TCP sockets in each state, over IPv4 and IPv6.', { instance: 'state' });

/** By their numbers in the kernel (include/net/tcp_states.h), from 1, which `/proc/net/tcp` prints in hexadecimal. */
const TCP_STATES = [
  'established',
  'syn_sent',
  'syn_recv',
  'fin_wait1',
  'fin_wait2',
  'time_wait',
  'close',
  'close_wait',
  'last_ack',
  'listen',
  'closing',
  'new_syn_recv',
] as const;

type TcpState = (typeof TCP_STATES)[number];

// Number, local and remote address (8 or 32 hexadecimal digits) and port, state.
const LINE = /^ *\d+: [0-9A-F]{8,32}:[0-9A-F]{4} [0-9A-F]{8,32}:[0-9A-F]{4} ([0-9A-F]{2}) /gm;

/** Counts the sockets of `/proc/net/tcp` or `tcp6` by state. */
export function countTcpStates(text: string): ReadonlyMap<TcpState, number> {
  const counts = new Map<TcpState, number>();
  for (const [, code] of text.matchAll(LINE)) {
    const state = TCP_STATES[parseInt(String(code), 16) - 1];
    if (state !== undefined) counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

export const tcpstates = source({
  name: 'tcpstates',
  reads: ['/proc/net/tcp', '/proc/net/tcp6'],
  metrics: [SOCKETS],
  // For each list the kernel walks its whole table of connections, empty or not: 5 ms of CPU time with 262,144 slots.
  blocking: true,
  interval: 60,
  open: ({ proc }) => {
    const path = `${proc}/net/tcp`;
    const read = (): readonly Reading[] | null => {
      const text = readText(path);
      // Also null for a list of more than 4 MiB (some 28,000 sockets).
      if (text === null) return null;
      // Without IPv6 there is no tcp6.
      const counts = [countTcpStates(text), countTcpStates(readText(`${path}6`) ?? '')];
      const sum = (state: TcpState): number => counts.reduce((all, list) => all + (list.get(state) ?? 0), 0);
      return TCP_STATES.map((state) => reading(SOCKETS, sum(state), state));
    };
    return opened(read, () => whyUnreadable(path));
  },
});
