import { createHash } from 'node:crypto';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { groupBy } from '../../base/group-by';
import type { SinkSettings } from '../../record/export-sinks';
import { fructosaPaths } from './fructosa';
import type { Point } from './point';
import { connectionProblem, trustedCertificates } from './post';
import { later, SENT, type Outcome, type Sink } from './sink';

const LONGEST_PART = 200;
/** A cut part ends with so many digits of its digest, as mount points may differ only in their last letter. */
const DIGEST_LENGTH = 12;

/** A value for Graphite; `at` in s since the epoch. */
interface GraphiteValue {
  readonly path: string;
  readonly value: number;
  readonly at: number;
}

/** A text as one part of a path: valid as a file name for Whisper, and without the special characters of queries. */
export function graphitePart(text: string): string {
  if (text === '') return '-';
  if (text === '-') return '%2D';
  const escaped = text.replaceAll(/[^\w:@=+-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
  if (escaped.length <= LONGEST_PART) return escaped;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
  // Drop an incomplete %XX at the end.
  const begin = escaped.slice(0, LONGEST_PART - DIGEST_LENGTH - 1).replace(/%.?$/, '');
  return `${begin}-${digest}`;
}

/** `qmemacct.`, site's labels, host, metric, its other labels: `qmemacct.node01.node_disk_reads_total.sda`. */
function pathOf({ metric, labels }: Point, before: readonly string[]): string {
  const part = (label: string): string => {
    const text = labels[label] ?? '';
    // Full host names contain dots, and never underscores.
    return graphitePart(label === 'host' ? text.replaceAll('.', '_') : text);
  };
  const behind = Object.keys(labels).filter((label) => !before.includes(label));
  return ['qmemacct', ...before.map(part), metric.replace(/^qmemacct_/, ''), ...behind.map(part)].join('.');
}

/** The values to send to Graphite for some points. */
export function graphiteValues(
  points: readonly Point[],
  { names, labels, what }: Pick<SinkSettings, 'names' | 'labels' | 'what'>,
): readonly GraphiteValue[] {
  const seconds = (at: number): number => Math.floor(at / 1000);
  if (names === 'fructosa')
    return [...groupBy(points, ({ at }) => at)].flatMap(([at, ofRound]) =>
      fructosaPaths(ofRound).map((value) => ({ ...value, at: seconds(at) })),
    );
  const before = [...Object.keys(labels), ...(what === 'node' ? ['host'] : [])];
  return points.map((point) => ({ path: pathOf(point, before), value: point.value, at: seconds(point.at) }));
}

const plainText = (values: readonly GraphiteValue[]): Buffer =>
  Buffer.from(values.map(({ path, value, at }) => `${path} ${value} ${at}\n`).join(''));

/** carbon refuses a longer message (MAX_LENGTH, 1 MiB). */
const IN_ONE_PICKLE = 500;

function pickledDouble(value: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes.write('G', 'latin1');
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

function pickledText(text: string): Buffer {
  const bytes = Buffer.from(`X....${text}`);
  bytes.writeUInt32LE(bytes.length - 5, 1);
  return bytes;
}

const opcodes = (text: string): Buffer => Buffer.from(text, 'latin1');
/** TUPLE2: makes a tuple of the two values before it. */
const PAIR = opcodes('\x86');

/** Messages with lists of (path, (time, value)) in pickle protocol 2 (PEP 307), each preceded by its length. */
function pickled(values: readonly GraphiteValue[]): Buffer {
  const messages: Buffer[] = [];
  for (let from = 0; from < values.length; from += IN_ONE_PICKLE) {
    const items = values
      .slice(from, from + IN_ONE_PICKLE)
      .flatMap(({ path, value, at }) => [pickledText(path), pickledDouble(at), pickledDouble(value), PAIR, PAIR]);
    const message = Buffer.concat([opcodes('\x80\x02]('), ...items, opcodes('e.')]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(message.length);
    messages.push(length, message);
  }
  return Buffer.concat(messages);
}

function open(settings: SinkSettings, onReady: () => void): Socket {
  const url = new URL(settings.address);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(url.port);
  if (url.protocol === 'tcp:') return connectTcp({ host, port }, onReady);
  const ca = trustedCertificates(settings);
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port, ...name, ...(ca === undefined ? {} : { ca }) }, onReady);
}

/**
 * Sends bytes, and waits until the server has read all of them and closed the connection: the only answer in Graphite's
 * protocols.
 */
function deliver(settings: SinkSettings, bytes: Buffer, patienceMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let isWritten = false;
    const socket = open(settings, () => socket.end(bytes, () => (isWritten = true)));
    const timer = setTimeout(() => fail(new Error(`not taken within ${patienceMs / 1000} s`)), patienceMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    socket.on('error', fail);
    socket.on('close', () => {
      clearTimeout(timer);
      if (isWritten) resolve();
      else reject(new Error('it closed the connection before it had read all'));
    });
    // The server sends nothing, but reading is needed to see it close the connection.
    socket.resume();
  });
}

async function tryDelivery(settings: SinkSettings, bytes: Buffer, patienceMs: number): Promise<Outcome> {
  try {
    await deliver(settings, bytes, patienceMs);
    return SENT;
  } catch (error) {
    return later(connectionProblem(error));
  }
}

/** Carbon, and other servers that accept Graphite's plaintext or pickle protocol. */
export function graphiteSink(settings: SinkSettings, patienceMs: number): Sink<Point> {
  const encode = settings.kind === 'graphite-pickle' ? pickled : plainText;
  return {
    // One connection for a whole batch.
    most: Infinity,
    send: (points) => tryDelivery(settings, encode(graphiteValues(points, settings)), patienceMs),
    test: () => tryDelivery(settings, Buffer.alloc(0), patienceMs),
  };
}
