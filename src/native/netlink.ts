import { endianness } from 'node:os';
import { loadKoffi } from './koffi';
import { check, LibcError, library } from './libc';

const koffi = loadKoffi();

const cSocket = library.func('int socket(int domain, int type, int protocol)') as (
  domain: number,
  type: number,
  protocol: number,
) => number;
const cBind = library.func('int bind(int fd, void *address, uint32_t length)') as (
  fd: number,
  address: Buffer,
  length: number,
) => number;
const cSetsockopt = library.func('int setsockopt(int fd, int level, int name, void *value, uint32_t length)') as (
  fd: number,
  level: number,
  name: number,
  value: Buffer,
  length: number,
) => number;
const cGetsockopt = library.func('int getsockopt(int fd, int level, int name, void *value, void *length)') as (
  fd: number,
  level: number,
  name: number,
  value: Buffer,
  length: Buffer,
) => number;
const cSendto = library.func(
  'long sendto(int fd, void *data, size_t length, int flags, void *address, uint32_t addressLength)',
  // eslint-disable-next-line max-params -- as sendto(2) has them
) as (fd: number, data: Buffer, length: number, flags: number, address: Buffer, addressLength: number) => number;
const cRecvmmsg = library.func('int recvmmsg(int fd, void *messages, uint32_t count, int flags, void *timeout)') as (
  fd: number,
  messages: Buffer,
  count: number,
  flags: number,
  timeout: null,
) => number;
const cClose = library.func('int close(int fd)') as (fd: number) => number;

const EINTR = 4;
const EAGAIN = 11;
const EAFNOSUPPORT = 97;
const ENOBUFS = 105;

const AF_NETLINK = 16;
const SOCK_DGRAM = 2;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const SO_RCVBUFFORCE = 33;
const MSG_DONTWAIT = 0x40;
const MSG_TRUNC = 0x20;

/** struct sockaddr_nl: family, padding, pid (port), groups. */
const ADDRESS_BYTES = 12;
const ADDRESS_PID = 4;
/** struct mmsghdr with 64-bit pointers: a msghdr of 56 bytes, the length received, padding. */
const MMSGHDR_BYTES = 64;
const MMSGHDR_FLAGS = 48;
const MMSGHDR_RECEIVED = 56;
const IOVEC_BYTES = 16;

/** Datagrams taken by one call: with this many the cost of the call itself is negligible. */
const BATCH = 32;
/** An exit record with its thread group's part has 1,428 bytes (version 17); longer datagrams count as lost. */
const SLOT_BYTES = 4096;
/** Every datagram takes more of the receive buffer: struct sk_buff and skb_shared_info alone are larger. */
const LEAST_CHARGE = 512;

const NLMSGHDR_BYTES = 16;

/** Takes one netlink message, header included. The bytes are only valid during the call. */
export type OnMessage = (buffer: Buffer, offset: number, length: number) => void;

export interface NetlinkSocket {
  /** The kernel's limit for queued messages, in its own accounting (bytes with overhead; twice what was asked for). */
  readonly receiveBytes: number;
  /** Sends one datagram to the kernel, which has processed it on return. Throws LibcError. */
  readonly send: (datagram: Buffer) => void;
  /**
   * Hands over every message that the kernel had queued before the call; messages from others than the kernel are
   * ignored. Never waits, never throws by itself, and ends even if messages come faster than they are read. `lost`: the
   * kernel had to drop some.
   */
  readonly drain: (onMessage: OnMessage) => { readonly lost: boolean };
  readonly close: () => void;
}

interface NetlinkOptions {
  /** NETLINK_GENERIC, NETLINK_CONNECTOR ... */
  readonly protocol: number;
  /** Bit mask of the multicast groups 1..32. */
  readonly groups: number;
  /** Receive buffer to ask for; 16 MiB hold about 40,000 process events. Without CAP_NET_ADMIN, rmem_max limits it. */
  readonly receiveBytes: number;
}

/** Opens a nonblocking netlink socket in the thread's network namespace. Throws LibcError. */
export function openNetlink({ protocol, groups, receiveBytes }: NetlinkOptions): NetlinkSocket {
  // The structures are laid out for 64-bit little-endian machines only.
  if (koffi.sizeof('void *') !== 8 || endianness() !== 'LE') throw new LibcError('socket(AF_NETLINK)', EAFNOSUPPORT);
  const fd = check('socket(AF_NETLINK)', cSocket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
  try {
    const granted = setReceiveBytes(fd, receiveBytes);
    check('bind(AF_NETLINK)', cBind(fd, address(groups), ADDRESS_BYTES));
    return netlinkSocket(fd, granted);
  } catch (error) {
    cClose(fd);
    throw error;
  }
}

function netlinkSocket(fd: number, receiveBytes: number): NetlinkSocket {
  const kernel = address(0);
  const batch = receiveBatch();
  const mostDatagrams = Math.ceil(receiveBytes / LEAST_CHARGE) + BATCH;
  // Once the kernel had to drop a message, it drops all until the queue is empty, and reports this only once.
  let congested = false;
  let open = true;

  return {
    receiveBytes,
    send: (datagram) => {
      for (;;) {
        if (cSendto(fd, datagram, datagram.length, MSG_DONTWAIT, kernel, ADDRESS_BYTES) >= 0) return;
        if (koffi.errno() !== EINTR) throw new LibcError('sendto(AF_NETLINK)', koffi.errno());
      }
    },
    drain: (onMessage) => {
      let lost = congested;
      let datagrams = 0;
      while (open && datagrams < mostDatagrams) {
        const received = cRecvmmsg(fd, batch.headers, BATCH, MSG_DONTWAIT, null);
        if (received > 0) {
          datagrams += received;
          for (let slot = 0; slot < received; slot++) lost = !batch.handOver(slot, onMessage) || lost;
          continue;
        }
        const errno = received < 0 ? koffi.errno() : EAGAIN;
        if (errno === EINTR) continue;
        if (errno !== EAGAIN) lost = true;
        if (errno === ENOBUFS) continue;
        congested = false;
        return { lost };
      }
      congested = lost;
      return { lost };
    },
    close: () => {
      if (open) cClose(fd);
      open = false;
    },
  };
}

function receiveBatch() {
  // The kernel gets addresses inside these buffers: slow buffers are neither pooled nor moved.
  const data = Buffer.allocUnsafeSlow(BATCH * SLOT_BYTES);
  const senders = Buffer.allocUnsafeSlow(BATCH * ADDRESS_BYTES).fill(0);
  const vectors = Buffer.allocUnsafeSlow(BATCH * IOVEC_BYTES).fill(0);
  const headers = Buffer.allocUnsafeSlow(BATCH * MMSGHDR_BYTES).fill(0);
  const [dataAt, sendersAt, vectorsAt] = [data, senders, vectors].map((buffer) => koffi.address(buffer));
  for (let slot = 0; slot < BATCH; slot++) {
    vectors.writeBigUInt64LE((dataAt ?? 0n) + BigInt(slot * SLOT_BYTES), slot * IOVEC_BYTES);
    vectors.writeBigUInt64LE(BigInt(SLOT_BYTES), slot * IOVEC_BYTES + 8);
    const header = slot * MMSGHDR_BYTES;
    headers.writeBigUInt64LE((sendersAt ?? 0n) + BigInt(slot * ADDRESS_BYTES), header);
    headers.writeUInt32LE(ADDRESS_BYTES, header + 8);
    headers.writeBigUInt64LE((vectorsAt ?? 0n) + BigInt(slot * IOVEC_BYTES), header + 16);
    headers.writeBigUInt64LE(1n, header + 24);
  }
  return {
    /** BATCH times struct mmsghdr. */
    headers,
    /** The memory that addresses in `headers` point to: it must live as long. */
    held: [data, senders, vectors],
    /** Hands over the messages of one received datagram; false: it was cut off. */
    handOver: (slot: number, onMessage: OnMessage): boolean => {
      const header = slot * MMSGHDR_BYTES;
      const fromKernel = senders.readUInt32LE(slot * ADDRESS_BYTES + ADDRESS_PID) === 0;
      if (!fromKernel) return true;
      if ((headers.readUInt32LE(header + MMSGHDR_FLAGS) & MSG_TRUNC) !== 0) return false;
      const start = slot * SLOT_BYTES;
      forEachMessage(data, start, headers.readUInt32LE(header + MMSGHDR_RECEIVED), onMessage);
      return true;
    },
  };
}

function forEachMessage(buffer: Buffer, start: number, length: number, onMessage: OnMessage): void {
  const end = start + length;
  for (let offset = start; offset + NLMSGHDR_BYTES <= end;) {
    const bytes = buffer.readUInt32LE(offset);
    if (bytes < NLMSGHDR_BYTES || offset + bytes > end) return;
    onMessage(buffer, offset, bytes);
    offset += (bytes + 3) & ~3;
  }
}

function setReceiveBytes(fd: number, wanted: number): number {
  const value = Buffer.alloc(4);
  // The kernel doubles the value, in an int.
  value.writeInt32LE(Math.max(1, Math.min(Math.trunc(wanted), 0x3fffffff)));
  if (cSetsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, value, value.length) < 0)
    check('setsockopt(SO_RCVBUF)', cSetsockopt(fd, SOL_SOCKET, SO_RCVBUF, value, value.length));
  const length = Buffer.from([value.length, 0, 0, 0]);
  check('getsockopt(SO_RCVBUF)', cGetsockopt(fd, SOL_SOCKET, SO_RCVBUF, value, length));
  return value.readInt32LE();
}

/** The kernel's own address; for bind: any free port, with these multicast groups. */
function address(groups: number): Buffer {
  const buffer = Buffer.alloc(ADDRESS_BYTES);
  buffer.writeUInt16LE(AF_NETLINK);
  buffer.writeUInt32LE(groups >>> 0, 8);
  return buffer;
}
