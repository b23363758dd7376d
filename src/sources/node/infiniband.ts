import { basename } from 'node:path';
import { listNames, readLink, readNatural, readText } from '../files';
import { metricsOf, opened, reading, source, unavailable, type Metric, type Reading } from '../source';

const { gauge, counter } = metricsOf('infiniband');
const PORT = { instance: 'device/port' };

const RATE = gauge('rate', 'bits_per_second', 'Signalling rate of the link.', PORT);
const ACTIVE = gauge('active', 'count', '1: the port is in the state ACTIVE, else 0.', PORT);
const LINK_LAYER = gauge('link_layer', 'count', '1: InfiniBand or Omni-Path, 2: Ethernet (RoCE), 0: another.', PORT);
const STOPPED = gauge(
  'stopped_counters',
  'count',
  'Counters left out because they have 32 bits and stopped at the top (old drivers).',
  PORT,
);

interface Counter {
  readonly metric: Metric;
  /** Files below the port; the first that exists is read. */
  readonly files: readonly string[];
}

const counted = (what: string, unit: 'bytes' | 'count', help: string, ...files: readonly string[]): Counter => ({
  metric: counter(what, unit, help, PORT),
  files,
});

// Drivers before Linux 4.5 have the 64-bit counters in a directory of their own, and 32-bit ones by the usual names.
const COUNTERS: readonly Counter[] = [
  counted(
    'transmitted',
    'bytes',
    'Data sent, headers included (RDMA and IP over InfiniBand).',
    'counters_ext/port_xmit_data_64',
    'counters/port_xmit_data',
  ),
  counted('received', 'bytes', 'Data received.', 'counters_ext/port_rcv_data_64', 'counters/port_rcv_data'),
  counted(
    'transmitted_packets',
    'count',
    'Packets sent.',
    'counters_ext/port_xmit_packets_64',
    'counters/port_xmit_packets',
  ),
  counted(
    'received_packets',
    'count',
    'Packets received.',
    'counters_ext/port_rcv_packets_64',
    'counters/port_rcv_packets',
  ),
  counted('transmit_discards', 'count', 'Packets not sent: port down or congested.', 'counters/port_xmit_discards'),
  counted('transmit_wait', 'count', 'Ticks in which data waited and none was sent.', 'counters/port_xmit_wait'),
  counted('receive_errors', 'count', 'Packets received with an error.', 'counters/port_rcv_errors'),
  counted('symbol_errors', 'count', 'Minor link errors.', 'counters/symbol_error'),
  counted('link_downed', 'count', 'Times that the link failed.', 'counters/link_downed'),
  counted('link_recoveries', 'count', 'Times that the link recovered from an error.', 'counters/link_error_recovery'),
];

/** InfiniBand counts data in words of 4 bytes, whatever the width of the link (sysfs-class-infiniband). */
const WORD_BYTES = 4;
/** Omni-Path counts flits: hfi1's mad.c hands its flit counters out as the data counters. */
const FLIT_BYTES = 8;

const TOP_OF_32_BITS = 0xffffffff;

/** "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)" in bit/s; null: something else. */
export function parseRate(text: string): number | null {
  const gigabits = Number(/^(\d{1,6}(?:\.\d{1,3})?) ?Gb\/sec\b/.exec(text.trim())?.[1] ?? NaN);
  return Number.isNaN(gigabits) ? null : Math.round(gigabits * 1e9);
}

interface Port {
  readonly instance: string;
  readonly path: string;
  readonly wordBytes: number;
}

/** Devices can be renamed (rdma-core names them after their slot); the driver's link shows what they are. */
function isOmniPath(device: string): boolean {
  return /^(?:hfi1_|opap)/.test(basename(device)) || basename(readLink(`${device}/device/driver`) ?? '') === 'hfi1';
}

function findPorts(directory: string): readonly Port[] {
  return listNames(directory).flatMap((device) => {
    const path = `${directory}/${device}`;
    const wordBytes = isOmniPath(path) ? FLIT_BYTES : WORD_BYTES;
    return listNames(`${path}/ports`).map((port) => ({
      instance: `${device}/${port}`,
      path: `${path}/ports/${port}`,
      wordBytes,
    }));
  });
}

function firstNatural(paths: readonly string[]): number | null {
  for (const path of paths) {
    const value = readNatural(path);
    if (value !== null) return value;
  }
  return null;
}

function readCounters({ instance, path, wordBytes }: Port): readonly Reading[] {
  const readings: Reading[] = [];
  let stopped = 0;
  for (const { metric, files } of COUNTERS) {
    const count = firstNatural(files.map((file) => `${path}/${file}`));
    if (count === null) continue;
    if (count === TOP_OF_32_BITS) stopped += 1;
    else readings.push(reading(metric, metric.unit === 'bytes' ? count * wordBytes : count, instance));
  }
  if (readings.length > 0 || stopped > 0) readings.push(reading(STOPPED, stopped, instance));
  return readings;
}

function readPort(port: Port): readonly Reading[] {
  const { instance, path } = port;
  const text = (file: string): string | null => readText(`${path}/${file}`)?.trim() ?? null;
  const readings: Reading[] = [];
  const rate = parseRate(text('rate') ?? '');
  const state = text('state');
  const layer = text('link_layer');
  if (rate !== null) readings.push(reading(RATE, rate, instance));
  if (state !== null) readings.push(reading(ACTIVE, state.startsWith('4:') ? 1 : 0, instance));
  if (layer !== null)
    readings.push(reading(LINK_LAYER, layer === 'InfiniBand' ? 1 : layer === 'Ethernet' ? 2 : 0, instance));
  return [...readings, ...readCounters(port)];
}

export const infiniband = source({
  name: 'infiniband',
  reads: ['/sys/class/infiniband/*/ports/*/{rate,state,link_layer,counters/*,counters_ext/*}'],
  metrics: [RATE, ACTIVE, LINK_LAYER, STOPPED, ...COUNTERS.map((each) => each.metric)],
  // Reading a counter asks the adapter's firmware; the kernel gives one up that hangs only after a minute.
  blocking: true,
  open: ({ sys }) => {
    const directory = `${sys}/class/infiniband`;
    return opened(
      () => findPorts(directory).flatMap(readPort),
      () => unavailable(`no InfiniBand or Omni-Path port in ${directory}`),
    );
  },
});
