import type { Socket } from 'node:net';
import { check, library } from './libc';

/** The process at the other end of a unix socket, as the kernel recorded it when the connection was made. */
export interface PeerCredentials {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

const getsockopt = library.func('int getsockopt(int fd, int level, int name, void *value, void *size)') as (
  fd: number,
  level: number,
  name: number,
  value: Uint32Array,
  size: Uint32Array,
) => number;

const SOL_SOCKET = 1;
/** asm-generic/socket.h; POWER has its own number. */
const SO_PEERCRED = process.arch === 'ppc64' ? 21 : 17;
const NOBODY = 0xffffffff;

/** Node has no public name for a connection's descriptor. null: the connection is closed. */
function descriptorOf(socket: Socket): number | null {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: number } | null };
  const fd = handle?.fd ?? -1;
  return fd < 0 ? null : fd;
}

/** Credentials of a unix socket's peer; null: it is closed already, or no unix socket. Throws LibcError. */
export function peerCredentials(socket: Socket): PeerCredentials | null {
  const fd = descriptorOf(socket);
  if (fd === null) return null;
  // struct ucred: pid, uid, gid.
  const value = new Uint32Array(3);
  const size = new Uint32Array([value.byteLength]);
  check('getsockopt', getsockopt(fd, SOL_SOCKET, SO_PEERCRED, value, size));
  // For other sockets the kernel answers with nobody (-1).
  const [pid = 0, uid = NOBODY, gid = NOBODY] = value;
  return uid === NOBODY ? null : { pid, uid, gid };
}
