import { LibcError } from '../../native/libc';
import { openNetlink, type NetlinkSocket, type OnMessage } from '../../native/netlink';
import {
  errorOf,
  forEachAttribute,
  GENLMSGHDR_BYTES,
  genericPayload,
  messageType,
  NLMSGHDR_BYTES,
  request,
} from './netlink-messages';

const NETLINK_GENERIC = 16;
const GENL_ID_CTRL = 16;
const CTRL_CMD_GETFAMILY = 3;
const CTRL_ATTR_FAMILY_ID = 1;
const CTRL_ATTR_FAMILY_NAME = 2;
const ENOENT = 2;
const EPROTO = 71;

/** A generic netlink socket that knows the number of the TASKSTATS family. */
interface TaskstatsSocket {
  readonly socket: NetlinkSocket;
  readonly isTaskstats: (buffer: Buffer, offset: number) => boolean;
  /**
   * Sends a request; the kernel has answered it when the call returns. Throws LibcError if the kernel refuses; other
   * messages that were queued meanwhile go to `onMessage`.
   */
  readonly ask: (payload: Buffer, acknowledged: boolean, onMessage: OnMessage) => { readonly lost: boolean };
}

/** Throws LibcError: ENOENT without CONFIG_TASKSTATS. */
export function openTaskstats(receiveBytes: number): TaskstatsSocket {
  const socket = openNetlink({ protocol: NETLINK_GENERIC, groups: 0, receiveBytes });
  try {
    const family = taskstatsFamily(socket);
    return {
      socket,
      isTaskstats: (buffer, offset) => messageType(buffer, offset) === family,
      ask: (payload, acknowledged, onMessage) =>
        exchange(socket, 'TASKSTATS', request(family, 1, acknowledged, payload), onMessage),
    };
  } catch (error) {
    socket.close();
    throw error;
  }
}

function taskstatsFamily(socket: NetlinkSocket): number {
  const answer = { family: 0 };
  const question = genericPayload(CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, Buffer.from('TASKSTATS\0'));
  exchange(socket, 'CTRL_CMD_GETFAMILY', request(GENL_ID_CTRL, 1, false, question), (buffer, offset, length) => {
    if (messageType(buffer, offset) !== GENL_ID_CTRL) return;
    forEachAttribute(buffer, offset + NLMSGHDR_BYTES + GENLMSGHDR_BYTES, offset + length, (type, at, bytes) => {
      if (type === CTRL_ATTR_FAMILY_ID && bytes === 2) answer.family = buffer.readUInt16LE(at);
    });
  });
  if (answer.family === 0) throw new LibcError('CTRL_CMD_GETFAMILY', ENOENT);
  return answer.family;
}

function exchange(
  socket: NetlinkSocket,
  call: string,
  datagram: Buffer,
  onMessage: OnMessage,
): { readonly lost: boolean } {
  const refusal = { errno: 0 };
  socket.send(datagram);
  const drained = socket.drain((buffer, offset, length) => {
    const errno = errorOf(buffer, offset, length);
    if (errno === null) onMessage(buffer, offset, length);
    else if (errno !== 0) refusal.errno = errno > 0 ? errno : EPROTO;
  });
  if (refusal.errno !== 0) throw new LibcError(call, refusal.errno);
  return drained;
}
